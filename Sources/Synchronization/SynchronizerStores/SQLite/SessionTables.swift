import Diffing
import Foundation
import SQLiteSources
import Synchronizers

/// The tables of all sessions in a database. All methods run inside a transaction.
struct SessionTables {
  static let schema = "swappable_sync_schema"
  static let sessions = "swappable_sync_sessions"
  static let elements = "swappable_sync_elements"
  /// The version of the tables that this code reads and writes.
  private static let version = 1

  let connection: SQLiteConnection

  /// Creates the tables if they do not exist.
  func create() throws {
    if try exist() { return }
    try connection.executeScript(
      """
      CREATE TABLE \(Self.schema) (version INTEGER NOT NULL);
      INSERT INTO \(Self.schema) VALUES (\(Self.version));
      CREATE TABLE \(Self.sessions) (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, save INTEGER NOT NULL,
        header TEXT NOT NULL, header_check INTEGER NOT NULL);
      CREATE TABLE \(Self.elements) (
        id INTEGER PRIMARY KEY, session INTEGER NOT NULL, list INTEGER NOT NULL,
        rank INTEGER NOT NULL, mark INTEGER NOT NULL, element TEXT NOT NULL);
      CREATE INDEX \(Self.elements)_ranks ON \(Self.elements) (session, list, rank);
      CREATE INDEX \(Self.elements)_marks ON \(Self.elements) (session, list, mark)
        WHERE mark <> 0;
      """)
  }

  /// Returns the number of the last save of a session, or `nil` if there is no session.
  func save(of name: String) throws -> Int64? {
    try connection.query("SELECT save FROM \(Self.sessions) WHERE name = ?", [name]) { row in
      guard let save: Int64 = try? row.value(at: 0) else { throw damaged("table \(Self.sessions)") }
      return save
    }.first
  }

  /// Returns a session, or `nil` if there is none.
  func load<Element, Version>(
    _ name: String, as type: StoredSession<Element, Version>.Type
  ) throws -> StoredSession<Element, Version>? {
    guard try exist() else { return nil }
    let found = try connection.query(
      "SELECT id, save, header, header_check FROM \(Self.sessions) WHERE name = ?", [name])
    guard let row = found.first else { return nil }
    guard let id: Int64 = try? row.value(at: 0), let save: Int64 = try? row.value(at: 1),
      let text: String = try? row.value(at: 2), let check: Int64 = try? row.value(at: 3),
      check == Int64(bitPattern: Checksum.of(text.utf8))
    else {
      throw damaged("session \"\(name)\"")
    }
    let header: SessionHeader<Version>
    do {
      header = try JSONCoding.decoder.decode(
        SessionHeader<Version>.self, from: Data(text.utf8))
    } catch {
      throw StoreError(
        .undecodable, "the session was saved with a version of another type",
        path: connection.path, place: "session \"\(name)\"",
        help: "use the type that it was saved with, or a compatible one", underlying: error)
    }
    let lists = try (0...1).map { list in
      try RowTable<Element>(connection: connection, session: id, list: list)
        .load(hasOlder: header.push != nil)
    }
    guard lists.map({ ListCheck($0.rows) }) == header.checks,
      header.push.map({ $0.checks == lists.map(\.olderCheck) }) ?? true
    else {
      throw damaged("session \"\(name)\"")
    }
    return StoredSession(
      id: id, save: save, version: header.version, push: header.push, client: lists[0],
      shadow: lists[1])
  }

  /// Writes the differences between a state and the stored session.
  ///
  /// - Parameters:
  ///   - state: The new state.
  ///   - before: The stored session, or `nil` if there is none.
  ///   - name: The name of the session.
  ///   - save: The number of the save.
  /// - Returns: The session that is stored now.
  func write<Element, Version>(
    _ state: SynchronizationState<Element, Version>,
    over before: StoredSession<Element, Version>?, of name: String, as save: Int64
  ) throws -> StoredSession<Element, Version> {
    if before == nil {
      try connection.execute(
        "INSERT INTO \(Self.sessions) (name, save, header, header_check) VALUES (?, ?, '', 0)",
        [name, save])
    }
    var session =
      before
      ?? StoredSession(
        id: connection.lastInsertRowID, save: save, client: StoredList(), shadow: StoredList())
    if before == nil {
      // Another program may have removed the row of a session that had this number.
      try connection.execute("DELETE FROM \(Self.elements) WHERE session = ?", [session.id])
    }
    try session.client.write(
      newer: state.client, older: state.push?.client,
      to: RowTable(connection: connection, session: session.id, list: 0))
    try session.shadow.write(
      newer: state.push?.merged ?? state.shadow, older: state.push.map { _ in state.shadow },
      to: RowTable(connection: connection, session: session.id, list: 1))
    session.save = save
    session.version = state.version
    session.push = state.push.map { push in
      SessionHeader.Push(
        id: push.id, version: push.version,
        checks: [session.client.olderCheck, session.shadow.olderCheck])
    }
    try writeHeader(of: session)
    return session
  }

  /// Returns the error for rows that differ from the saved ones.
  func damaged(_ place: String) -> StoreError {
    StoreError(
      .damaged, "the saved session is damaged", path: connection.path,
      place: place, help: "restore a copy of the database, or save under another name")
  }

  private func writeHeader<Element, Version>(
    of session: StoredSession<Element, Version>
  ) throws {
    let header = SessionHeader(
      version: session.version, push: session.push,
      checks: [ListCheck(session.client.rows), ListCheck(session.shadow.rows)])
    let text = String(
      decoding: try JSONCoding.encode(header, "the version", path: connection.path), as: UTF8.self)
    try connection.execute(
      "UPDATE \(Self.sessions) SET save = ?, header = ?, header_check = ? WHERE id = ?",
      [session.save, text, Int64(bitPattern: Checksum.of(text.utf8)), session.id])
  }

  private func exist() throws -> Bool {
    let found = try connection.query(
      "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", [Self.schema])
    if found.isEmpty { return false }
    let version = try connection.query("SELECT version FROM \(Self.schema)") { row in
      try row.value(at: 0, as: Int.self)
    }.first
    guard version == Self.version else {
      throw StoreError(
        .newer,
        "the tables have version \(version ?? 0), but this program knows only version \(Self.version)",
        path: connection.path, place: "table \(Self.schema)",
        help: "use the newer program that wrote them")
    }
    return true
  }
}

/// The stored data of a session beside its lists.
struct SessionHeader<Version: Hashable & Codable & Sendable>: Codable {
  struct Push: Codable {
    var id: String
    var version: Version
    /// The checks of the older versions of both lists.
    var checks: [ListCheck]
  }

  var version: Version?
  var push: Push?
  /// The checks of the newer versions of both lists.
  var checks: [ListCheck]
}
