import DataSourceTesting
import Dispatch
import SwappablePrimitives
import TestSupport
import TestTags
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(10)))
struct BlockingThreadsTests {
  /// Threads to which no thread is added, because their clock stands still.
  private func threads(width: Int = 4, limit: Int = .max) -> BlockingThreads {
    BlockingThreads(width: width, limit: limit, clock: AnyClock(ManualClock()))
  }

  private func run(
    on threads: BlockingThreads, _ body: @escaping @Sendable () -> Void
  ) {
    Task.detached(executorPreference: threads) { body() }
  }

  @Test func `all tasks run, at most four at a time`() {
    let threads = threads()
    let (inside, most) = (Shared(0), Shared(0))
    let done = DispatchSemaphore(value: 0)
    for _ in 0..<1_000 {
      run(on: threads) {
        let now = inside.modify { count in
          count += 1
          return count
        }
        most.modify { $0 = max($0, now) }
        inside.modify { $0 -= 1 }
        done.signal()
      }
    }
    for _ in 0..<1_000 { #expect(done.wait(timeout: .now() + 50) == .success) }
    #expect((1...4).contains(most.value))
  }

  @Test func `tasks that wait for other tasks do not block them`() {
    let threads = BlockingThreads(width: 4, limit: .max, patience: .milliseconds(5))
    let arrived = DispatchSemaphore(value: 0)
    let gate = Signpost()
    for _ in 0..<64 {
      run(on: threads) {
        arrived.signal()
        gate.pass()
      }
    }
    for _ in 0..<64 { #expect(arrived.wait(timeout: .now() + 50) == .success) }
    gate.open()
  }

  @Test func `no more tasks than the limit run at the same time`() async throws {
    let clock = ManualClock()
    let threads = BlockingThreads(width: 2, limit: 3, clock: AnyClock(clock))
    let (arrived, done) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let inside = Shared(0)
    let gate = Signpost()
    for _ in 0..<8 {
      run(on: threads) {
        inside.modify { $0 += 1 }
        arrived.signal()
        gate.pass()
        done.signal()
      }
    }
    // The timer fires again and again while no task ends.
    for _ in 0..<8 {
      try await wait(for: "the timer") { clock.nextDeadline != nil }
      clock.advanceToNextDeadline()
    }
    for _ in 0..<3 { #expect(arrived.wait(timeout: .now() + 50) == .success) }
    try await wait(for: "the timer") { clock.nextDeadline != nil }
    #expect(inside.value == 3)
    gate.open()
    for _ in 0..<8 { #expect(done.wait(timeout: .now() + 50) == .success) }
  }

  @Test func `a task that is blocked is replaced, although others end`() async throws {
    let clock = ManualClock()
    let threads = BlockingThreads(width: 2, limit: 10, clock: AnyClock(clock))
    let (arrived, gates) = (DispatchSemaphore(value: 0), (0..<4).map { _ in Signpost() })
    for gate in gates {
      run(on: threads) {
        arrived.signal()
        gate.pass()
      }
    }
    // The second one ends, so the third one begins, and the fourth one takes the place of the first one.
    gates[1].open()
    for _ in 0..<3 { #expect(arrived.wait(timeout: .now() + 50) == .success) }
    try await wait(for: "the timer") { clock.nextDeadline != nil }
    clock.advanceToNextDeadline()
    #expect(arrived.wait(timeout: .now() + 50) == .success)
    for gate in gates { gate.open() }
  }

  @Test func `a task is released after its run`() async throws {
    let threads = threads()
    weak var weakToken: Token?
    do {
      let token = Token()
      weakToken = token
      await Task.detached(executorPreference: threads) { withExtendedLifetime(token) {} }.value
    }
    try await wait(for: "the release") { weakToken == nil }
  }
}
