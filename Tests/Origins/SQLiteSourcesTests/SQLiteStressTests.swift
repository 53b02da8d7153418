import DataSourceTesting
import TestSupport
import TestTags
import Testing

@testable import SQLiteSources

/// Random writes against random queries. `SWAPPABLE_SEED` repeats one run.
@Suite(.timeLimit(.minutes(60))) struct SQLiteStressTests {
  private static let seeds: [UInt64] =
    if let seed = TestRun.seed {
      [seed]
    } else if TestRun.isLong {
      (0..<8).map { _ in UInt64.random(in: 0 ... .max) }
    } else {
      Array(1...5)
    }

  /// The cases that all seeds reach together. A single seed need not reach them.
  private static let cases = seeds.count > 1 ? Coverage.Cases.changes : Coverage.Cases([])

  private func run(seed: UInt64, tracking: ChangeTracking, steps: Int) async throws {
    let run = StressRun(seed: seed, patience: .zero) { random in
      try SQLiteStressDatabase(tracking: tracking, &random)
    }
    try await run.run(steps: steps)
  }

  @Test(.reaches(cases), arguments: seeds)
  func `the result equals a fresh query`(seed: UInt64) async throws {
    print("seed \(seed)")
    try await run(seed: seed, tracking: ChangeTracking(), steps: TestRun.isLong ? 25_000 : 250)
  }

  @Test func `the stress finds rows that the update hook misses`() async {
    var tracking = ChangeTracking()
    tracking.collector = .updateHook
    await #expect(throws: StressMismatch.self) {
      try await run(seed: 1, tracking: tracking, steps: 10_000)
    }
  }

  @Test func `the stress finds commits that an unchecked version misses`() async {
    var tracking = ChangeTracking()
    tracking.checksDataVersion = false
    await #expect(throws: StressMismatch.self) {
      try await run(seed: 1, tracking: tracking, steps: 10_000)
    }
  }
}
