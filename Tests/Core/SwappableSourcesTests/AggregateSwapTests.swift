import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import SwappableSources
import TestSupport
import TestTags
import Testing

/// Aggregates of a container, whose source is swapped.
@Suite struct AggregateSwapTests {
  @Test func `a swap sends at most one value`() {
    let container = Container(Source([1, 2, TestElement(3, 4)]))
    let log = Log<String>([])
    let observations = [
      container.live.count.observe { log.append("count \($0)") },
      container.live.sum(of: \.content).observe { log.append("sum \($0)") },
      container.live.max(by: \.id).observe { log.append("max \($0?.description ?? "nil")") },
    ]
    #expect(log.exchange([]) == ["count 3", "sum 4", "max 3.4"])
    container.swap(to: Source([TestElement(3, 4), 2, TestElement(1, 0)]))
    #expect(log.exchange([]) == [])
    container.swap(to: Source([TestElement(3, 5)]))
    #expect(log.exchange([]) == ["count 1", "sum 5", "max 3.5"])
    container.swap(to: Source())
    #expect(log.exchange([]) == ["count 0", "sum 0", "max nil"])
    withExtendedLifetime(observations) {}
  }

  @Test(.reaches(.changes)) func `random swaps and edits keep the sum exact`() throws {
    for seed in UInt64(0)..<10 {
      var editor = RandomEditor<TestElement>(seed: seed, size: 30)
      let sources = [Source([1, 2]), Source([])]
      let container = Container(sources[0])
      let changes = RecordingObserver(counting: container)
      let sum = container.live.sum { Double($0.content) * 0.1 }
      let names = container.live.aggregate(empty: "", value: \.description) { $0 + $1 }
      for _ in 0..<60 {
        if editor.random.oneIn(3) {
          container.swap(to: sources[editor.random.below(2)])
        } else {
          try editor.step(sources[editor.random.below(2)])
        }
        #expect(names.value == container.snapshot.map(\.description).joined(), "seed \(seed)")
        let fresh = container.live.sum { Double($0.content) * 0.1 }
        #expect(sum.value.bitPattern == fresh.value.bitPattern, "seed \(seed)")
      }
      Coverage.note(changes)
    }
  }
}
