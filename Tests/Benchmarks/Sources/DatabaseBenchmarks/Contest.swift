import Measuring

/// Measures several entries in turn. A slow moment of the machine then affects all of them.
struct Contest {
  /// A participant, with the work of one run.
  struct Entry {
    let name: String
    let run: () async throws -> Void
    /// The preparation of a turn, which is not measured.
    var prepare: () async throws -> Void = {}
  }

  let title: String
  let rounds: Int
  /// The number of runs in a turn. They are measured one by one, with warm caches.
  var repetitions = 1
  let entries: [Entry]

  /// Returns the lines of a table: the median, the lowest, and their ratios to the first entry.
  func results() async throws -> [[String]] {
    let clock = ContinuousClock()
    var times = entries.map { _ in [Double]() }
    // Round 0 is not counted.
    for round in 0...rounds {
      for turn in entries.indices {
        let index = (turn + round) % entries.count
        try await entries[index].prepare()
        for _ in 0..<repetitions {
          let start = clock.now
          try await entries[index].run()
          let (seconds, attoseconds) = start.duration(to: clock.now).components
          if round > 0 { times[index].append(Double(seconds) * 1e9 + Double(attoseconds) / 1e9) }
        }
      }
    }
    let medians = times.map { $0.sorted()[$0.count / 2] }
    let lowest = times.map { $0.min() ?? 0 }
    return entries.indices.map { index in
      [
        index == 0 ? title : "", text(nanoseconds: medians[index]),
        text(nanoseconds: lowest[index]), ratio(medians[index] / medians[0]),
        ratio(lowest[index] / lowest[0]), entries[index].name,
      ]
    }
  }

  private func ratio(_ value: Double) -> String {
    value < 10 ? "\((value * 100).rounded() / 100)" : "\(Int(value.rounded()))"
  }
}
