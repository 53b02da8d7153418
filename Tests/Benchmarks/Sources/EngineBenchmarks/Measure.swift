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
