import Foundation
import Measuring
import PostgresSources
import Swappable

// Measures live queries of a PostgreSQL server, which the program starts in a temporary directory:
//
//     swift run -c release --package-path Tests/Benchmarks PostgresBenchmarks [PART]…

@main
struct PostgresBenchmarks {
  /// The parts, in the order in which they run without arguments.
  private static let parts: [(name: String, run: @Sendable () async throws -> Void)] = [
    ("arrival", measureArrival), ("writers", measureWriters), ("pgbench", measurePgbench),
    ("transaction", measureTransactions), ("statement", measureStatements),
    ("readers", measureReaders), ("load", measureLoads), ("memory", measureMemory),
  ]

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
    let names = parts.map(\.name)
    if let unknown = arguments.first(where: { !names.contains($0) }) {
      print("The argument must be one of \(names.joined(separator: ", ")), but is \(unknown).")
      exit(1)
    }
    for part in parts where arguments.isEmpty || arguments.contains(part.name) {
      try await part.run()
    }
  }

  // MARK: Commit to observer

  /// Measures from the sending of an UPDATE, and from the answer to it, to the call of an observer.
  static func measureArrival() async throws {
    let server = try PostgresServer()
    var lines = [["", "median", "lowest", "median after the commit", "way"]]
    for (rows, count) in [(1_000, 51), (100_000, 31)] {
      for triggers in Triggers.allCases {
        let workplace = try await Workplace(server, rows: rows, triggers)
        let source = try workplace.makeSource()
        let arrivals = Arrivals(source)
        try await source.loaded()
        let clock = ContinuousClock()
        var (times, afterCommit) = ([Double](), [Double]())
        for score in 1...count {
          // The source may rest after a read. Writes in quick succession would wait for it.
          // Vary the time between the write and the next look of the source.
          let rest = triggers == .none ? rows / 200 : 20
          try await Task.sleep(for: .milliseconds(rest + Int.random(in: 0..<triggers.interval)))
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
  static func show(_ line: [String]?) {
    print(line?.joined(separator: "\t") ?? "")
    fflush(nil)
  }

  private static func median(_ times: [Double]) -> String {
    text(nanoseconds: times.sorted()[times.count / 2])
  }
}
