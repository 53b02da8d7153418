import DataSourceTesting
import ReactiveSignals
@testable import Synchronizers
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct RetryPolicyTests {
  private func pauses(_ policy: RetryPolicy, _ count: Int) -> [Duration] {
    (0..<count).map { policy.pause(before: $0) }
  }

  @Test func `pauses grow up to the longest pause`() {
    let policy = RetryPolicy(
      retries: 9, firstPause: .seconds(1), factor: 3, longestPause: .seconds(20))
    #expect(
      pauses(policy, 5) == [.seconds(1), .seconds(3), .seconds(9), .seconds(20), .seconds(20)])
    #expect(policy.pause(before: .max) == .seconds(20))
  }

  @Test func `the default doubles from half a second to a minute`() {
    let policy = RetryPolicy(retries: 5)
    #expect(
      pauses(policy, 5)
        == [.milliseconds(500), .seconds(1), .seconds(2), .seconds(4), .seconds(8)])
    #expect(policy.pause(before: 7) == .seconds(60))
  }

  @Test func `a factor of one keeps the pause`() {
    let constant = RetryPolicy(retries: 9, firstPause: .seconds(2), factor: 1)
    #expect(constant.pause(before: .max) == .seconds(2))
    let none = RetryPolicy(retries: 9, firstPause: .zero)
    #expect(none.pause(before: .max) == .zero)
    let long = RetryPolicy(retries: 1, firstPause: .seconds(9), longestPause: .seconds(5))
    #expect(long.pause(before: 0) == .seconds(5))
  }

  @Test func `a huge factor does not overflow`() {
    let policy = RetryPolicy(retries: 9, firstPause: .seconds(1), factor: 1e300)
    #expect(pauses(policy, 4) == [.seconds(1)] + Array(repeating: .seconds(60), count: 3))
  }

  @Test func `the jitter randomizes its part of a pause`() {
    let policy = RetryPolicy(retries: 9, firstPause: .seconds(4), jitter: 0.25)
    let pauses = (0..<200).map { _ in policy.pause(before: 0) }
    #expect(pauses.allSatisfy { $0 >= .seconds(3) && $0 <= .seconds(4) })
    #expect(Set(pauses).count > 1)
  }

  @Test func `invalid values trap`() async {
    await #expect(processExitsWith: .failure) { _ = RetryPolicy(retries: -1) }
    await #expect(processExitsWith: .failure) { _ = RetryPolicy(retries: 1, factor: 0.5) }
    await #expect(processExitsWith: .failure) { _ = RetryPolicy(retries: 1, jitter: 2) }
    await #expect(processExitsWith: .failure) {
      _ = RetryPolicy(retries: 1, firstPause: .seconds(-1))
    }
  }

  @Test func `an operation succeeds after retries or throws the last error`() async throws {
    struct Numbered: Error, Equatable { let number: Int }
    let clock = ManualClock()
    for successAt in 1...4 {
      let count = Shared(0)
      let running = Task {
        try await RetryPolicy(retries: 2).run(by: clock) {
          let number = count.modify { count in
            count += 1
            return count
          }
          if number < successAt { throw Numbered(number: number) }
          return number
        }
      }
      for _ in 0..<min(successAt - 1, 2) {
        try await clock.waitForSleepers(1)
        clock.advanceToNextDeadline()
      }
      if successAt <= 3 {
        #expect(try await running.value == successAt)
      } else {
        await #expect(throws: Numbered(number: 3)) { try await running.value }
      }
    }
  }

  @Test func `a policy without retries performs an operation once`() async {
    let count = Shared(0)
    await #expect(throws: Refusal.self) {
      try await RetryPolicy.never.run(by: ManualClock()) {
        count.modify { $0 += 1 }
        throw Refusal()
      }
    }
    #expect(count.value == 1)
  }

  @Test func `an error after cancellation is thrown unchanged`() async throws {
    let held = Gate()
    let running = Task {
      try await RetryPolicy(retries: 3).run(by: ManualClock()) {
        await held.pass()
        throw Refusal()
      }
    }
    await held.waitForArrivals()
    running.cancel()
    held.open()
    await #expect(throws: Refusal.self) { try await running.value }
  }

  @Test func `a cancellation error is not retried`() async throws {
    let clock = ManualClock()
    await #expect(throws: CancellationError.self) {
      try await RetryPolicy(retries: 3).run(by: clock) { throw CancellationError() }
    }
    let running = Task { try await RetryPolicy(retries: 3).run(by: clock) { throw Refusal() } }
    try await clock.waitForSleepers(1)
    running.cancel()
    await #expect(throws: CancellationError.self) { try await running.value }
    #expect(clock.now.offset == .zero)
  }
}
