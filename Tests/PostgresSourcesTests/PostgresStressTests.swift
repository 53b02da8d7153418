import PostgresSources
import TestSupport
import TestTags
import Testing

/// Random writes against random queries. `SWAPPABLE_SEED` repeats one run.
@Suite(.tags(.system), .requiresPostgres, .timeLimit(.minutes(60))) struct PostgresStressTests {
  private static let seeds: [UInt64] =
    if let seed = TestRun.seed {
      [seed]
    } else if TestRun.isLong {
      (0..<5).map { _ in UInt64.random(in: 0 ... .max) }
    } else {
      Array(1...3)
    }

  private static let steps = TestRun.isLong ? 10_000 : 150

  @Test(arguments: seeds)
  func `with polling, the result equals a fresh query`(seed: UInt64) async throws {
    print("seed \(seed), polling")
    let run = PostgresStressRun(seed: seed, hints: .polling)
    try await run.run(steps: Self.steps)
    print("seed \(seed), polling: \(run.step) steps, \(run.eventCount) events")
  }

  @Test(arguments: [PostgresStressRun.Hints.triggers, .wakeup])
  func `with change triggers, the result equals a fresh query`(
    hints: PostgresStressRun.Hints
  ) async throws {
    var keyedCount = 0
    for seed in Self.seeds {
      print("seed \(seed), \(hints)")
      let run = PostgresStressRun(seed: seed, hints: hints)
      try await run.run(steps: Self.steps)
      print(
        "seed \(seed), \(hints): \(run.step) steps, \(run.eventCount) events, "
          + "\(run.keyedCount) keyed refetches")
      keyedCount += run.keyedCount
    }
    #expect(keyedCount > 0)
  }

  @Test func `the stress finds writes that nothing reports`() async {
    await #expect(throws: PostgresStressRun.Mismatch.self) {
      try await PostgresStressRun(seed: 1, hints: .none, patience: .seconds(2)).run(steps: 10_000)
    }
  }
}
