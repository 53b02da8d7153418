import DataSourceTesting
import Diffing
import Foundation
import ObservableCollections
import PostgresSources
import SwappableSources
import TestSupport

/// Random writes to random databases. Each event of random queries is compared with fresh queries.
final class PostgresStressRun {
  /// The way in which data sources hear of writes.
  enum Hints: Sendable {
    /// Frequent looks at the server.
    case polling
    /// Triggers on all tables. Other looks at the server are rare.
    case triggers
    /// Triggers on all tables that notify. All looks at the server are rare.
    case wakeup
    /// Nothing, so a source misses all writes.
    case none
  }

  /// A result that differs from a fresh query.
  struct Mismatch: Error, CustomStringConvertible {
    let description: String
  }

  /// Any other error.
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  private struct Live {
    var query: PostgresStressQuery
    var source: PostgresDataSource<PostgresStressRow>
    var observer: RecordingObserver<PostgresStressRow>
    /// The results after each commit, beginning with the one that the last event showed. Empty if commits of several
    /// writers overlapped, because the results between them are not known.
    var history: [[PostgresStressRow]] = []
    var checkedEvents = 0
    var checkedKeyed = 0

    /// Adds a result to the history, if it differs from the last one.
    mutating func add(_ rows: [PostgresStressRow]) {
      if history.last.map({ !query.areEqual($0, rows) }) ?? true { history.append(rows) }
    }
  }

  let seed: UInt64
  private(set) var step = 0
  private(set) var eventCount = 0
  /// The number of reads of changed keys only.
  private(set) var keyedCount = 0
  private var random: SeededGenerator
  private let hints: Hints
  private let patience: Duration

  /// Creates a run that a seed determines, apart from the order of commits of several writers.
  ///
  /// - Parameters:
  ///   - hints: The way in which data sources hear of writes.
  ///   - patience: The longest time to wait for a result.
  init(seed: UInt64, hints: Hints, patience: Duration = .seconds(120)) {
    self.seed = seed
    self.hints = hints
    self.patience = patience
    random = SeededGenerator(seed: seed)
  }

  /// Runs some steps, and throws the first mismatch.
  func run(steps: Int) async throws {
    while step < steps {
      let database = try await PostgresStressDatabase(hints: hints, &random)
      do {
        try await run(database, steps: min(200, steps - step))
      } catch {
        await database.remove()
        throw error
      }
      await database.remove()
      if TestRun.isLong {
        print("seed \(seed), \(hints): \(step) steps, \(eventCount) events, \(keyedCount) keyed")
      }
    }
  }

  private func run(_ database: PostgresStressDatabase, steps: Int) async throws {
    let size = random.pick([12, 40, 40, 120, 300])
    var count = 0
    var sources: [Live] = []
    for _ in 0..<(2 + random.below(3)) { sources.append(try await observe(database)) }
    for _ in 0..<steps {
      step += 1
      switch random.below(40) {
      case 0, 1: try await change(database, &sources)
      case 2..<7: try await writeConcurrently(database, size: size, count: count, &sources)
      case 7:
        try await database.hold(
          PostgresStressWrite(database.schema, size: size, count: count, &random))
      default:
        for _ in 0..<(random.oneIn(4) ? 1 + random.below(4) : 1) {
          let write = PostgresStressWrite(database.schema, size: size, count: count, &random)
          let writer = random.below(database.writerCount)
          try await noting(database) {
            try await database.run(write, writer) { try await note(&sources, database) }
          }
        }
      }
      if random.oneIn(8) {
        try await database.release(isKept: random.oneIn(2))
        try await note(&sources, database)
      }
      if random.oneIn(40) {
        sources[random.below(sources.count)] = try await observe(database)
      }
      // Sometimes more is written before the comparison.
      if random.oneIn(6) { continue }
      for index in sources.indices { try await compare(&sources[index], database) }
      count = try await database.count()
    }
    try await database.release(isKept: true)
    for index in sources.indices {
      sources[index].history = []
      try await compare(&sources[index], database)
      try await noting(database) {
        try sources[index].observer.check(against: sources[index].source)
      }
    }
  }

  private func observe(_ database: PostgresStressDatabase) async throws -> Live {
    let query = PostgresStressQuery(database.schema, &random)
    return try await noting(database, query) {
      let identityCount = query.identityCount
      let source = try PostgresDataSource(
        pool: try database.makePool(), sql: query.sql, arguments: query.arguments
      ) { PostgresStressRow($0, identityCount: identityCount) }
      let observer = RecordingObserver(source, keeps: 256, seed: seed)
      var live = Live(query: query, source: source, observer: observer)
      // Wait for the first load, also of an empty result.
      await source.refresh()
      try await compare(&live, database)
      return live
    }
  }

  /// Adds the present results to the histories.
  private func note(_ sources: inout [Live], _ database: PostgresStressDatabase) async throws {
    for index in sources.indices where !sources[index].history.isEmpty {
      guard let rows = try await database.rows(sources[index].query) else { continue }
      sources[index].add(rows)
    }
  }

  private func writeConcurrently(
    _ database: PostgresStressDatabase, size: Int, count: Int, _ sources: inout [Live]
  ) async throws {
    for index in sources.indices { sources[index].history = [] }
    let writes = (0..<database.writerCount).map { _ in
      (0..<(1 + random.below(6))).map { _ in
        PostgresStressWrite(database.schema, size: size, count: count, &random)
      }
    }
    try await noting(database) {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for (writer, writes) in writes.enumerated() {
          group.addTask {
            for write in writes { try await database.run(write, writer) {} }
          }
        }
        try await group.waitForAll()
      }
    }
  }

  /// Runs housekeeping, or changes the schema.
  private func change(_ database: PostgresStressDatabase, _ sources: inout [Live]) async throws {
    try await database.release(isKept: random.oneIn(2))
    try await note(&sources, database)
    let statements = database.makeSchemaChange(&random)
    for statement in statements {
      try await noting(database) { try await database.alter(statement) }
      try await note(&sources, database)
      if statement.contains("RENAME TO away") {
        for live in sources { await live.source.refresh() }
      }
    }
    // Triggers do not report changes of the schema. The safety poll would.
    if hints == .triggers || hints == .wakeup {
      for live in sources { await live.source.refresh() }
    }
  }

  private func compare(_ live: inout Live, _ database: PostgresStressDatabase) async throws {
    guard let expected = try await database.rows(live.query) else {
      throw Failure(
        description: "seed \(seed), step \(step): a fresh query fails: \(live.query.sql)")
    }
    let (query, source, observer) = (live.query, live.source, live.observer)
    try await noting(database, query) {
      do {
        try await observer.wait(timeout: patience) {
          query.areEqual(Array($0.snapshot), expected)
        }
      } catch is TimeoutError {
        throw Mismatch(
          description: """
            shows \(observer.snapshot.count) rows:
            \(observer.snapshot.map(\.description).joined(separator: " | "))
            a fresh query gives \(expected.count):
            \(expected.map(\.description).joined(separator: " | "))
            status: \(source.status)
            """)
      }
      try observer.check()
      if source.status.state != .loaded { await source.refresh() }
      guard source.status.state == .loaded else {
        throw Failure(description: "the status is \(source.status)")
      }
    }
    var seen = observer.eventCount
    if live.history.isEmpty {
      // A result before it may be equal. After this read, the source is past it.
      await source.refresh()
      live.history = [expected]
      seen = observer.eventCount
    } else {
      live.add(expected)
      try await noting(database, query) { try checkEvents(&live) }
    }
    eventCount += seen - live.checkedEvents
    keyedCount += source.readCounts.keyed - live.checkedKeyed
    live.checkedKeyed = source.readCounts.keyed
    live.checkedEvents = seen
  }

  /// Checks that each event shows the result after a commit, in the order of the commits.
  private func checkEvents(_ live: inout Live) throws {
    for event in live.observer.events.suffix(live.observer.eventCount - live.checkedEvents) {
      let shown = Array(event.snapshot)
      // Of equal results, take the first one: a later event may show a result between them.
      guard let position = live.history.firstIndex(where: { live.query.areEqual(shown, $0) }) else {
        throw Mismatch(
          description: """
            an event shows rows that no commit led to:
            \(shown.map(\.description).joined(separator: " | "))
            the commits led to:
            \(live.history.map { $0.map(\.description).joined(separator: " | ") }.joined(separator: "\n"))
            """)
      }
      live.history.removeFirst(position)
    }
  }

  /// Adds to each error the information that reproduces it.
  private func noting<Result>(
    _ database: PostgresStressDatabase, _ query: PostgresStressQuery? = nil,
    _ body: () async throws -> Result
  ) async throws -> Result {
    do {
      return try await body()
    } catch {
      let text = """
        seed \(seed), step \(step), \(hints)
        \(query.map { "\($0.sql), arguments \($0.arguments.values)" } ?? "")
        \(error)
        schema: \(database.initialStatements.joined(separator: ";\n"))
        the last writes:
        \(database.log.value.suffix(25).joined(separator: "\n"))
        """
      if error is Mismatch { throw Mismatch(description: text) }
      throw Failure(description: text)
    }
  }
}
