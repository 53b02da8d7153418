import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import Testing

/// Groups that are released, also inside their observers, and groups that are found again.
@Suite struct GroupingLifetimeTests {
  private typealias Index = LiveIndex<Int, TestElement>

  @Test func `an observer may hold its own group and let go of it`() {
    let items = Items([TestElement(1, 1)])
    let events = Shared(0)
    weak var group: LiveCollection<TestElement>?
    let observation = Shared<Disposable?>(nil)
    do {
      let elements = items.grouped { $0.content }.snapshot[0].elements
      group = elements
      observation.value = elements.observe { event in
        events.modify { $0 += 1 }
        #expect(elements.count == event.snapshot.count)
        if event.snapshot.count == 3 { observation.exchange(nil)?.dispose() }
      }
    }
    for id in 2..<6 { items.append(TestElement(id, 1)) }
    #expect(events.value == 3 && group == nil)
  }

  @Test func `everything may be released inside an observer of a group`() throws {
    for releasing in 0..<3 {
      let items = Items((0..<20).map { TestElement($0, $0 % 4) })
      struct Held: Sendable {
        var sections: LiveCollection<ListSection<Int, TestElement>>?
        var groups: LiveCollection<Index.Group>?
        var index: Index?
        var collections: [LiveCollection<TestElement>] = []
        var observations: [Disposable] = []
      }
      let held = Shared(Held())
      let index = items.indexed { $0.content }
      held.modify { held in
        held.sections = items.sections { $0.content }
        held.groups = items.grouped { $0.content }
        held.index = index
        held.collections = (0..<4).map { index[$0] }
      }
      weak let sections = held.value.sections
      @Sendable func release(_ event: CollectionEvent<TestElement>) {
        if case .change = event { held.exchange(Held()) }
      }
      let sources: [LiveCollection<TestElement>] = [
        items.collection, held.value.collections[2], index[2].filter { $0.id > 3 },
      ]
      let observation = sources[releasing].observe(release)
      held.modify { $0.observations = $0.collections.map { $0.observe { _ in } } }
      items.append(TestElement(30, 2))
      #expect(held.value.collections.isEmpty)
      items.transaction { draft in for offset in 0..<draft.count { draft[offset].content = 3 } }
      #expect(index[3].count == 21 && index[2].isEmpty)
      #expect(sections == nil)
      observation.dispose()
    }
  }

  @Test func `a grouping is released with its last user`() {
    let released = Shared(0)
    let items = Items((0..<20).map { TestElement($0, $0 % 4) })
    do {
      let token = Token { released.modify { $0 += 1 } }
      let key: @Sendable (TestElement) -> Int = { element in
        withExtendedLifetime(token) {}
        return element.content
      }
      var groups: LiveCollection<Index.Group>? = items.grouped(by: key)
      var group = groups?.snapshot.first
      var elements: LiveCollection<TestElement>? = group?.elements
      groups = nil
      items.append(TestElement(30, 0))
      #expect(elements?.count == 6 && group?.elements === elements)
      group = nil
      items.append(TestElement(31, 0))
      #expect(elements?.count == 7)
      let observation = elements?.observe { _ in }
      elements = nil
      items.removeAll()
      #expect(released.value == 0)
      observation?.dispose()
    }
    #expect(released.value == 1)
    #expect(!items.collection.node.isFollowed)
  }

  @Test func `a group of a released list keeps no element that has gone`() {
    final class Content: Sendable {}
    struct Item: Differentiable, Sendable {
      let id: Int
      let content: Content
      var differenceIdentifier: Int { id }
      func isContentEqual(to source: Item) -> Bool { content === source.content }
    }
    weak var first: Content?
    var group: LiveIndex<Int, Item>.Group?
    let items: ArrayDataSource<Item>
    do {
      let content = Content()
      first = content
      items = ArrayDataSource([Item(id: 1, content: content), Item(id: 2, content: Content())])
      group = items.grouped(by: \.id).snapshot.last
    }
    items.removeAll()
    #expect(first == nil && group?.key == 2)
    group = nil
  }

  @Test func `a group that was released is found again with its elements`() {
    let items = Items((0..<300).map { TestElement($0, $0) })
    let index = items.indexed { $0.content }
    for round in 0..<4 {
      for key in 0..<300 { #expect(index[key].snapshot.map(\.id) == [key]) }
      // Emptied groups are forgotten when many others come.
      items.removeAll()
      items.replace(with: (0..<300).map { TestElement($0 + 1_000 * (round + 1), $0 + 1_000) })
      items.replace(with: (0..<300).map { TestElement($0, $0) })
    }
  }
}
