public import Diffing
import Foundation
import ObservableCollections
public import SQLiteSources
import SwappablePrimitives
public import Synchronizers

/// A store that keeps the state of a session in a SQLite database, which may have other tables.
///
///     let store = try SQLiteSynchronizationStore<Task, Int>(path: "tasks.db", name: "tasks")
///     let session = try await SynchronizationSession(remote: remote, store: store)
///
/// Each element of a list is a row of JSON text. The names of the store's tables begin with
/// `swappable_sync_`. A save is one transaction, and writes only changed rows. An edited, inserted or
/// moved element needs one or two rows, however long the list is. Elements with equal contents count
/// as unchanged.
///
/// | event after `save` has returned | the save survives |
/// |---|---|
/// | a crash of the process | always |
/// | a crash of the machine | if the store opened the connection. On your own connection, set `PRAGMA synchronous = EXTRA`, or `FULL` in the journal mode WAL. |
///
/// One database can have several sessions with different names. If two stores use the same name, a
/// save fails if the other store has saved in the meantime, and the state of the other store stays.
public final class SQLiteSynchronizationStore<
  Element: Codable & Differentiable & Sendable, Version: Hashable & Codable & Sendable
>: SynchronizationStore {
  /// The expected contents of the database.
  private struct Expectation: Sendable {
    /// The possible numbers of the last save, or `nil` for no save. After a failed save there are
    /// several, because its transaction may have been committed.
    var saves: Set<Int64?>
    var session: StoredSession<Element, Version>?
  }

  /// The name of the session in the database.
  public let name: String

  private let connection: SQLiteConnection
  private let queue = WorkQueue("SQLiteSynchronizationStore", isSerial: true)
  /// `nil` until a state was loaded, or saved to a database without a state.
  private let expectation = Locked<Expectation?>(nil)

  /// Opens a store with its own connection.
  ///
  /// - Parameters:
  ///   - path: The path of the database. If it does not exist, it is created.
  ///   - name: The name of the session. Names are compared by their bytes.
  /// - Throws: ``StoreError`` if the database cannot be opened.
  public convenience init(path: String, name: String) throws(StoreError) {
    do throws(SQLiteError) {
      let connection = try SQLiteConnection(path: path)
      // A session must not lose commits in a crash of the machine. EXTRA also writes the folder to the
      // disk, and `fullfsync` empties the cache of the disk on Apple platforms.
      try connection.executeScript("PRAGMA synchronous = EXTRA; PRAGMA fullfsync = 1")
      self.init(connection: connection, name: name)
    } catch {
      throw StoreError(error, path: path)
    }
  }

  /// Creates a store that shares a connection. The settings of the connection stay unchanged.
  ///
  /// - Parameters:
  ///   - connection: A writable connection.
  ///   - name: The name of the session. Names are compared by their bytes.
  public init(connection: SQLiteConnection, name: String) {
    (self.connection, self.name) = (connection, name)
  }

  /// Returns the saved state, or `nil` if no state was saved yet.
  ///
  /// - Throws: ``StoreError`` if the state cannot be read. It stays unchanged, and saves fail until it
  ///   is loaded.
  /// - Complexity: O(n) for n elements.
  public func load() async throws -> SynchronizationState<Element, Version>? {
    try await queue.run { [self] in
      _ = expectation.exchange(nil)
      return try failing {
        let session = try connection.transaction(.deferred) {
          try SessionTables(connection: connection).load(
            name, as: StoredSession<Element, Version>.self)
        }
        _ = expectation.exchange(Expectation(saves: [session?.save], session: session))
        return session?.state
      }
    }
  }

  /// Replaces the saved state in one transaction.
  ///
  /// - Throws: ``StoreError`` if the saved state was not loaded, another store has saved in the
  ///   meantime, or the database cannot be written. The previous state is still there.
  /// - Complexity: O(n) for n elements. Only changed elements are encoded and written.
  public func save(_ state: SynchronizationState<Element, Version>) async throws {
    try await queue.run { [self] in try failing { try saveNow(state) } }
  }

  private func saveNow(_ state: SynchronizationState<Element, Version>) throws {
    // Take the session out of the lock, because its lists must be uniquely referenced.
    let before = expectation.exchange(nil)
    let save = Int64.random(in: .min ... .max)
    var mayHaveSaved = false
    do {
      let session = try connection.transaction {
        let tables = SessionTables(connection: connection)
        try tables.create()
        let found = try tables.save(of: name)
        try check(found, before)
        mayHaveSaved = true
        var session = before?.session
        if session == nil {
          session = try tables.load(name, as: StoredSession<Element, Version>.self)
        }
        return try tables.write(state, over: session, of: name, as: save)
      }
      _ = expectation.exchange(Expectation(saves: [save], session: session))
    } catch {
      _ = expectation.exchange(
        mayHaveSaved
          ? Expectation(saves: (before?.saves ?? [nil]).union([save]), session: nil) : before)
      throw error
    }
  }

  private func check(_ found: Int64?, _ expectation: Expectation?) throws(StoreError) {
    guard let expectation else {
      if found == nil { return }
      throw StoreError(
        .notLoaded, "saving would overwrite a session that was not loaded",
        path: connection.path, place: "session \"\(name)\"",
        help: "load it first; if it cannot be read, use another name")
    }
    guard expectation.saves.contains(found) else {
      throw StoreError(
        .overtaken, "another store has saved or removed this session in the meantime",
        path: connection.path, place: "session \"\(name)\"",
        help: "use only one store at a time, and load the session again")
    }
  }

  /// Performs an operation, and converts errors of SQLite to errors of the store.
  private func failing<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as SQLiteError {
      throw StoreError(error, path: connection.path)
    }
  }
}

extension StoreError {
  /// Creates an error from an error of SQLite. The description of that error has the details.
  init(_ error: SQLiteError, path: String?) {
    let code: Code =
      switch error.code {
      case .missing: .missing
      case .directory: .notAFile
      case .notADatabase: .foreign
      case .corrupt: .damaged
      case .readOnly: .denied
      case .full: .full
      case .inputOutput: .inputOutput
      case .busy: .inUse
      // The tables exist, but have other columns.
      case .sql: .foreign
      default: .database
      }
    self.init(
      code, "cannot load or save the session", path: path,
      help: "the saved state is unchanged", underlying: error)
  }
}
