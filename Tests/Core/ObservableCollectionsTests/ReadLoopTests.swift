import DataSourceTesting
import ObservableCollections
import SwappablePrimitives
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct ReadLoopTests {
  private struct Refusal: Error {}

  /// A place where reads wait until the test lets them end.
  private final class Reads: Sendable {
    private let (begun, beginning) = AsyncStream<Int>.makeStream()
    private let (ends, ending) = AsyncStream<Bool>.makeStream()
    private let count = Mutex(0)
    let canceled = Mutex(0)

    /// Reads: reports the beginning, and waits for `end`.
    func read() async throws {
      let number = count.withLock { count in
        count += 1
        return count
      }
      beginning.yield(number)
      for await isSuccess in ends {
        if !isSuccess { throw Refusal() }
        return
      }
      canceled.withLock { $0 += 1 }
      throw CancellationError()
    }

    func end(_ isSuccess: Bool = true) { ending.yield(isSuccess) }

    /// Waits for the beginning of the next read, and returns its number.
    func next() async -> Int? {
      for await number in begun { return number }
      return nil
    }
  }

  /// Advances the clock to the moment for which the loop waits, and returns the pause.
  private func pause(_ clock: ManualClock) async throws -> Duration {
    try await wait(for: "the loop to pause") { clock.nextDeadline != nil }
    let start = clock.now
    clock.advanceToNextDeadline()
    return start.duration(to: clock.now)
  }

  @Test func `a loop reads at once and then regularly`() async throws {
    let (clock, reads) = (ManualClock(), Reads())
    let loop = ReadLoop(every: .seconds(30), clock: clock) { try await reads.read() }
    var preparations = 0
    loop.request()
    loop.start { preparations += 1 }
    loop.start { preparations += 1 }
    #expect(preparations == 1)
    for number in 1...3 {
      #expect(await reads.next() == number)
      reads.end()
      #expect(try await pause(clock) == .seconds(30))
    }
    #expect(await reads.next() == 4)
  }

  @Test func `a loop without an interval reads when it is asked to`() async throws {
    let reads = Reads()
    let loop = ReadLoop(clock: ManualClock()) { try await reads.read() }
    loop.start()
    #expect(await reads.next() == 1)
    // All requests during a read lead to one more.
    for _ in 0..<5 { loop.request() }
    reads.end()
    #expect(await reads.next() == 2)
    reads.end()
    try await wait(for: "the requested read to begin") { !loop.isRequested }
    loop.request()
    #expect(await reads.next() == 3)
  }

  @Test func `failures are repeated after growing pauses, and a success resets them`() async throws
  {
    let (clock, reads) = (ManualClock(), Reads())
    let backoff = Backoff(first: .seconds(1), longest: .seconds(3))
    let loop = ReadLoop(every: .seconds(60), backoff: backoff, clock: clock) {
      try await reads.read()
    }
    loop.start()
    let script: [(isSuccess: Bool, pause: Int)] = [
      (false, 1), (false, 2), (false, 3), (false, 3), (true, 60), (false, 1), (true, 60),
    ]
    for (isSuccess, seconds) in script {
      _ = await reads.next()
      reads.end(isSuccess)
      #expect(try await pause(clock) == .seconds(seconds))
    }
  }

  @Test func `a request after a failure leads to a read before the pause is over`() async throws {
    let (clock, reads) = (ManualClock(), Reads())
    let loop = ReadLoop(backoff: Backoff(first: .seconds(9)), clock: clock) {
      try await reads.read()
    }
    loop.start()
    _ = await reads.next()
    reads.end(false)
    try await wait(for: "the loop to pause") { clock.nextDeadline != nil }
    loop.request()
    #expect(await reads.next() == 2)
  }

  @Test func `the release of a loop cancels its read`() async throws {
    let reads = Reads()
    var loop: ReadLoop? = ReadLoop(every: .seconds(1), clock: ManualClock()) {
      try await reads.read()
    }
    weak let weakLoop = loop
    loop?.start()
    _ = await reads.next()
    loop = nil
    try await wait(for: "a canceled read") { reads.canceled.withLock { $0 > 0 } }
    #expect(weakLoop == nil)
  }

  @Test func `a pause that ends during a later read does not keep the release from canceling it`()
    async throws
  {
    for _ in 0..<50 {
      let (clock, reads) = (ManualClock(), Reads())
      var loop: ReadLoop? = ReadLoop(every: .seconds(9), clock: clock) { try await reads.read() }
      loop?.start()
      _ = await reads.next()
      reads.end()
      try await wait(for: "the loop to pause") { clock.nextDeadline != nil }
      loop?.request()
      #expect(await reads.next() == 2)
      if clock.nextDeadline != nil { clock.advanceToNextDeadline() }
      // The queue of the loop may learn of the end of the pause now.
      for _ in 0..<20 { await Task.yield() }
      loop = nil
      try await wait(for: "a canceled read") { reads.canceled.withLock { $0 > 0 } }
    }
  }
}
