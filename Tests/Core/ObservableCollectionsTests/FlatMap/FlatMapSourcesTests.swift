import DataSourceTesting
import Diffing
import ObservableCollections
@testable import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// A list of todos, which is an element of another list.
struct TodoList: Differentiable, Sendable {
  let id: Int
  var title = 0
  var todos: any DataSource<TestElement>

  var differenceIdentifier: Int { id }

  func isContentEqual(to source: TodoList) -> Bool {
    title == source.title && todos === source.todos
  }
}

@Suite struct FlatMapSourcesTests {
  typealias Lists = ArrayDataSource<TodoList>

  /// A source that loads when a test asks for it.
  private final class SlowSource: DataSource {
    let contents = Items(status: .idle)
    let starts = Shared(0)

    var collection: LiveCollection<TestElement> { contents.collection }

    func start() {
      if contents.status == .idle { contents.setStatus(.loading) }
      // Last: a test that waits for the start sets the status next.
      starts.modify { $0 += 1 }
    }
  }

  private let error = SourceError(code: "gone", message: "it is gone")
  private let sources = [Items([1, 2]), Items([3]), Items([]), Items([4, 5, 6])]

  private func lists(_ numbers: Int...) -> Lists {
    Lists(numbers.map { TodoList(id: $0, todos: sources[$0]) })
  }

  private func ids(_ source: some DataSource<TestElement>) -> [Int] { source.snapshot.map(\.id) }

  private func expected(_ lists: Lists) -> Snapshot<TestElement> {
    Snapshot(lists.snapshot.flatMap { Array($0.todos.snapshot) })
  }

  @Test func `a child that is renamed while its parent moves is moved and updated`() throws {
    let lists = lists(0, 1, 2, 3)
    let output = lists.flatMap { $0.todos }
    let recorder = RecordingObserver(output)
    withTransaction {
      sources[0][0] = 600
      lists.move(from: 0, to: 3)
      lists.remove(at: 0)
      lists.insert(TodoList(id: 9, todos: Items([9])), at: 0)
    }
    #expect(ids(output) == [9, 4, 5, 6, 600, 2])
    let changeset = try #require(recorder.changes.last?.changeset)
    #expect(changeset.deletions == [2] && changeset.insertions == [0])
    #expect(changeset.updates == [.init(from: 0, to: 4)])
    try recorder.check(against: output)
  }

  // MARK: Rule O1

  @Test(.reaches(.changes)) func `a flat map to lists of the same root follows it`() throws {
    let calls = Shared(0)
    try checkOperator(
      { source in
        source.flatMap { parent in
          calls.modify { $0 += 1 }
          return source.filter { $0.content == parent.content }
        }
      },
      is: { elements in
        elements.flatMap { parent in elements.filter { $0.content == parent.content } }
      }, seeds: 0..<(TestRun.isLong ? 40 : 14), calls: { calls.value })
  }

  @Test(.reaches(.changes)) func `a flat map follows its parents, their children and a parameter`()
    throws
  {
    let noChildren = Items([])
    try checkOperator(
      overSeveralInputs: { first, second, value in
        let even = second.filter { $0.id % 2 == 0 }
        let large = second.filter(by: value) { $0.content >= $1 }
        // All are upstream from the beginning: a part of a transaction may be seen only by new children.
        let parents = ArrayDataSource([TestElement(-1, 1), TestElement(-2, 2)])
          .concatenated(with: first)
        return parents.flatMap { parent -> any DataSource<TestElement> in
          switch parent.content {
          case 0: noChildren
          case 1: even
          default: large
          }
        }
      },
      is: { first, second, value in
        ([TestElement(-1, 1), TestElement(-2, 2)] + first).flatMap { parent -> [TestElement] in
          switch parent.content {
          case 0: []
          case 1: second.filter { $0.id % 2 == 0 }
          default: second.filter { $0.content >= value }
          }
        }
      }, seeds: 0..<(TestRun.isLong ? 60 : 20))
  }

  @Test(.reaches(.changes(of: ["parents", "result"])))
  func `random lists of lists equal their concatenation`() throws {
    for seed in UInt64(0)..<40 {
      var editor = RandomEditor<TestElement>(seed: seed, size: 8)
      let sources = (0..<12).map { _ in Items(editor.makeElements()) }
      let lists = Lists((0..<5).map { TodoList(id: $0, todos: sources[$0]) })
      let all = lists.flatMap { $0.todos }
      let parents = RecordingObserver(counting: lists)
      let events = RecordingObserver(all, seed: seed)
      for step in 0..<60 {
        let (count, revision) = (events.eventCount, lists.revision)
        try withTransaction {
          for _ in 0...editor.random.below(3) {
            if editor.random.oneIn(2) { try editor.step(sources[editor.random.below(12)]) }
          }
          if editor.random.oneIn(2) {
            lists.transaction { draft in
              let number = editor.random.below(12)
              let new = TodoList(id: editor.random.below(9), todos: sources[number])
              switch editor.random.below(5) {
              case 0: draft.insert(new, at: editor.random.below(draft.count + 1))
              case 1 where !draft.isEmpty: draft.remove(at: editor.random.below(draft.count))
              case 2 where !draft.isEmpty: draft[editor.random.below(draft.count)] = new
              case 3 where !draft.isEmpty:
                draft.move(
                  from: editor.random.below(draft.count), to: editor.random.below(draft.count))
              default: draft.replace(with: draft.elements.reversed())
              }
            }
          }
        }
        if lists.revision == revision {
          #expect(events.eventCount <= count + 1, "seed \(seed), step \(step)")
        }
        try #require(
          all.snapshot.hasSameContents(as: expected(lists)), "seed \(seed), step \(step)")
      }
      try events.check(against: all)
      Coverage.note(parents, of: "parents")
      Coverage.note(events, of: "result")
    }
  }

  // MARK: Exact changes

  @Test func `children take the place of their parents`() throws {
    let lists = lists(0, 1, 2, 3)
    let all = lists.flatMap { $0.todos }
    let events = RecordingObserver(all)
    #expect(ids(all) == [1, 2, 3, 4, 5, 6])
    sources[1].append(7)
    sources[2].append(8)
    sources[3].move(from: 0, to: 2)
    sources[0][1].content = 5
    lists.remove(at: 1)
    lists.insert(TodoList(id: 9, todos: sources[1]), at: 0)
    #expect(ids(all) == [3, 7, 1, 2, 8, 5, 6, 4])
    #expect(
      events.changes.map(\.changeset) == [
        Changeset(insertions: [3]), Changeset(insertions: [4]),
        Changeset(moves: [.init(from: 5, to: 7)]), Changeset(updates: [.init(from: 1, to: 1)]),
        Changeset(deletions: [2, 3]), Changeset(insertions: [0, 1]),
      ])
    try events.check(against: all)
  }

  @Test func `a moved parent moves its children`() throws {
    let lists = lists(0, 1, 3)
    let all = lists.flatMap { $0.todos }
    let events = RecordingObserver(all)
    lists.move(from: 0, to: 2)
    #expect(ids(all) == [3, 4, 5, 6, 1, 2])
    let changeset = events.changes[0].changeset
    #expect(changeset.moves.count == 2 && changeset.changeCount == 2)
    try events.check(against: all)
  }

  @Test func `the closure runs again for inserted and updated parents only`() {
    let (lists, calls) = (lists(0, 1), Shared(0))
    let all = lists.flatMap { list in
      calls.modify { $0 += 1 }
      return list.todos
    }
    #expect(calls.exchange(0) == 2)
    lists.move(from: 0, to: 1)
    sources[0].append(9)
    lists.remove(at: 0)
    #expect(calls.exchange(0) == 0)
    lists[0].title = 4
    lists.append(TodoList(id: 3, todos: sources[3]))
    #expect(calls.value == 2)
    #expect(ids(all) == [1, 2, 9, 4, 5, 6])
  }

  @Test func `a child that moves to another parent in one transaction is a move`() throws {
    let lists = lists(0, 1)
    let all = lists.flatMap { $0.todos }
    let events = RecordingObserver(all)
    withTransaction {
      sources[0].remove(at: 0)
      sources[1].append(1)
    }
    #expect(ids(all) == [2, 3, 1])
    #expect(events.changes.map(\.changeset) == [Changeset(moves: [.init(from: 0, to: 2)])])
    try events.check(against: all)
  }

  @Test func `elements of several children may have one identity`() throws {
    let lists = Lists([TodoList(id: 1, todos: sources[0]), TodoList(id: 2, todos: sources[0])])
    let all = lists.flatMap { $0.todos }
    let events = RecordingObserver(all)
    #expect(ids(all) == [1, 2, 1, 2])
    sources[0].append(9)
    sources[0].remove(at: 0)
    #expect(ids(all) == [2, 9, 2, 9] && events.changes.count == 2)
    try events.check(against: all)
  }

  @Test func `groups, their order and their elements change by one event`() throws {
    // Parents and children are made from one root.
    let items = Items([TestElement(1, 0), TestElement(2, 1), TestElement(3, 0)])
    let kinds = items.compactMap { $0.id <= 2 ? $0 : nil }.sorted(by: \.content)
    let all = kinds.flatMap { kind in items.filter { $0.content == kind.content } }
    let events = RecordingObserver(all)
    #expect(ids(all) == [1, 3, 2])
    items.transaction { draft in
      draft[0].content = 1
      draft[1].content = 0
      draft.append(TestElement(4, 1))
    }
    #expect(ids(all) == [2, 3, 1, 4])
    #expect(events.changes.count == 1)
    try events.check(against: all)
  }

  @Test func `parents and children of several roots change by one event`() throws {
    let lists = lists(0, 1, 3)
    let all = lists.flatMap { $0.todos }
    let events = RecordingObserver(all)
    withTransaction {
      sources[0].append(7)
      lists.move(from: 2, to: 0)
      lists.remove(at: 2)
      sources[3].remove(at: 1)
      sources[1].append(9)
    }
    #expect(ids(all) == [4, 6, 1, 2, 7] && events.changes.count == 1)
    try events.check(against: all)
  }

  // MARK: Replacing children (rule S4)

  @Test func `other children replace the old ones by their difference`() throws {
    let lists = lists(0, 3)
    let all = lists.flatMap { $0.todos }
    let events = RecordingObserver(all)
    lists[0].todos = Items([2, 1, 9])
    #expect(ids(all) == [2, 1, 9, 4, 5, 6])
    let changeset = try #require(events.changes.first).changeset
    #expect(changeset.insertions == [2] && changeset.moves.count == 1 && changeset.deletions == [])
    lists[0].todos = Items([2, 1, 9])
    #expect(events.changes.count == 1)
    try events.check(against: all)
  }

  @Test func `old children stay live until the new ones have loaded`() throws {
    let lists = lists(0, 3)
    let all = lists.flatMap { $0.todos }
    let events = RecordingObserver(all)
    let slow = SlowSource()
    lists[0].todos = slow
    #expect(slow.starts.value == 1 && all.status == .loading)
    sources[0].append(9)
    #expect(ids(all) == [1, 2, 9, 4, 5, 6])
    slow.contents.publish([2, 8], status: .loaded)
    #expect(ids(all) == [2, 8, 4, 5, 6] && all.status == .loaded)
    #expect(events.changes.count == 2)
    sources[0].append(10)
    #expect(events.changes.count == 2)
    try events.check(against: all)
  }

  @Test func `the latest of several collections that load is shown`() throws {
    let lists = lists(0)
    let all = lists.flatMap { $0.todos }
    let (first, second) = (SlowSource(), SlowSource())
    lists[0].todos = first
    lists[0].todos = second
    first.contents.publish([7], status: .loaded)
    #expect(ids(all) == [1, 2])
    second.contents.publish([8], status: .loaded)
    #expect(ids(all) == [8])
    // Back to the shown one while another one loads.
    let third = SlowSource()
    lists[0].todos = third
    lists[0].todos = second
    #expect(all.status == .loaded)
    third.contents.publish([9], status: .loaded)
    #expect(ids(all) == [8])
  }

  @Test func `children made from the shown ones take effect before they have loaded`() {
    let lists = lists(0)
    let all = lists.flatMap { $0.todos }
    let slow = SlowSource()
    lists[0].todos = sources[0].filter { $0.id > 1 }.concatenated(with: slow)
    #expect(ids(all) == [2] && all.status == .loading)
    slow.contents.publish([9], status: .loaded)
    #expect(ids(all) == [2, 9] && all.status == .loaded)
  }

  @Test func `a collection that fails before it has loaded leaves the old one in place`() {
    let lists = lists(0, 1)
    let all = lists.flatMap { $0.todos }
    let slow = SlowSource()
    lists[0].todos = slow
    slow.contents.setStatus(.failed(error))
    #expect(ids(all) == [1, 2, 3] && all.status == .failed(error))
    slow.contents.publish([8], status: .loaded)
    #expect(ids(all) == [8, 3] && all.status == .loaded)
  }

  // MARK: Status (rules E6, E7 and O5)

  @Test func `a failed collection keeps its contents, and the others stay`() {
    let lists = lists(0, 1)
    let all = lists.flatMap { $0.todos }
    let steps = Log<SourceStatus>()
    let observation = all.observeStatus { steps.append($0) }
    sources[0].setStatus(.failed(error))
    sources[1].append(7)
    #expect(ids(all) == [1, 2, 3, 7])
    lists.remove(at: 0)
    #expect(ids(all) == [3, 7])
    #expect(steps.value == [.loaded, .failed(error), .loaded])
    observation.dispose()
  }

  @Test func `it has loaded when the parents have, and all children have loaded or failed`() {
    let (slow, failing) = (SlowSource(), SlowSource())
    let lists = Lists(status: .loading)
    let all = lists.flatMap { $0.todos }
    #expect(!all.state.hasLoaded && all.status == .loading)
    lists.publish(
      [TodoList(id: 1, todos: slow), TodoList(id: 2, todos: failing)], status: .loaded)
    #expect(!all.state.hasLoaded && all.status == .loading)
    failing.contents.setStatus(.failed(error))
    #expect(!all.state.hasLoaded)
    slow.contents.publish([1], status: .loaded)
    #expect(all.state.hasLoaded && all.status == .failed(error) && ids(all) == [1])
  }

  @Test func `an empty list of parents has loaded`() {
    #expect(Lists().flatMap { $0.todos }.state.hasLoaded)
  }

  // MARK: Cycles

  @Test func `a search for cycles visits the list of many groups once`() throws {
    let items = Items((0..<100).map { TestElement($0, $0) })
    let others = (0..<3).map { Items([TestElement(-$0)]) }
    let groups = items.grouped(by: \.content)
    let flat = groups.flatMap { group -> any DataSource<TestElement> in
      group.key < 0 ? others[-group.key % 3] : group.elements
    }
    let root = try #require(flat.node.upstream.first)
    // The groups are made from their list, and the list from the items.
    #expect(root.externalInputs?.sources.count == 101 && root.externalInputs?.originCount == 2)
    items.transaction { draft in
      for index in 0..<6 { draft[index].content = -1 - index }
    }
    #expect(root.externalInputs?.sources.count == 98 && root.externalInputs?.originCount == 5)
    items.removeSubrange(0..<4)
    #expect(root.externalInputs?.originCount == 4)
    items.removeAll()
    #expect(root.externalInputs?.sources.count == 1 && root.externalInputs?.originCount == 1)
  }

  @Test func `children that are made from the result are refused`() throws {
    let lists = lists(0)
    let all = lists.flatMap { $0.todos }
    let events = RecordingObserver(all)
    lists.append(TodoList(id: 7, todos: all.filter { $0.id > 1 }))
    #expect(ids(all) == [1, 2] && all.status.error?.code == "cycle")
    lists[0].todos = all
    #expect(ids(all) == [1, 2] && all.status.error?.code == "cycle")
    sources[0].append(3)
    #expect(ids(all) == [1, 2, 3])
    lists[0].todos = sources[1]
    lists[1].todos = sources[3]
    #expect(ids(all) == [3, 4, 5, 6] && all.status == .loaded)
    try events.check(against: all)
  }

  // MARK: Closures

  @Test func `collections of different types are children`() {
    let lists = ArrayDataSource([0, 1])
    let all = lists.flatMap { [sources] number -> any DataSource<TestElement> in
      number == 0 ? sources[0] : sources[1].filter { _ in true }
    }
    #expect(ids(all) == [1, 2, 3])
    let mapped = lists.flatMap { [sources] number in sources[number].map { $0 } }
    #expect(ids(mapped) == [1, 2, 3])
  }

  @Test func `the closure may edit the parents and use the result`() throws {
    let lists = lists(0)
    let result = Shared<LiveCollection<TestElement>?>(nil)
    let all = lists.flatMap { list -> any DataSource<TestElement> in
      if list.id == 3 { lists.append(TodoList(id: 5, todos: list.todos)) }
      if list.id == 7 { return result.value?.filter { _ in true } ?? list.todos }
      return list.todos
    }
    result.value = all
    let events = RecordingObserver(all)
    lists.append(TodoList(id: 3, todos: sources[1]))
    #expect(ids(all) == [1, 2, 3, 3])
    lists.append(TodoList(id: 7, todos: sources[1]))
    #expect(ids(all) == [1, 2, 3, 3] && all.status.error?.code == "cycle")
    result.value = nil
    try events.check(against: all)
  }

  // MARK: Lifetimes and costs

  @Test func `children of removed parents are released`() {
    let released = Shared(0)
    /// A source that tells when it is released.
    final class Counted: DataSource {
      let contents = Items([1])
      let released: Shared<Int>
      var collection: LiveCollection<TestElement> { contents.collection }
      init(_ released: Shared<Int>) { self.released = released }
      deinit { released.modify { $0 += 1 } }
    }
    let numbers = ArrayDataSource([1, 2, 3])
    do {
      let all = numbers.flatMap { _ in Counted(released) }
      #expect(all.count == 3 && released.value == 0)
      numbers.remove(at: 0)
      #expect(all.count == 2 && released.value == 1)
      numbers[0] = 7
      #expect(all.count == 2 && released.value == 2)
    }
    // Releasing the result releases everything, and the parents are followed no longer.
    #expect(released.value == 4)
    #expect(!numbers.collection.node.isFollowed)
    numbers.append(9)
    #expect(released.value == 4)
  }

  @Test(arguments: [1_000, 10_000]) func `many children cost what changes`(size: Int) throws {
    let sources = (0..<size).map { Items([TestElement($0), TestElement($0 + size)]) }
    let lists = ArrayDataSource(Array(0..<size))
    let calls = Shared(0)
    let all = lists.flatMap { number in
      calls.modify { $0 += 1 }
      return sources[number]
    }
    #expect(all.count == 2 * size && calls.exchange(0) == size)
    let events = RecordingObserver(all, replaysEvery: nil)
    let domain = all.collection.node.domain
    let visits = domain.visits
    sources[size / 2].append(-1)
    lists.move(from: 0, to: size - 1)
    lists.remove(at: size / 3)
    #expect(domain.visits - visits == 3 && calls.value == 0)
    #expect(events.changes.map(\.changeset.changeCount) == [1, 2, 2])
    // One transaction over many of them is one event and one visit.
    withTransaction { for source in sources.prefix(200) { source.append(-2) } }
    #expect(events.changes.count == 4 && domain.visits - visits == 4)
    #expect(events.changes[3].changeset.insertions.count == 200)
    lists.removeAll()
    #expect(all.isEmpty && sources.allSatisfy { !$0.collection.node.isFollowed })
    try events.check(against: all)
  }
}

/// Parents and children that several threads edit.
@Suite(.tags(.concurrency)) struct FlatMapSourcesConcurrencyTests {
  @Test func `threads edit parents and children while others derive from them`() throws {
    let sources = (0..<8).map { number in Items((0..<5).map { TestElement(10 * number + $0) }) }
    let lists = ArrayDataSource((0..<4).map { TodoList(id: $0, todos: sources[$0]) })
    let all = lists.flatMap { $0.todos }
    let events = RecordingObserver(all, expectsEveryRevision: false)
    var workers = (0..<3).map { number in
      Worker {
        var random = SeededGenerator(seed: UInt64(number))
        for step in 0..<300 {
          sources[random.below(8)].transaction { draft in
            draft.append(TestElement(1_000 * number + step))
            if draft.count > 5 { draft.remove(at: random.below(draft.count)) }
            draft.move(from: 0, to: random.below(draft.count))
          }
          if step % 10 == 0 {
            withTransaction {
              sources[0].append(TestElement(-step))
              sources[1].transaction { draft in
                if draft.count > 3 { draft.remove(at: 0) }
              }
            }
          }
        }
      }
    }
    workers.append(
      Worker {
        var random = SeededGenerator(seed: 77)
        for step in 0..<300 {
          lists.transaction { draft in
            draft.insert(
              TodoList(id: step, todos: sources[random.below(8)]), at: random.below(draft.count + 1)
            )
            if draft.count > 5 { draft.remove(at: random.below(draft.count)) }
            draft[random.below(draft.count)].todos = sources[random.below(8)]
            draft.move(from: 0, to: random.below(draft.count))
          }
        }
      })
    workers.append(
      Worker {
        for _ in 0..<60 {
          let other = lists.flatMap { $0.todos.filter { $0.id % 2 == 0 } }
          let events = RecordingObserver(other, expectsEveryRevision: false)
          _ = events.snapshot.count
        }
      })
    for worker in workers { try worker.join() }
    all.flushAndWait()
    try events.check(against: all)
    let expected = Snapshot(lists.snapshot.flatMap { Array($0.todos.snapshot) })
    #expect(all.snapshot.hasSameContents(as: expected))
  }

  @Test func `a transaction over two children is one event while others deliver`() throws {
    let (left, right) = (Items([TestElement(1, 0)]), Items([TestElement(2, 0)]))
    let all = ArrayDataSource([1, 2]).flatMap { $0 == 1 ? left : right }
    let torn = Shared(0)
    let observation = all.observe { event in
      if Set(event.snapshot.map(\.content)).count > 1 { torn.modify { $0 += 1 } }
    }
    let observations = [left.observe { _ in }, right.observe { _ in }]
    let other = Worker {
      for _ in 0..<1_000 {
        left.flushAndWait()
        right.flushAndWait()
      }
    }
    for round in 1...1_000 {
      withTransaction {
        left[0] = TestElement(1, round)
        right[0] = TestElement(2, round)
      }
    }
    try other.join()
    all.flushAndWait()
    #expect(torn.value == 0 && all.snapshot.map(\.content) == [1_000, 1_000])
    withExtendedLifetime((observation, observations)) {}
  }
}
