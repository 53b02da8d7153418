import DataSourceTesting
import ReactiveSignals
import SwappablePrimitives
import TestTags
import Testing

@Suite(.tags(.concurrency)) struct ManualClockTests {
  private let clock = ManualClock()

  @Test func `a clock does not advance by itself`() {
    #expect(clock.now == ManualClock.Instant(.zero))
    clock.advance(by: .milliseconds(1500))
    #expect(clock.now == ManualClock.Instant(.milliseconds(1500)))
  }

  @Test func `sleepers wake at their deadline and not before`() async throws {
    let woken = Locked(false)
    let sleeper = Task { [clock] in
      try await clock.sleep(for: .seconds(5))
      woken.withLock { $0 = true }
    }
    try await clock.waitForSleepers(1)
    clock.advance(by: .seconds(4))
    #expect(clock.sleeperCount == 1)
    #expect(!woken.withLock { $0 })
    clock.advance(by: .seconds(1))
    #expect(clock.sleeperCount == 0)
    try await sleeper.value
  }

  @Test func `the next deadline is the earliest one`() async throws {
    let clock = clock
    let tasks = [3, 1, 2].map { seconds in
      Task { try await clock.sleep(for: .seconds(seconds)) }
    }
    try await clock.waitForSleepers(3)
    for seconds in 1...3 {
      #expect(clock.advanceToNextDeadline() == ManualClock.Instant(.seconds(seconds)))
      #expect(clock.now == ManualClock.Instant(.seconds(seconds)))
      #expect(clock.sleeperCount == 3 - seconds)
    }
    #expect(clock.advanceToNextDeadline() == nil)
    for task in tasks { try await task.value }
  }

  @Test func `a task that sleeps again is woken at each deadline`() async throws {
    let clock = clock
    let task = Task {
      var moments: [ManualClock.Instant] = []
      for _ in 0..<3 {
        try await clock.sleep(for: .seconds(2))
        moments.append(clock.now)
      }
      return moments
    }
    for _ in 0..<3 {
      try await clock.waitForSleepers(1)
      clock.advanceToNextDeadline()
    }
    #expect(
      try await task.value == [2, 4, 6].map { ManualClock.Instant(.seconds($0)) })
  }

  @Test func `sleeping until a past time returns immediately`() async throws {
    clock.advance(by: .seconds(3))
    try await clock.sleep(until: ManualClock.Instant(.seconds(3)))
    #expect(clock.sleeperCount == 0)
  }

  @Test func `a canceled sleeper throws`() async throws {
    let sleeper = Task { [clock] in try await clock.sleep(for: .seconds(5)) }
    try await clock.waitForSleepers(1)
    sleeper.cancel()
    await #expect(throws: CancellationError.self) { try await sleeper.value }
    #expect(clock.sleeperCount == 0)
    let early = Task { [clock] in
      withUnsafeCurrentTask { $0?.cancel() }
      try await clock.sleep(for: .seconds(5))
    }
    await #expect(throws: CancellationError.self) { try await early.value }
  }
}
