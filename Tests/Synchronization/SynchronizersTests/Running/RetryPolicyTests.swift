import DataSourceTesting
import ReactiveSignals
@testable import Synchronizers
import TestSupport
import TestTags
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(10))) struct RetryPolicyTests {
  @Test func `a negative number of retries traps`() async {
    await #expect(processExitsWith: .failure) { _ = RetryPolicy(retries: -1) }
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
