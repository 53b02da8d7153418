package import DataSourceTesting
package import Diffing
package import ObservableCollections

/// A random query of a database.
package protocol StressQuery: Sendable, CustomStringConvertible {
  associatedtype Row: Differentiable & Equatable & Sendable & CustomStringConvertible

  /// Returns a Boolean value that indicates whether two results are equal, apart from the order that the query leaves
  /// open.
  func areEqual(_ left: [Row], _ right: [Row]) -> Bool
}

/// A random database, with all its writers and a reader.
package protocol StressDatabase: AnyObject {
  associatedtype Query: StressQuery
  associatedtype Source: DataSource<Query.Row>

  /// The numbers of rows that a run chooses from.
  static var sizes: [Int] { get }

  /// The schema and the settings.
  var description: String { get }
  /// The latest writes, with their writers.
  var latestWrites: [String] { get }

  func makeQuery(_ random: inout SeededGenerator) -> Query
  func makeSource(_ query: Query) throws -> Source
  func refresh(_ source: Source) async

  /// Returns the result of a fresh query, or `nil` if it fails because something is renamed.
  func rows(_ query: Query, shownBy source: Source) async throws -> [Query.Row]?

  /// Returns the number of rows in the main table.
  func count() async throws -> Int

  /// Throws if a source does not follow its query in the expected way.
  func check(_ source: Source, _ query: Query) throws

  /// Writes.
  ///
  /// - Parameters:
  ///   - size: The wanted number of rows.
  ///   - count: The present number of rows.
  ///   - onCommit: A closure to call after each statement that may have committed.
  /// - Returns: `false` if the results between the commits are not known.
  func write(
    size: Int, count: Int, _ random: inout SeededGenerator, onCommit: () async throws -> Void
  ) async throws -> Bool

  /// Runs housekeeping, or changes the schema.
  ///
  /// - Parameters:
  ///   - onCommit: A closure to call after each statement.
  ///   - refresh: A closure that refreshes all sources.
  /// - Returns: `false` if the results between the commits are not known.
  func change(
    _ random: inout SeededGenerator, onCommit: () async throws -> Void,
    refresh: () async -> Void
  ) async throws -> Bool

  /// Ends transactions that are open.
  func settle() async throws

  /// Removes the database.
  func remove() async
}

/// A result that differs from a fresh query.
package struct StressMismatch: Error, CustomStringConvertible {
  package let description: String
}

/// Any other error of a run.
package struct StressFailure: Error, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }
}

/// Random writes to random databases. The results of random queries are compared with fresh queries.
///
/// The changes of the sources count as cases of the test that runs.
package final class StressRun<Database: StressDatabase> {
  private typealias Row = Database.Query.Row

  private struct Live {
    var query: Database.Query
    var source: Database.Source
    var observer: RecordingObserver<Row>
    /// The results after each commit, beginning with the one that the last event showed. Empty if the results between
    /// the commits are not known.
    var history: [[Row]] = []
    var checkedEvents = 0

    /// Adds a result to the history, if it differs from the last one.
    mutating func add(_ rows: [Row]) {
      if history.last.map({ !query.areEqual($0, rows) }) ?? true { history.append(rows) }
    }
  }

  private let seed: UInt64
  private let patience: Duration
  private let makeDatabase: (inout SeededGenerator) async throws -> Database
  private var random: SeededGenerator
  private var sources: [Live] = []
  package private(set) var step = 0
  package private(set) var eventCount = 0

  /// Creates a run that a seed determines, apart from the order of commits of several writers.
  ///
  /// - Parameters:
  ///   - seed: The seed.
  ///   - patience: The longest time to wait for a result, or zero if a source is refreshed instead.
  ///   - makeDatabase: A closure that makes a database without sources.
  package init(
    seed: UInt64, patience: Duration,
    _ makeDatabase: @escaping (inout SeededGenerator) async throws -> Database
  ) {
    (self.seed, self.patience, self.makeDatabase) = (seed, patience, makeDatabase)
    random = SeededGenerator(seed: seed)
  }

  /// Runs some steps, and throws the first mismatch.
  package func run(steps: Int) async throws {
    while step < steps {
      let database = try await makeDatabase(&random)
      do {
        try await run(database, steps: min(150, steps - step))
      } catch {
        await remove(database)
        throw error
      }
      await remove(database)
    }
  }

  private func remove(_ database: Database) async {
    sources = []
    await database.remove()
  }

  private func run(_ database: Database, steps: Int) async throws {
    let size = random.pick(Database.sizes)
    var count = 0
    for _ in 0..<(2 + random.below(3)) { sources.append(try await observe(database)) }
    for _ in 0..<steps {
      step += 1
      let isChange = random.oneIn(25)
      let isKnown = try await noting(database) {
        func note() async throws { try await self.note(database) }
        if isChange {
          return try await database.change(&random, onCommit: note) {
            for live in sources { await database.refresh(live.source) }
          }
        }
        return try await database.write(size: size, count: count, &random, onCommit: note)
      }
      if !isKnown { forgetHistories() }
      if random.oneIn(40) {
        let index = random.below(sources.count)
        Coverage.note(sources[index].observer)
        sources[index] = try await observe(database)
      }
      // Sometimes more is written before the comparison.
      if random.oneIn(6) { continue }
      for index in sources.indices { try await compare(index, database) }
      count = try await database.count()
    }
    try await database.settle()
    forgetHistories()
    for index in sources.indices {
      try await compare(index, database)
      let live = sources[index]
      try await noting(database, live.query) { try live.observer.check(against: live.source) }
      Coverage.note(live.observer)
    }
  }

  private func observe(_ database: Database) async throws -> Live {
    let query = database.makeQuery(&random)
    return try await noting(database, query) {
      let source = try database.makeSource(query)
      let observer = RecordingObserver(source, keeps: 256, seed: seed)
      // Wait for the first load, also of an empty result.
      await database.refresh(source)
      return Live(query: query, source: source, observer: observer)
    }
  }

  /// Adds the present results to the histories.
  private func note(_ database: Database) async throws {
    for index in sources.indices where !sources[index].history.isEmpty {
      let live = sources[index]
      if let rows = try await database.rows(live.query, shownBy: live.source) {
        sources[index].add(rows)
      }
    }
  }

  private func forgetHistories() {
    for index in sources.indices { sources[index].history = [] }
  }

  private func compare(_ index: Int, _ database: Database) async throws {
    let (query, source, observer) = (
      sources[index].query, sources[index].source, sources[index].observer
    )
    try await noting(database, query) {
      if patience == .zero { await database.refresh(source) }
      guard let expected = try await database.rows(query, shownBy: source) else {
        throw StressFailure("a fresh query fails")
      }
      do {
        try await observer.wait(timeout: patience) {
          query.areEqual(Array($0.snapshot), expected)
        }
      } catch is TimeoutError {
        throw StressMismatch(
          description: """
            shows \(observer.snapshot.count) rows:
            \(text(of: Array(observer.snapshot)))
            a fresh query gives \(expected.count):
            \(text(of: expected))
            status: \(source.status)
            """)
      }
      try observer.check()
      if source.status.state != .loaded { await database.refresh(source) }
      guard source.status.state == .loaded else {
        throw StressFailure("the status is \(source.status)")
      }
      try database.check(source, query)
      var seen = observer.eventCount
      if sources[index].history.isEmpty {
        // A result before it may be equal. After this read, the source is past it.
        await database.refresh(source)
        sources[index].history = [expected]
        seen = observer.eventCount
      } else {
        sources[index].add(expected)
        try checkEvents(&sources[index])
      }
      eventCount += seen - sources[index].checkedEvents
      sources[index].checkedEvents = seen
    }
  }

  /// Checks that each event shows the result after a commit, in the order of the commits.
  private func checkEvents(_ live: inout Live) throws {
    for event in live.observer.events.suffix(live.observer.eventCount - live.checkedEvents) {
      let shown = Array(event.snapshot)
      // Of equal results, take the first one: a later event may show a result between them.
      guard let position = live.history.firstIndex(where: { live.query.areEqual(shown, $0) }) else {
        throw StressMismatch(
          description: """
            an event shows rows that no commit led to:
            \(text(of: shown))
            the commits led to:
            \(live.history.map(text).joined(separator: "\n"))
            """)
      }
      live.history.removeFirst(position)
    }
  }

  private func text(of rows: [Row]) -> String {
    rows.map(\.description).joined(separator: " | ")
  }

  /// Adds to each error the information that reproduces it.
  private func noting<Result>(
    _ database: Database, _ query: Database.Query? = nil, _ body: () async throws -> Result
  ) async throws -> Result {
    do {
      return try await body()
    } catch {
      let text = """
        seed \(seed), step \(step)
        \(query.map(\.description) ?? "")
        \(error)
        \(database.description)
        the last writes:
        \(database.latestWrites.suffix(25).joined(separator: "\n"))
        """
      throw error is StressMismatch ? StressMismatch(description: text) : StressFailure(text)
    }
  }
}

/// A random write. The database may refuse each of its statements.
package struct StressWrite: Sendable {
  /// The transaction of the statements, with its end and its savepoint.
  package struct Transaction: Sendable {
    package var beginning: String
    package var isKept: Bool
    package var savepoint: Range<Int>
    package var isSavepointKept: Bool
  }

  package var statements: [String]
  package var transaction: Transaction?

  /// Creates a write of one statement, or of several in a transaction.
  ///
  /// - Parameters:
  ///   - beginnings: Statements that begin a transaction. One of them is chosen.
  ///   - frequency: One of so many writes is a transaction.
  ///   - makeStatement: A closure that makes a statement.
  package init(
    beginnings: [String], transactionsOneIn frequency: Int, _ random: inout SeededGenerator,
    _ makeStatement: (inout SeededGenerator) -> String
  ) {
    guard random.oneIn(frequency) else {
      statements = [makeStatement(&random)]
      return
    }
    statements = []
    for _ in 0...random.below(5) { statements.append(makeStatement(&random)) }
    let start = random.below(statements.count + 1)
    let end = start + random.below(statements.count - start + 1)
    transaction = Transaction(
      beginning: random.pick(beginnings), isKept: !random.oneIn(3), savepoint: start..<end,
      isSavepointKept: random.oneIn(2))
  }

  /// The statements, including the beginning and end of the transaction.
  package var script: [String] {
    guard let transaction else { return statements }
    var script = statements
    if !transaction.savepoint.isEmpty {
      script.insert("RELEASE s", at: transaction.savepoint.upperBound)
      if !transaction.isSavepointKept {
        script.insert("ROLLBACK TO s", at: transaction.savepoint.upperBound)
      }
      script.insert("SAVEPOINT s", at: transaction.savepoint.lowerBound)
    }
    return [transaction.beginning] + script + [transaction.isKept ? "COMMIT" : "ROLLBACK"]
  }
}

extension SeededGenerator {
  /// Returns one of some values.
  package mutating func pick<Value>(_ values: [Value]) -> Value { values[below(values.count)] }
}
