import Foundation
import Measuring
import PostgresSources
import Swappable

// Measures live queries of a PostgreSQL server, which the program starts in a temporary directory:
//
//     swift run -c release --package-path Tests/Benchmarks PostgresBenchmarks [arrival | writers | load | memory]…

@main
struct PostgresBenchmarks {
  static func main() async throws {
    let arguments = Array(CommandLine.arguments.dropFirst())
    if arguments.first == "--load", arguments.count == 2 {
      return try await loadAndReport(arguments[1])
    }
    guard PostgresServer.programs != nil else {
      print(
        "PostgreSQL is not installed. Install the package postgresql (Debian, Ubuntu: "
          + "apt-get install postgresql; Homebrew: brew install postgresql).")
      exit(1)
    }
    func isRequested(_ name: String) -> Bool { arguments.isEmpty || arguments.contains(name) }
    if isRequested("arrival") { try await measureArrival() }
    if isRequested("writers") { try await measureWriters() }
    if isRequested("load") { try await measureLoads() }
    if isRequested("memory") { try await measureMemory() }
  }

  // MARK: Commit to observer

  /// Measures from the sending of an UPDATE, and from the answer to it, to the call of an observer.
  static func measureArrival() async throws {
    let server = try PostgresServer()
    var lines = [["", "median", "lowest", "median after the commit", "way"]]
    for (rows, count) in [(1_000, 101), (100_000, 31)] {
      for triggers in Triggers.allCases {
        let workplace = try await Workplace(server, rows: rows, triggers)
        let source = try workplace.makeSource()
        let arrivals = Arrivals(source)
        try await source.loaded()
        let clock = ContinuousClock()
        var (times, afterCommit) = ([Double](), [Double]())
        for score in 1...(triggers == .none ? 15 : count) {
          // The source may rest after a read. Writes in quick succession would wait for it.
          try await Task.sleep(for: .milliseconds(triggers == .records ? 20 : rows / 200))
          let start = clock.now
          try await workplace.connection.execute(
            "UPDATE item SET score = $1 WHERE id = $2", [score, rows / 2])
          let commit = clock.now
          let arrival = await arrivals.wait(for: score)
          times.append(start.duration(to: arrival).nanoseconds)
          afterCommit.append(commit.duration(to: arrival).nanoseconds)
        }
        lines.append([
          lines.count % 3 == 1 ? "\(rows) rows" : "", median(times),
          text(nanoseconds: times.min() ?? 0),
          median(afterCommit), triggers.rawValue,
        ])
        show(lines.last)
      }
    }
    print("\n" + table(lines) + "\n")
  }

  // MARK: Writers

  /// Measures transactions of one UPDATE with each kind of triggers, in turn.
  static func measureWriters() async throws {
    var lines = [["", "median", "lowest", "×", "× of the lowest", "triggers"]]
    for (title, configuration) in [
      ("commits do not wait for the disk", [String]()),
      ("commits wait for the disk", ["fsync = on", "synchronous_commit = on"]),
    ] {
      let server = try PostgresServer(configuration: configuration)
      let workplaces = try await Triggers.allCases.asyncMap {
        try await Workplace(server, rows: 100_000, $0)
      }
      for writers in [1, 4] {
        // One writer alternates after each transaction, so a slow moment of the machine affects all databases.
        let (rounds, count) = writers == 1 ? (2_000, 1) : (40, 80)
        var times = workplaces.map { _ in [Double]() }
        var connections: [[PostgresConnection]] = []
        for workplace in workplaces {
          connections.append(
            try (0..<writers).map { _ in try PostgresConnection(workplace.connectionString) })
        }
        // The first rounds are not counted.
        for round in -rounds / 10..<rounds {
          for turn in workplaces.indices {
            let index = (turn + round + rounds) % workplaces.count
            let time = try await write(connections[index], round + rounds, count: count)
            if round >= 0 { times[index].append(time / Double(count)) }
          }
        }
        let medians = times.map { $0.sorted()[$0.count / 2] }
        let lowest = times.map { $0.min() ?? 0 }
        for (index, triggers) in ["none", "wake-up only", "change table"].enumerated() {
          lines.append([
            index == 0 ? "\(title), writers: \(writers)" : "", text(nanoseconds: medians[index]),
            text(nanoseconds: lowest[index]), ratio(medians[index] / medians[0]),
            ratio(lowest[index] / lowest[0]), triggers,
          ])
          show(lines.last)
        }
      }
    }
    print("\n" + table(lines) + "\n")
  }

  /// Runs transactions of several writers, and returns the time for all of them in nanoseconds.
  private static func write(
    _ connections: [PostgresConnection], _ round: Int, count: Int
  ) async throws -> Double {
    let clock = ContinuousClock()
    let start = clock.now
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (writer, connection) in connections.enumerated() {
        group.addTask {
          for number in 0..<count / connections.count {
            let id = ((round * 80 + number) * 7919 + writer * 25_000) % 100_000 + 1
            try await connection.execute(
              "UPDATE item SET score = score + 1 WHERE id = $1", [id])
          }
        }
      }
      try await group.waitForAll()
    }
    return start.duration(to: clock.now).nanoseconds
  }

  // MARK: Loads

  /// Measures the first load, beside a query of the connection and the server's own time.
  static func measureLoads() async throws {
    let server = try PostgresServer()
    var lines = [["", "median", "lowest", "work"]]
    for (rows, count) in [(1_000, 51), (100_000, 11), (1_000_000, 3)] {
      let keyed = try await Workplace(server, rows: rows, .records)
      let polled = try await Workplace(server, rows: rows, .none)
      func load(_ workplace: Workplace) async throws {
        let source = try workplace.makeSource()
        let observation = source.observe { _ in }
        try await source.loaded()
        withExtendedLifetime(observation) {}
      }
      let entries: [(String, () async throws -> Void)] = [
        ("first load, keyed refetch later", { try await load(keyed) }),
        ("first load, full refetch later", { try await load(polled) }),
        (
          "query of a connection, mapped",
          { _ = try await polled.connection.query(Item.sql) { try Item($0) } }
        ),
        (
          "the server's query alone",
          {
            try await polled.connection.execute(
              "EXPLAIN (ANALYZE, TIMING off) " + Item.sql)
          }
        ),
      ]
      for (name, run) in entries {
        var times: [Double] = []
        for _ in 0..<count {
          let clock = ContinuousClock()
          let start = clock.now
          try await run()
          times.append(start.duration(to: clock.now).nanoseconds)
        }
        lines.append([
          lines.count % 4 == 1 ? "\(rows) rows" : "", median(times),
          text(nanoseconds: times.min() ?? 0), name,
        ])
        show(lines.last)
      }
    }
    print("\n" + table(lines) + "\n")
  }

  // MARK: Memory

  /// Measures the memory of a process that observes a million rows.
  static func measureMemory() async throws {
    let server = try PostgresServer()
    for triggers in [Triggers.records, .none] {
      let workplace = try await Workplace(server, rows: 1_000_000, triggers)
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
      process.arguments = ["--load", workplace.connectionString]
      try process.run()
      process.waitUntilExit()
    }
  }

  /// Loads all rows, reads them once more, and prints the memory.
  private static func loadAndReport(_ connectionString: String) async throws {
    let before = residentMemory()
    let source = try PostgresDataSource(connectionString: connectionString, sql: Item.sql) {
      try Item($0)
    }
    let observation = source.observe { _ in }
    try await source.loaded()
    let loaded = residentMemory()
    await source.refresh()
    let refreshed = residentMemory()
    let mode = try await source.explainQuery().mode
    print(
      """
      \(source.collection.count) rows, \(mode): before \(text(bytes: before.now)), loaded \
      \(text(bytes: loaded.now)) (highest \(text(bytes: loaded.highest))), read again \
      \(text(bytes: refreshed.now)) (highest \(text(bytes: refreshed.highest)))
      """)
    withExtendedLifetime(observation) {}
  }

  /// Prints a line at once.
  private static func show(_ line: [String]?) {
    print(line?.joined(separator: "\t") ?? "")
    fflush(nil)
  }

  private static func median(_ times: [Double]) -> String {
    text(nanoseconds: times.sorted()[times.count / 2])
  }

  private static func ratio(_ value: Double) -> String { "\((value * 100).rounded() / 100)" }
}

extension Sequence {
  fileprivate func asyncMap<Value>(_ body: (Element) async throws -> Value) async throws -> [Value]
  {
    var values: [Value] = []
    for element in self { values.append(try await body(element)) }
    return values
  }
}
