import AllocationMeter
import Foundation

/// Something to measure beside others.
package struct Contestant {
  package let name: String
  /// Does it once, and returns a figure of the result, so that it cannot be left out.
  package let run: () -> Int

  /// Makes a contestant.
  package init(name: String, run: @escaping () -> Int) {
    (self.name, self.run) = (name, run)
  }
}

/// What is done before a run.
package enum Temperature {
  /// The same has run just before, and as many runs as take some milliseconds are timed together. Freed
  /// memory stays in the process.
  case warm
  /// A block larger than the caches is written, and all freed memory given back: elements come from
  /// main memory, scratch is faulted in.
  case cold
}

/// Runs contestants in turn, again and again, so that a slow moment of the machine meets all of them.
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
      // Not always after the same one.
      let index = (turn + round) % contestants.count
      // The slow ones need fewer rounds: their own length evens out what disturbs.
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

/// The processor time that something takes, in nanoseconds: what else runs on the machine counts less
/// than by the clock on the wall.
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

/// The most bytes that were allocated at once while something was made, itself included.
package func peakBytes<Result>(_ make: () -> Result) -> Int {
  allocation_meter_start()
  let result = make()
  return withExtendedLifetime(result) { Int(allocation_meter_stop()) }
}
