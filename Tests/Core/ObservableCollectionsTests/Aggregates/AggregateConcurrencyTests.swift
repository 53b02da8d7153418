import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// Aggregates between threads.
@Suite(.tags(.concurrency)) struct AggregateConcurrencyTests {
  @Test(.reaches(.changes)) func `four threads edit while others create aggregates and join`()
    throws
  {
    let items = Items((0..<50).map { TestElement($0, $0 % 3) })
    let (problems, isOver) = (Log<String>([]), Shared(false))
    let total = items.live.sum { Double($0.content) }
    let count = items.live.count
    let edits = RecordingObserver(counting: items)
    let both = ReadOnlyProperty { inputs in
      Both(items: inputs.collection(items), total: inputs.property(total), problems: problems)
    }
    let editors = (0..<4).map { thread in
      Worker {
        var editor = RandomEditor(seed: UInt64(thread), size: 60, allowsDuplicates: false)
        for _ in 0..<150 {
          do { try editor.step(items) } catch { problems.append("\(error)") }
        }
      }
    }
    let readers = (0..<2).map { _ in
      Worker {
        while !isOver.value {
          let derived = items.filter { $0.content > 0 }
          let late = derived.live.sum(of: \.content)
          let first = Shared<Int?>(nil)
          let observation = late.observe { first.value = $0 }
          let least = items.live.min(by: \.content)
          if first.value == nil { problems.append("no first value") }
          _ = (least.value, count.value, both.value)
          observation.dispose()
        }
      }
    }
    for editor in editors { try editor.join() }
    isOver.value = true
    for reader in readers { try reader.join() }
    items.collection.flushAndWait()
    Coverage.note(edits)
    let snapshot = items.snapshot
    #expect(total.value == Double(snapshot.reduce(0) { $0 + $1.content }))
    #expect(count.value == snapshot.count)
    #expect(both.value == Int(total.value))
    #expect(problems.value == [])
  }
}

/// Compares a sum with the contents that it comes from.
private struct Both: PropertyOperator {
  let items: CollectionInput<TestElement>
  let total: PropertyInput<Double>
  let problems: Log<String>

  func start() -> Int { update() }

  func update() -> Int {
    let sum = items.snapshot.reduce(0) { $0 + $1.content }
    if Double(sum) != total.value { problems.append("the sum is \(total.value), not \(sum)") }
    return sum
  }
}
