import AllocationMeter
import Foundation

/// A closure to measure beside others.
package struct Contestant {
  package let name: String
  /// Runs it once, and returns a number that depends on the result, so the compiler cannot remove the work.
  package let run: () -> Int

  /// Creates a contestant.
  package init(name: String, run: @escaping () -> Int) {
    (self.name, self.run) = (name, run)
  }
}

/// The preparation before a run.
package enum Temperature {
  /// The same closure has run just before. Runs are timed together for some milliseconds. Freed memory stays in the
  /// process.
  case warm
  /// A block larger than the caches is written, and all freed memory is returned to the system. Elements come from
  /// main memory, and scratch memory causes page faults.
  case cold
}

/// Runs contestants in turn, many times, so a slow moment of the machine affects all of them.
///
/// - Returns: The median of one run of each, in nanoseconds.
package func medians(of contestants: [Contestant], _ temperature: Temperature) -> [Double] {
  let runCounts = contestants.map { contestant in
    let estimate = time { contestant.run() }
    return temperature == .cold ? 1 : Swift.max(1, Swift.min(20_000, Int(4e6 / estimate)))
  }
  var times = contestants.map { _ in [Double]() }
  for round in 0..<21 {
    for turn in contestants.indices {
      // Vary the order of the contestants.
      let index = (turn + round) % contestants.count
      // Slow contestants need fewer rounds, because their length evens out disturbances.
      let spent = times[index].reduce(0, +) * Double(runCounts[index])
      if round >= 3 && spent > 2e9 { continue }
      switch temperature {
      case .warm: if runCounts[index] > 1 { keep(contestants[index].run()) }
      case .cold: chill()
      }
      let duration = time {
        var sum = 0
        for _ in 0..<runCounts[index] { sum &+= contestants[index].run() }
        return sum
      }
      times[index].append(duration / Double(runCounts[index]))
    }
  }
  return times.map { $0.sorted()[$0.count / 2] }
}

/// Returns the processor time of a closure, in nanoseconds. It depends less on other programs than the time on the
/// clock.
private func time(_ body: () -> Int) -> Double {
  var start = timespec()
  var end = timespec()
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start)
  keep(body())
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end)
  return Double(end.tv_sec - start.tv_sec) * 1e9 + Double(end.tv_nsec - start.tv_nsec)
}

@inline(never)
private func keep(_ result: Int) {}

private func chill() {
  let size = 64 << 20
  let block = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
  memset(block, Int32.random(in: 1...100), size)
  block.deallocate()
  allocator_return_freed_memory()
}

/// Returns the largest number of bytes that were allocated at once by a closure.
package func peakBytes<Result>(_ make: () -> Result) -> Int {
  allocation_meter_start()
  let result = make()
  return withExtendedLifetime(result) { Int(allocation_meter_stop()) }
}
