/// One benchmark.
struct Benchmark {
  let name: String
  /// The time of the engine's prototype, as text, or an empty string.
  let prototype: String
  /// The number of operations of one run. Times are per operation.
  let operations: Int
  /// Prepares a run, which is not measured, and returns the closure to measure.
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

/// Runs benchmarks in turn, many times, so a slow moment of the machine affects all of them.
///
/// - Returns: The median and the lowest duration of one operation of each benchmark, in nanoseconds.
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
