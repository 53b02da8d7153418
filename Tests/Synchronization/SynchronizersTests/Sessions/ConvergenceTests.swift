import DataSourceTesting
import Foundation
import Synchronizers
import TestSupport
import TestTags
import Testing

@Suite(.timeLimit(.minutes(60))) struct ConvergenceTests {
  private static let environment = ProcessInfo.processInfo.environment
  /// 170 seeds by default, 100,000 with `SWAPPABLE_LONG=1`, beginning with `SWAPPABLE_SEED`.
  private static let seeds: Range<UInt64> = {
    let first = TestRun.seed ?? 1
    return first..<first + (TestRun.isLong ? 100_000 : 170)
  }()

  @Test(.reaches(.changes, ConvergenceHistory.events))
  func `all clients converge and no one-sided edit is lost`() async throws {
    print("ConvergenceTests: seeds \(Self.seeds)")
    var callCount = 0
    for seed in Self.seeds {
      let history = ConvergenceHistory(seed: seed)
      do {
        try await history.run()
      } catch {
        Issue.record("seed \(seed): \(error)")
        return
      }
      callCount += await history.callCount
    }
    print("ConvergenceTests: \(callCount / 2) calls of remotes and stores")
  }

  @Test(arguments: [Weakness.forgetfulRemote, .forgetfulStore])
  func `the history detects a forgotten push`(weakness: Weakness) async throws {
    for seed in UInt64(1)...3_000 {
      do {
        try await ConvergenceHistory(seed: seed, weakness: weakness).run()
      } catch let divergence as Divergence {
        print("ConvergenceTests: \(weakness): \(divergence)")
        return
      }
    }
    Issue.record("3,000 histories have not found it")
  }
}
