import DataSourceTesting
import Diffing
@testable import ObservableCollections
import ReactiveSignals
import TestSupport
import Testing

/// Rule O7 for selections, properties of elements, totals, work for elements, and joins that keep one side: what one change
/// costs, counted in short and in long lists.
@Suite(.timeLimit(.minutes(10))) struct EverydayCostTests {
  static let sizes = OperatorCostTests.sizes

  private static func items(_ size: Int) -> Items {
    Items((0..<size).map { TestElement($0, $0 % 10) })
  }

  /// Edits a list in each way, and returns the most calls of one edit.
  private func mostCalls(_ calls: Shared<Int>, of items: Items) -> Int {
    let middle = items.count / 2
    let edits: [() -> Void] = [
      { items[middle] = TestElement(middle, 7) }, { items.insert(TestElement(-1, 6), at: middle) },
      { items.remove(at: middle + 1) }, { items.move(from: middle, to: 3) },
    ]
    return edits.map { edit in
      calls.value = 0
      edit()
      return calls.value
    }.max() ?? 0
  }

  @Test(arguments: sizes) func `each closure runs only for the element that changes`(size: Int) {
    let calls = Shared(0)
    let (items, level, few) = (Self.items(size), Property(0), Items([TestElement(3, 0)]))
    @Sendable func key(_ element: TestElement) -> Int? {
      calls.modify { $0 += 1 }
      return element.content
    }
    let outputs: [LiveCollection<TestElement>] = [
      items.semiJoined(with: few, on: key), items.antiJoined(with: few, on: key),
      items.fullJoined(with: few, on: key, equals: \.id).map { $0.left ?? TestElement(-1, 0) },
      items.map(each: { key($0) == nil ? level : level }) { element, _ in element },
      items.filter(byEach: { element in level.map { _ in key(element) != nil } }),
      items.sorted(byEach: { key($0) == nil ? level : level }),
    ]
    // The property of a filter is made for its element, so its transform runs, too.
    #expect(mostCalls(calls, of: items) <= 2 * outputs.count)
    calls.value = 0
    few.append(TestElement(4, 0))
    #expect(calls.value == 0)
  }

  @Test(arguments: sizes) func `each operator edits only what changes`(size: Int) {
    let (items, levels) = (Self.items(size), (0..<10).map { Property($0) })
    let selection = items.selection()
    selection.selectAll { $0.content > 4 }
    let outputs: [LiveCollection<TestElement>] = [
      items.semiJoined(with: Items([TestElement(3, 0)]), on: \.content),
      items.antiJoined(with: Items([TestElement(3, 0)]), on: \.content),
      items.map(withPrevious: { TestElement($0.id, $1?.id ?? -1) }), selection.selected,
      selection.unselected, items.paused(while: Property(false)),
      items.map(each: { levels[$0.content] }) { TestElement($0.id, $1) },
      items.filter(byEach: { levels[$0.content].map { $0 > 4 } }),
      items.sorted(byEach: { levels[$0.content] }),
      items.aggregated(by: \.content) { group in
        group.live.count.map { TestElement(group.key, $0) }
      },
    ]
    let largest = Shared(0)
    let observations = outputs.map { output in
      output.observe { event in
        if case .change(let change) = event {
          largest.modify { $0 = max($0, change.changeset.changeCount) }
        }
      }
    }
    let (domain, before) = (items.collection.node.domain, items.collection.node.domain.visits)
    items[size / 3] = TestElement(size / 3, 8)
    items.insert(TestElement(-1, 9), at: size / 3)
    items.remove(at: size / 3 + 5)
    items.move(from: size / 3, to: size / 3 + 7)
    // A moved element, its update, and those of the elements after both places.
    #expect(largest.value <= 4)
    // Two joins; one list with the one before; the marks, and the two parts of a selection; the pause; the groups, of
    // which two have a total that changes, and their rows. Properties of elements have domains of their own.
    #expect(domain.visits - before <= 4 * 12)
    for observation in observations { observation.dispose() }
  }

  @Test(arguments: sizes) func `a request to a selection costs what it changes`(size: Int) {
    let items = Self.items(size)
    let selection = items.selection()
    let events = RecordingObserver(selection.selected)
    let (domain, before) = (items.collection.node.domain, items.collection.node.domain.visits)
    for number in 1...1_000 { selection.toggle(number % 700) }
    // The requests that were carried out are not kept.
    #expect(domain.visits - before == 2_000 && events.changes.count == 1_000)
    #expect(events.changes.allSatisfy { $0.changeset.changeCount == 1 })
    #expect(selection.requests.keptCount == 0)
  }

  @Test(arguments: sizes) func `a property of an element changes its row only`(size: Int) {
    let items = Self.items(size)
    let levels = (0..<size).map { Property($0) }
    let calls = Shared(0)
    let rows = items.map(each: { levels[max(0, $0.id)] }) { element, level in
      calls.modify { $0 += 1 }
      return TestElement(element.id, level)
    }
    let events = RecordingObserver(rows)
    calls.value = 0
    levels[size / 2].value = -1
    #expect(calls.value == 1 && events.changes.last?.changeset.updates.map(\.to) == [size / 2])
    // The same property is not observed anew.
    items[7] = TestElement(7, 3)
    #expect(calls.value == 2 && levels[7].signal.node.isFollowed)
    items.remove(at: 7)
    #expect(!levels[7].signal.node.isFollowed)
  }

  @Test(arguments: sizes) func `work is started and ended only for what changes`(size: Int) {
    let (items, calls) = (Self.items(size), Shared(0))
    let work = items.forEach(lifetime: { _ in
      calls.modify { $0 += 1 }
      return Disposable { calls.modify { $0 += 1 } }
    })
    #expect(calls.value == size)
    #expect(mostCalls(calls, of: items) == 2)
    calls.value = 0
    items.move(from: 0, to: size / 2)
    #expect(calls.value == 0)
    work.dispose()
    #expect(calls.value == items.count)
  }

  @Test(arguments: sizes) func `a total up to an element visits a few nodes`(size: Int) {
    let items = Self.items(size)
    let total = items.live(upTo: size / 2).sum(of: \.content)
    let (domain, before) = (items.collection.node.domain, items.collection.node.domain.visits)
    items.insert(TestElement(-1, 1), at: 3)
    items.append(TestElement(-2, 1))
    items.remove(at: 0)
    #expect(domain.visits - before <= 6 && total.value > 0)
  }
}
