import SQLiteSources
import TestSupport
import Testing

/// Random writes against random queries. `SWAPPABLE_SEED` repeats one run.
@Suite(.timeLimit(.minutes(60))) struct SQLiteStressTests {
  private static let seeds: [UInt64] =
    if let seed = TestRun.seed {
      [seed]
    } else if TestRun.isLong {
      (0..<8).map { _ in UInt64.random(in: 0 ... .max) }
    } else {
      Array(1...8)
    }

  @Test(arguments: seeds)
  func `the result equals a fresh query`(seed: UInt64) async throws {
    print("seed \(seed)")
    try await SQLiteStressRun(seed: seed).run(steps: TestRun.isLong ? 25_000 : 250)
  }

  /// Returns the mismatch that a weaker way to collect writes leads to.
  private func mismatch(_ tracking: ChangeTracking) async -> SQLiteStressRun.Mismatch? {
    await #expect(throws: SQLiteStressRun.Mismatch.self) {
      try await SQLiteStressRun(seed: 1, tracking: tracking).run(steps: 10_000)
    }
  }

  @Test func `the stress finds rows that the update hook misses`() async {
    var tracking = ChangeTracking()
    tracking.collector = .updateHook
    _ = await mismatch(tracking)
  }

  @Test func `the stress finds commits that an unchecked version misses`() async {
    var tracking = ChangeTracking()
    tracking.checksDataVersion = false
    _ = await mismatch(tracking)
  }
}
