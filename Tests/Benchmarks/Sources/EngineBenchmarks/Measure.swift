/// One thing to measure.
struct Benchmark {
  let name: String
  /// The figure of the engine's prototype, as text; empty where it has none.
  let prototype: String
  /// How many operations one run does; figures are per operation.
  let operations: Int
  /// Prepares a run, unmeasured, and returns what is measured.
  let prepare: () -> () -> Void

  init(
    _ name: String, prototype: String = "", operations: Int = 1,
    prepare: @escaping () -> () -> Void
  ) {
    self.name = name
    self.prototype = prototype
    self.operations = operations
    self.prepare = prepare
  }
}

/// Runs benchmarks in turn, again and again, so that a slow moment of the machine meets all of them.
///
/// - Returns: For each benchmark the median and the lowest duration of one operation, in nanoseconds.
func measure(_ benchmarks: [Benchmark], rounds: Int) -> [(median: Double, lowest: Double)] {
  let clock = ContinuousClock()
  var times = Array(repeating: [Double](), count: benchmarks.count)
  for _ in 0..<rounds {
    for (index, benchmark) in benchmarks.enumerated() {
      let run = benchmark.prepare()
      let duration = clock.measure(run)
      let (seconds, attoseconds) = duration.components
      let nanoseconds = Double(seconds) * 1e9 + Double(attoseconds) / 1e9
      times[index].append(nanoseconds / Double(benchmark.operations))
    }
  }
  return times.map { times in
    let sorted = times.sorted()
    return (sorted[sorted.count / 2], sorted[0])
  }
}

/// Writes a duration as a person would.
func text(nanoseconds: Double) -> String {
  let (value, unit) =
    switch nanoseconds {
    case ..<1e3: (nanoseconds, "ns")
    case ..<1e6: (nanoseconds / 1e3, "µs")
    case ..<1e9: (nanoseconds / 1e6, "ms")
    default: (nanoseconds / 1e9, "s")
    }
  let rounded = value < 10 ? (value * 100).rounded() / 100 : value.rounded()
  return "\(rounded < 10 ? "\(rounded)" : "\(Int(rounded))") \(unit)"
}
