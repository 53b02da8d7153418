import Foundation
import Measuring
import PostgresSources
import Swappable

// Measures the processor time that readers without changes take from a server.

private let readerCount = 50

/// The duration of a measurement.
private let period = Duration.seconds(10)

/// The time after which sources without changes look least often.
private let backoff = Duration.seconds(12)

extension PostgresBenchmarks {
  /// Measures the server's processor time, also while a writer commits 20 times a second to a table that nobody reads.
  static func measureReaders() async throws {
    var lines = [
      [
        "processor time in a second", "writes only", "\(readerCount) readers only",
        "readers and writes",
      ]
    ]
    for triggers in Triggers.allCases {
      let server = try PostgresServer()
      guard server.processorTimes() != nil else {
        print("The system does not tell the processor time of a server, so this part is skipped.")
        return
      }
      let workplace = try await Workplace(server, rows: 1_000, triggers)
      try await workplace.makeTable("quiet", rows: 100)
      var times = [try await processorTime(of: server) { try await write(workplace) }]
      let sources = try (0..<readerCount).map { _ in
        try workplace.makeSource(sql: Item.sql(of: "quiet"))
      }
      let observations = sources.map { $0.observe { _ in } }
      for source in sources { _ = try await source.loaded() }
      try await Task.sleep(for: backoff)
      times.append(try await processorTime(of: server) { try await Task.sleep(for: period) })
      times.append(try await processorTime(of: server) { try await write(workplace) })
      withExtendedLifetime((sources, observations)) {}
      lines.append([triggers.rawValue] + times.map { text(nanoseconds: $0) })
      show(lines.last)
    }
    print("\n" + table(lines) + "\n")
  }

  /// Commits 20 times a second.
  private static func write(_ workplace: Workplace) async throws {
    let clock = ContinuousClock()
    let start = clock.now
    for number in 0..<Int(period.components.seconds) * 20 {
      try await clock.sleep(until: start.advanced(by: .milliseconds(number * 50)))
      try await workplace.connection.execute(
        "UPDATE item SET score = score + 1 WHERE id = $1", [number % 1_000 + 1])
    }
    try await clock.sleep(until: start.advanced(by: period))
  }

  /// Returns the processor time of a server during a closure, in nanoseconds for each second.
  private static func processorTime(
    of server: PostgresServer, _ body: () async throws -> Void
  ) async throws -> Double {
    let clock = ContinuousClock()
    let start = clock.now
    let before = server.processorTimes() ?? [:]
    try await body()
    let after = server.processorTimes() ?? [:]
    let sum = after.reduce(0) { $0 + $1.value - (before[$1.key] ?? 0) }
    return sum / start.duration(to: clock.now).nanoseconds * 1e9
  }
}

extension PostgresServer {
  /// Returns the processor time of each process of the server, in nanoseconds, or `nil` if the system does not tell it.
  ///
  /// The times in `/proc/*/stat` are multiples of 10 milliseconds, which is longer than a reader takes in a second.
  fileprivate func processorTimes() -> [String: Double]? {
    func words(_ path: String) -> [String] {
      ((try? String(contentsOfFile: path, encoding: .utf8)) ?? "")
        .split(whereSeparator: \.isWhitespace).map(String.init)
    }
    guard let parent = words("\(directory)/data/postmaster.pid").first else { return nil }
    let processes = [parent] + words("/proc/\(parent)/task/\(parent)/children")
    var times: [String: Double] = [:]
    for process in processes {
      times[process] = words("/proc/\(process)/schedstat").first.flatMap { Double($0) }
    }
    return times.count > 1 ? times : nil
  }
}
