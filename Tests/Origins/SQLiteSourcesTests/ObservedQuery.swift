import DataSourceTesting
import Diffing
import Foundation
import ObservableCollections
import SQLiteSources
import TestSupport
import Testing

/// An observed query and a writer of its database, for tests of special cases.
final class ObservedQuery: Sendable {
  typealias Journal = TemporaryDatabase.Journal

  /// The writer of the database.
  enum Writer: String, Sendable, CaseIterable {
    /// The connection that created the source.
    case own
    /// Another connection of the framework in this process.
    case second
    /// A connection in this process that the framework does not know.
    case handle
    /// Another process.
    case process
  }

  /// A journal mode and a writer.
  struct Setting: Sendable, CustomTestStringConvertible {
    var journal: Journal
    var writer: Writer

    static let all = Journal.allCases.flatMap { journal in
      Writer.allCases.map { Setting(journal: journal, writer: $0) }
    }

    var testDescription: String { "\(journal), \(writer)" }
  }

  /// Four rows of two lists. A deleted list deletes its rows.
  static let items = """
    CREATE TABLE list (id INTEGER PRIMARY KEY, title TEXT);
    CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT UNIQUE,
      list INTEGER REFERENCES list ON DELETE CASCADE ON UPDATE CASCADE);
    INSERT INTO list VALUES (1, 'one'), (2, 'two');
    INSERT INTO item VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 1), (4, 'd', 2);
    """

  /// A write that always changes the result.
  static let sentinel =
    "UPDATE item SET name = name || '!' WHERE id = (SELECT min(id) FROM item)"

  let database: TemporaryDatabase
  let own: SQLiteConnection
  let source: SQLiteDataSource<TestRow>
  let recorder: SourceRecorder<TestRow>
  let observer: RecordingObserver<TestRow>
  private let arguments: SQLiteArguments
  private let sentinel: String
  private let run: @Sendable (String) throws -> Void

  /// Creates a database, observes a query on it, and waits until it is loaded.
  ///
  /// - Parameters:
  ///   - setting: The journal mode and the writer.
  ///   - sql: The query.
  ///   - arguments: The arguments of the query.
  ///   - setup: The SQL that creates the database.
  ///   - sentinel: A write that always changes the result.
  init(
    _ setting: Setting, _ sql: String = "SELECT id, name FROM item ORDER BY name, id",
    arguments: SQLiteArguments = [], setup: String = ObservedQuery.items,
    sentinel: String = ObservedQuery.sentinel
  ) async throws {
    let database = try TemporaryDatabase()
    let own = try SQLiteConnection(path: database.path, busyTimeout: .seconds(60))
    _ = try own.query("PRAGMA journal_mode = \(setting.journal.rawValue)")
    let pragmas = "PRAGMA foreign_keys = ON; PRAGMA synchronous = OFF;"
    try own.executeScript(pragmas + setup)
    switch setting.writer {
    case .own: run = { try own.executeScript($0) }
    case .second:
      let second = try SQLiteConnection(path: database.path, busyTimeout: .seconds(60))
      try second.executeScript(pragmas)
      run = { try second.executeScript($0) }
    case .handle:
      let handle = try RawHandle(database.path)
      try handle.execute(pragmas)
      run = { try handle.execute($0) }
    case .process:
      let process = try HelperProcess("sql", database.path)
      try process.run(pragmas)
      run = { try process.run($0.split(whereSeparator: \.isNewline).joined(separator: " ")) }
    }
    self.database = database
    self.own = own
    self.arguments = arguments
    self.sentinel = sentinel
    source = try SQLiteDataSource(connection: own, sql: sql, arguments: arguments) { TestRow($0) }
    recorder = SourceRecorder(source)
    observer = RecordingObserver(source)
    try await source.loaded()
    await source.flush()
  }

  /// The contents as text.
  var contents: String { observer.snapshot.map(\.description).joined(separator: " ") }

  /// Returns the result of a fresh query.
  func freshRows(_ sql: String? = nil) throws -> [TestRow] {
    try own.query(sql ?? source.sql, arguments).map { TestRow($0) }
  }

  /// Writes, without any expectation.
  func write(_ sql: String) throws { try run(sql) }

  /// Writes, and expects exactly one event with the given offsets and elements.
  func expect(
    _ sql: String, changes expected: String, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let count = observer.eventCount
    try write(sql)
    try await observer.wait(forEvents: count + 1)
    await source.refresh()
    let changes = observer.changes.dropFirst(count - 1)
    #expect(changes.map(\.brief) == [expected], "\(sql)", sourceLocation: sourceLocation)
    try check(sourceLocation: sourceLocation)
  }

  /// Writes, and expects no event for it.
  ///
  /// A second write with a known change proves that no event is pending.
  ///
  /// - Parameters:
  ///   - sql: The write.
  ///   - fails: A Boolean value that indicates whether SQLite refuses the write.
  func expectSilence(
    _ sql: String, fails: Bool = false, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let (count, before) = (observer.eventCount, observer.snapshot)
    if fails {
      #expect(throws: (any Error).self, "\(sql)", sourceLocation: sourceLocation) { try write(sql) }
    } else {
      try write(sql)
    }
    await source.refresh()
    #expect(observer.eventCount == count, "\(sql)", sourceLocation: sourceLocation)
    try write(sentinel)
    try await observer.wait(forEvents: count + 1)
    await source.refresh()
    let changes = observer.changes.dropFirst(count - 1)
    #expect(changes.count == 1, "\(sql)", sourceLocation: sourceLocation)
    let next = try #require(changes.first)
    let wanted = Changeset(from: before, to: Snapshot(try freshRows()))
    #expect(
      Array(next.before) == Array(before) && next.changeset == wanted,
      sourceLocation: sourceLocation)
    try check(sourceLocation: sourceLocation)
  }

  /// Checks the events against the contract, and the contents against a fresh query.
  func check(sourceLocation: SourceLocation = #_sourceLocation) throws {
    try observer.check(against: source)
    #expect(Array(observer.snapshot) == (try freshRows()), sourceLocation: sourceLocation)
    #expect(source.status.state == .loaded, sourceLocation: sourceLocation)
  }
}
