import Foundation

/// The time that an operation takes.
struct Cost {
  /// The elapsed time in nanoseconds.
  var wall: Double
  /// The time of all processors in nanoseconds.
  var processor: Double

  /// Measures a synchronous operation.
  static func measure(_ body: () -> Void) -> Cost {
    let start = Cost(wall: time(CLOCK_MONOTONIC), processor: time(CLOCK_PROCESS_CPUTIME_ID))
    body()
    return Cost(
      wall: time(CLOCK_MONOTONIC) - start.wall,
      processor: time(CLOCK_PROCESS_CPUTIME_ID) - start.processor)
  }

  private static func time(_ clock: clockid_t) -> Double {
    var time = timespec()
    clock_gettime(clock, &time)
    return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
  }
}

extension [Cost] {
  /// Returns the medians of both times.
  var median: Cost {
    func middle(_ values: [Double]) -> Double { values.sorted()[count / 2] }
    return Cost(wall: middle(map(\.wall)), processor: middle(map(\.processor)))
  }
}
