import DataSourceTesting
import Diffing
import Foundation
import ObservableCollections
import Testing

@testable import SQLiteSources

/// A query that is observed, and one who writes its database: what the tests of faults are made of.
final class LiveQuery: Sendable {
  typealias Journal = TemporaryDatabase.Journal

  /// Who writes.
  enum Writer: String, Sendable, CaseIterable {
    /// The connection that the source was made of.
    case own
    /// Another connection of the framework in this process.
    case second
    /// A connection in this process that the framework does not know.
    case handle
    /// Another process.
    case process
  }

  /// How the database is kept, and who writes it.
  struct Setting: Sendable, CustomTestStringConvertible {
    var journal: Journal
    var writer: Writer

    static let all = Journal.allCases.flatMap { journal in
      Writer.allCases.map { Setting(journal: journal, writer: $0) }
    }

    var testDescription: String { "\(journal), \(writer)" }
  }

  /// Four rows of two lists; a list takes its rows along.
  static let items = """
    CREATE TABLE list (id INTEGER PRIMARY KEY, title TEXT);
    CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT UNIQUE,
      list INTEGER REFERENCES list ON DELETE CASCADE ON UPDATE CASCADE);
    INSERT INTO list VALUES (1, 'one'), (2, 'two');
    INSERT INTO item VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 1), (4, 'd', 2);
    """

  let database: TemporaryDatabase
  let own: SQLiteConnection
  let source: SQLiteDataSource<TestRow>
  let recorder: Recorder<TestRow>
  let observer: RecordingObserver<TestRow>
  private let arguments: SQLiteArguments
  private let sentinel: String
  private let run: @Sendable (String) throws -> Void

  /// Makes the database by `setup`, observes `sql`, and waits until it has loaded.
  ///
  /// - Parameter sentinel: A write that changes the result whenever it is run.
  init(
    _ setting: Setting, _ sql: String = "SELECT id, name FROM item ORDER BY name, id",
    arguments: SQLiteArguments = [], setup: String = LiveQuery.items,
    sentinel: String = "UPDATE item SET name = name || '!' WHERE id = (SELECT min(id) FROM item)"
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
    recorder = Recorder(source)
    observer = RecordingObserver(source)
    try await source.loaded()
    await source.flush()
  }

  /// The contents in short.
  var contents: String { observer.snapshot.map(\.description).joined(separator: " ") }

  /// What the query gives now.
  func freshRows(_ sql: String? = nil) throws -> [TestRow] {
    try own.query(sql ?? source.sql, arguments).map { TestRow($0) }
  }

  /// Writes, and says nothing of what comes of it.
  func write(_ sql: String) throws { try run(sql) }

  /// Writes, and expects exactly one event, of just these offsets and elements.
  func expect(
    _ sql: String, tells expected: String, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let count = observer.eventCount
    try write(sql)
    try await observer.wait(forEvents: count + 1)
    await source.refresh()
    let changes = observer.changes.dropFirst(count - 1)
    #expect(changes.map(\.brief) == [expected], "\(sql)", sourceLocation: sourceLocation)
    try check(sourceLocation: sourceLocation)
  }

  /// Writes, and expects no event: neither by then nor together with the next, whose exact change is
  /// known.
  ///
  /// - Parameter fails: Whether SQLite refuses the write.
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

  /// Holds what was told against the contract, and against a fresh query.
  func check(sourceLocation: SourceLocation = #_sourceLocation) throws {
    try observer.check(against: source)
    #expect(Array(observer.snapshot) == (try freshRows()), sourceLocation: sourceLocation)
    #expect(source.status.state == .loaded, sourceLocation: sourceLocation)
  }
}
