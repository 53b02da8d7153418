import Foundation
import Measuring
import PostgresSources

// Measures the cost of change triggers for programs that write. Nobody reads the records.

/// The number of turns of each database. The results are medians.
private let rounds = 5

/// The duration of a turn in which writers make as many transactions as they can.
private let turn = Duration.seconds(3)

private let update = "UPDATE item SET score = score + 1 WHERE id ="

/// The server's settings for the two kinds of commits.
private let commits = [
  ("fsync off", [String]()), ("fsync on", ["fsync = on", "synchronous_commit = on"]),
]

/// The numbers of simultaneous writers.
private let writerCounts = [1, 4, 16]

extension PostgresBenchmarks {
  /// Measures writers that have a connection each, in this process.
  static func measureWriters() async throws {
    var lines = [titles("transactions a second")]
    for (title, configuration) in commits {
      let server = try PostgresServer(configuration: configuration)
      let workplaces = try await Workplace.forAllTriggers(server)
      for count in writerCounts {
        var connections: [[PostgresConnection]] = []
        for workplace in workplaces {
          let writers = try (0..<count).map { _ in
            try PostgresConnection(workplace.connectionString)
          }
          for writer in writers { try await writer.execute("SELECT 1") }
          connections.append(writers)
        }
        let rates = try await medians(of: workplaces) { try await transactionRate(connections[$0]) }
        lines.append(["\(title), writers: \(count)"] + rateCells(rates))
        show(lines.last)
      }
    }
    print("\n" + table(lines) + "\n")
  }

  /// Returns the number of transactions a second.
  private static func transactionRate(_ writers: [PostgresConnection]) async throws -> Double {
    let clock = ContinuousClock()
    let start = clock.now
    let count = try await withThrowingTaskGroup(of: Int.self) { group in
      for writer in writers {
        group.addTask {
          var count = 0
          while start.duration(to: clock.now) < turn {
            try await writer.execute("\(update) $1", [Int.random(in: 1...100_000)])
            count += 1
          }
          return count
        }
      }
      return try await group.reduce(0, +)
    }
    return Double(count) / start.duration(to: clock.now).nanoseconds * 1e9
  }

  /// Measures writers of the program `pgbench`, which takes less processor time from the server.
  static func measurePgbench() async throws {
    guard let pgbench = PostgresServer.programs.map({ "\($0)/pgbench" }),
      FileManager.default.isExecutableFile(atPath: pgbench)
    else {
      print("The program pgbench is missing, so this part is skipped.")
      return
    }
    var lines = [titles("transactions a second, pgbench")]
    for (title, configuration) in commits {
      let server = try PostgresServer(configuration: configuration)
      let workplaces = try await Workplace.forAllTriggers(server)
      let script = "\(server.directory)/update.sql"
      try "\\set id random(1, 100000)\n\(update) :id;\n"
        .write(toFile: script, atomically: false, encoding: .utf8)
      for protocolName in ["simple", "extended"] {
        for count in writerCounts {
          let rates = try await medians(of: workplaces) { index in
            let output = try run(
              pgbench,
              [
                "-n", "-M", protocolName, "-c", "\(count)", "-j", "\(min(count, 2))",
                "-T", "\(turn.components.seconds)", "-f", script,
                workplaces[index].connectionString,
              ])
            let line = output.split(separator: "\n").first { $0.hasPrefix("tps = ") }
            guard let rate = line?.split(separator: " ").dropFirst(2).first.flatMap({ Double($0) })
            else { throw PostgresServer.Failed(description: "pgbench printed no tps: \(output)") }
            return rate
          }
          lines.append(["\(title), \(protocolName), writers: \(count)"] + rateCells(rates))
          show(lines.last)
        }
      }
    }
    print("\n" + table(lines) + "\n")
  }

  /// Runs a program, and returns its standard output.
  private static func run(_ path: String, _ arguments: [String]) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = arguments
    let output = Pipe()
    process.standardOutput = output
    // A program inherits the blocked signals of this thread. The time limit of `pgbench` needs SIGALRM.
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGALRM)
    pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    try process.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return String(decoding: data, as: UTF8.self)
  }

  /// Measures one transaction of 10,000 statements that update one row each.
  static func measureTransactions() async throws {
    try await measureTime(of: "10,000 statements of one row, one transaction") { connection in
      try await connection.transaction {
        for _ in 0..<10_000 {
          try await connection.execute("\(update) $1", [Int.random(in: 1...100_000)])
        }
      }
    }
  }

  /// Measures one statement that updates all rows.
  static func measureStatements() async throws {
    try await measureTime(of: "one statement, 100,000 rows") { connection in
      try await connection.execute("UPDATE item SET score = score + 1")
    }
  }

  private static func measureTime(
    of title: String, _ body: (PostgresConnection) async throws -> Void
  ) async throws {
    let server = try PostgresServer()
    let workplaces = try await Workplace.forAllTriggers(server)
    let times = try await medians(of: workplaces) { index in
      let clock = ContinuousClock()
      let start = clock.now
      try await body(workplaces[index].connection)
      return start.duration(to: clock.now).nanoseconds
    }
    let cells = times.map { "\(text(nanoseconds: $0)) (×\(($0 / times[0] * 100).rounded() / 100))" }
    print("\n" + table([titles("time"), [title] + cells]) + "\n")
  }

  // MARK: Turns

  /// Runs a closure on each database in turn. The order of the databases rotates.
  ///
  /// - Parameter run: A closure that takes the index of a database, and returns a measured value.
  /// - Returns: The median value of each database.
  private static func medians(
    of workplaces: [Workplace], _ run: (Int) async throws -> Double
  ) async throws -> [Double] {
    var values = workplaces.map { _ in [Double]() }
    for round in 0..<rounds {
      for turn in workplaces.indices {
        let index = (turn + round) % workplaces.count
        // Each turn begins with the same number of dead rows.
        try await workplaces[index].connection.execute("VACUUM")
        values[index].append(try await run(index))
      }
    }
    return values.map { $0.sorted()[$0.count / 2] }
  }

  private static func titles(_ unit: String) -> [String] {
    [unit] + Triggers.allCases.map(\.rawValue)
  }

  /// Formats rates, with their percentages of the first one.
  private static func rateCells(_ rates: [Double]) -> [String] {
    rates.map { "\(Int($0.rounded())) (\(Int(($0 / rates[0] * 100).rounded())) %)" }
  }
}
