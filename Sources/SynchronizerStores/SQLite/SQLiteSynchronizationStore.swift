public import Diffing
import Foundation
import ObservableCollections
public import SQLiteSources
import SwappablePrimitives
public import Synchronizers

/// Keeps what a session must know after a restart in a SQLite database, beside whatever else is there.
///
///     let store = try SQLiteSynchronizationStore<Task, Int>(path: "tasks.db", name: "tasks")
///     let session = try await SynchronizationSession(remote: remote, store: store)
///
/// Each element of a list is a row of JSON text in tables of its own, whose names begin with
/// `swappable_sync_`. A save is one transaction, and writes the rows that differ from those saved before:
/// an element that was edited, inserted or moved is one row or two, however long the list. Elements count
/// as they do everywhere: those of equal content do not differ.
///
/// | what | durable once `save` has returned |
/// |---|---|
/// | a crash of the process | always |
/// | a crash of the machine | on a connection of its own; on a given one with `PRAGMA synchronous = EXTRA`, or `FULL` where the journal mode is WAL |
///
/// Several sessions, told apart by name, can be in one database. Two stores of one name are noticed: a
/// save over a state that the other has saved since is refused, and nothing of it is lost.
public final class SQLiteSynchronizationStore<
  Element: Codable & Differentiable & Sendable, Version: Hashable & Codable & Sendable
>: SynchronizationStore {
  /// What this store believes to be in the database.
  private struct Belief: Sendable {
    /// Which saves may be the last one; nil for none. Several after a failed save, of which it is not
    /// known whether it came through.
    var saves: Set<Int64?>
    var session: StoredSession<Element, Version>?
  }

  /// What tells the session from others in the database.
  public let name: String

  private let connection: SQLiteConnection
  private let queue = WorkQueue("SQLiteSynchronizationStore", isSerial: true)
  /// nil until something was loaded, or saved where nothing was.
  private let belief = Locked<Belief?>(nil)

  /// Opens a store with a connection of its own; the database is made where it is not there.
  ///
  /// - Parameters:
  ///   - path: The path of the database.
  ///   - name: What tells the session from others; by its bytes.
  /// - Throws: A ``StoreError`` where the database cannot be opened.
  public convenience init(path: String, name: String) throws(StoreError) {
    do throws(SQLiteError) {
      let connection = try SQLiteConnection(path: path)
      // The other modes may lose the last commits when the machine goes down, which a session must not:
      // EXTRA brings the folder to the disk too, the second the cache of the disk where there is one.
      try connection.executeScript("PRAGMA synchronous = EXTRA; PRAGMA fullfsync = 1")
      self.init(connection: connection, name: name)
    } catch {
      throw StoreError(error, path: path)
    }
  }

  /// Makes a store on a connection that others use too. Its settings are left as they are.
  ///
  /// - Parameters:
  ///   - connection: A connection that may write.
  ///   - name: What tells the session from others; by its bytes.
  public init(connection: SQLiteConnection, name: String) {
    self.connection = connection
    self.name = name
  }

  /// Reads what was saved last.
  ///
  /// - Returns: nil where nothing was saved yet.
  /// - Throws: A ``StoreError`` where it cannot be read. It is left as it is, and later saves are refused
  ///   until it could be loaded.
  /// - Complexity: O(n).
  public func load() async throws -> SynchronizationState<Element, Version>? {
    try await queue.run { [self] in
      _ = exchange(nil)
      return try failing {
        let session = try connection.transaction(.deferred) {
          try SessionTables(connection).load(name, as: StoredSession<Element, Version>.self)
        }
        _ = exchange(Belief(saves: [session?.save], session: session))
        return session?.state
      }
    }
  }

  /// Saves a state in place of the one before, in one transaction.
  ///
  /// - Throws: A ``StoreError``: where something is there that was not loaded, where another store has
  ///   saved since, and where it cannot be written. What was saved before is still there.
  /// - Complexity: O(n), without writing or encoding more than what differs.
  public func save(_ state: SynchronizationState<Element, Version>) async throws {
    try await queue.run { [self] in try failing { try saveNow(state) } }
  }

  private func saveNow(_ state: SynchronizationState<Element, Version>) throws {
    // Taken out, so that its lists are changed in place.
    let before = exchange(nil)
    let save = Int64.random(in: .min ... .max)
    var mayHaveSaved = false
    do {
      let session = try connection.transaction {
        let tables = SessionTables(connection)
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
      _ = exchange(Belief(saves: [save], session: session))
    } catch {
      var belief = before
      if mayHaveSaved {
        belief = Belief(saves: (before?.saves ?? [nil]).union([save]), session: nil)
      }
      _ = exchange(belief)
      throw error
    }
  }

  private func check(_ found: Int64?, _ belief: Belief?) throws(StoreError) {
    guard let belief else {
      if found == nil { return }
      throw StoreError(
        .notLoaded, "there is a session that was not loaded, and would be lost",
        path: connection.path, place: "session \"\(name)\"",
        help: "load it first; if it cannot be read, give another name")
    }
    guard belief.saves.contains(found) else {
      throw StoreError(
        .overtaken, "another store has saved or removed this session since",
        path: connection.path, place: "session \"\(name)\"",
        help: "let one program at a time work on it, and load it again")
    }
  }

  private func exchange(_ new: Belief?) -> Belief? {
    belief.withLock { belief in
      let old = belief
      belief = new
      return old
    }
  }

  /// Tells SQLite's errors as the store's.
  private func failing<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as SQLiteError {
      throw StoreError(error, path: connection.path)
    }
  }
}

extension StoreError {
  /// Tells of an error of SQLite, which says itself where and what would help.
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
      // The tables are there, and are not what they should be.
      case .sql: .foreign
      default: .database
      }
    self.init(
      code, "the database cannot keep the session", path: path,
      help: "what was saved is as it was", underlying: error)
  }
}
