import DataSourceTesting
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

  /// The cases that all seeds reach together. A single seed need not reach them.
  private static let cases = seeds.count > 1 ? Coverage.Cases.changes : Coverage.Cases([])

  private static let steps = TestRun.isLong ? 10_000 : 150

  /// Runs some steps, and returns the number of reads of changed keys only.
  private func run(
    seed: UInt64, _ hints: PostgresStressDatabase.Hints, patience: Duration = .seconds(120),
    steps: Int = steps
  ) async throws -> Int {
    print("seed \(seed), \(hints)")
    let keyedCount = Shared(0)
    let run = StressRun(seed: seed, patience: patience) { random in
      try await PostgresStressDatabase(hints: hints, keyedCount: keyedCount, &random)
    }
    try await run.run(steps: steps)
    print(
      "seed \(seed), \(hints): \(run.step) steps, \(run.eventCount) events, "
        + "\(keyedCount.value) keyed refetches")
    return keyedCount.value
  }

  @Test(.reaches(cases), arguments: seeds)
  func `with polling, the result equals a fresh query`(seed: UInt64) async throws {
    _ = try await run(seed: seed, .polling)
  }

  @Test(.reaches(cases), arguments: [PostgresStressDatabase.Hints.triggers, .notifications])
  func `with change triggers, the result equals a fresh query`(
    hints: PostgresStressDatabase.Hints
  ) async throws {
    var keyedCount = 0
    for seed in Self.seeds { keyedCount += try await run(seed: seed, hints) }
    #expect(keyedCount > 0)
  }

  @Test func `the stress finds writes that nothing reports`() async {
    await #expect(throws: StressMismatch.self) {
      _ = try await run(seed: 1, .none, patience: .seconds(2), steps: 10_000)
    }
  }
}
