import DataSourceTesting
@testable import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// Transactions, bindings and operators on collections long enough to be trees.
@Suite struct StorageDraftTests {
  /// Long transactions over a collection that is mostly too long for one array.
  private func makeEditor(_ seed: UInt64) -> RandomEditor<TestElement> {
    RandomEditor(
      seed: seed, size: 700, editsPerStep: 30, allowsDuplicates: seed.isMultiple(of: 2),
      kinds: RandomEdit.allCases.filter { $0 != .removeAll } + [
        .insertMany, .insertMany, .update, .move,
      ])
  }

  @Test(.reaches(.changes)) func `random transactions of a long collection keep the contract`()
    throws
  {
    for seed in UInt64(0)..<12 {
      var editor = makeEditor(seed)
      let items = Items(editor.variation(of: []))
      let recorder = RecordingObserver(items, seed: seed)
      let target = Items()
      let binding = items.bind(to: target)
      for _ in 0..<20 { try editor.step(items) }
      #expect(target.snapshot.hasSameContents(as: items.snapshot))
      try recorder.check(against: items)
      Coverage.note(recorder)
      binding.dispose()
    }
  }

  @Test(.reaches(.changes)) func `operators follow a long collection`() throws {
    for seed in UInt64(0)..<4 {
      try checkOperator(
        { $0.filter { $0.content > 0 }.concatenated(with: $0.sorted { $0.content < $1.content }) },
        is: { elements in
          let sorted = elements.enumerated().sorted {
            ($0.element.content, $0.offset) < ($1.element.content, $1.offset)
          }
          return elements.filter { $0.content > 0 } + sorted.map(\.element)
        },
        editor: makeEditor(seed), steps: 12)
      try checkOperator(
        { $0.map { TestElement($0.id + 1, $0.content) } },
        is: { $0.map { TestElement($0.id + 1, $0.content) } }, editor: makeEditor(seed), steps: 12)
    }
  }

  @Test func `pending changes of a long collection are merged`() throws {
    let stepper = Stepper()
    let items = Items((0..<2_000).map { TestElement($0) })
    let seen = Log<CollectionEvent<TestElement>>([])
    let observation = items.observe(on: stepper.scheduler) { seen.append($0) }
    stepper.run()
    for step in 0..<50 {
      items.move(from: step, to: 1_999 - step)
      items.update(at: 700 + step) { $0.content = 1 }
      items.insert(TestElement(5_000 + step), at: 900)
      items.remove(at: 901)
    }
    stepper.run()
    guard seen.value.count == 2, case .change(let change) = seen.value[1] else {
      Issue.record("\(seen.value.count) events")
      return
    }
    #expect(change.after.storage.array == nil)
    #expect(Array(change.after) == Array(items.snapshot))
    #expect(
      change.changeset.applying(to: change.before, with: change.after) == Array(change.after))
    #expect(change.changeset.changeCount < 250)
    observation.dispose()
  }

  @Test func `a rollback restores the previous contents`() {
    let items = Items((0..<1_000).map { TestElement($0) })
    let recorder = RecordingObserver(items)
    items.transaction { draft in
      draft.remove(at: 10)
      let before = draft.snapshot
      try? items.transaction { inner in
        for step in 0..<300 { inner.move(from: step, to: 999 - step - 1) }
        inner[5].content = 9
        throw Refusal()
      }
      #expect(draft.snapshot.storage.isIdentical(to: before.storage))
    }
    #expect(recorder.changes.last?.changeset == Changeset(deletions: [10]))
  }

  @Test func `a draft and its snapshot have the same elements`() {
    let items = Items((0..<1_000).map { TestElement($0) })
    items.transaction { draft in
      draft.move(from: 3, to: 900)
      let before = draft.snapshot
      draft.removeAll { $0.id % 100 == 0 }
      #expect(draft.elements == Array(draft.snapshot))
      #expect(draft.count == 990 && before.count == 1_000 && !draft.isEmpty)
      #expect(draft.firstIndex(identifiedBy: 3) == 890)
      #expect(draft.remove(identifiedBy: 3) == 3)
      #expect(draft.update(identifiedBy: 4) { $0.content = 1 })
    }
    #expect(items.snapshot.firstIndex(identifiedBy: 3) == nil)
  }
}

/// A changeset that is applied to a collection.
@Suite struct PublishedChangesetTests {
  private let items = Items((0..<1_000).map { TestElement($0) })

  @Test func `a published changeset is one change, and then the status`() throws {
    let recorder = RecordingObserver(items)
    let changeset = Changeset(
      deletions: [0], insertions: [500], moves: [.init(from: 2, to: 998)],
      updates: [.init(from: 2, to: 998)])
    items.publish(changeset, inserted: [-1], updated: [TestElement(2, 1)], status: .loading)
    #expect(recorder.changes.map(\.changeset) == [changeset])
    #expect(items.snapshot[500] == -1)
    #expect(items.snapshot[998] == TestElement(2, 1))
    #expect(items.status == .loading)
    try recorder.check(against: items)
  }

  @Test func `equal elements are neither delivered nor stored`() throws {
    let recorder = RecordingObserver(items)
    let before = items.snapshot
    items.publish(
      Changeset(updates: [.init(from: 3, to: 3)]), inserted: [], updated: [3], status: .loading)
    #expect(recorder.changes.isEmpty)
    #expect(items.snapshot.storage.isIdentical(to: before.storage))
    items.publish(
      Changeset(updates: [.init(from: 3, to: 3), .init(from: 4, to: 4)]), inserted: [],
      updated: [3, TestElement(4, 1)], status: .loading)
    #expect(recorder.changes.map(\.changeset) == [Changeset(updates: [.init(from: 4, to: 4)])])
    try recorder.check(against: items)
  }

  @Test func `an element deleted and inserted with one identity is kept`() throws {
    let recorder = RecordingObserver(items)
    items.publish(
      Changeset(deletions: [7, 9], insertions: [900, 901]), inserted: [TestElement(7, 1), 5_000],
      updated: [], status: .loaded)
    #expect(
      recorder.changes.map(\.changeset) == [
        Changeset(
          deletions: [9], insertions: [901], moves: [.init(from: 7, to: 900)],
          updates: [.init(from: 7, to: 900)])
      ])
    try recorder.check(against: items)
  }

  @Test func `a changeset joins an open transaction`() throws {
    let recorder = RecordingObserver(items)
    items.transaction { draft in
      draft.insert(-1, at: 0)
      draft.apply(
        Changeset(deletions: [0, 1], insertions: [0]), inserted: [-2], updated: [])
      draft[0].content = 3
    }
    #expect(
      recorder.changes.map(\.changeset) == [Changeset(deletions: [0], insertions: [0])])
    #expect(items.snapshot[0] == TestElement(-2, 3))
    try recorder.check(against: items)
  }

  @Test(arguments: [[0], [0, 1]], [0, 1])
  func `what the closure of an applied changeset edits is told`(
    updated: [Int], content: Int
  ) throws {
    let recorder = RecordingObserver(items)
    items.transaction { draft in
      draft.apply(Changeset(updates: updated.map { .init(from: $0, to: $0) })) { offset in
        draft.append(TestElement(10_000 + offset))
        return TestElement(offset, content)
      }
    }
    #expect(items.count == 1_000 + updated.count)
    try recorder.check(against: items)
  }

  @Test func `a comparison that edits a draft that was kept traps`() async {
    await #expect(processExitsWith: .failure) {
      let items = ArrayDataSource([ComparingElement(id: 1), ComparingElement(id: 2)])
      items.transaction { draft in
        draft.remove(at: 0)
        draft.append(ComparingElement(id: 1, version: 2))
        ComparingElement.whenCompared = { draft.removeAll() }
      }
    }
  }

  @Test
  func `a deinitializer that edits an operator's draft after its changes were discarded traps`()
    async
  {
    await #expect(processExitsWith: .failure) {
      let items = ArrayDataSource([1])
      let rows = items.transformed { DiscardingOperator(input: $0) }
      let observation = rows.observe { _ in }
      items.append(2)
      withExtendedLifetime(observation) {}
    }
  }

  @Test func `elements that do not fit the changeset trap`() async {
    await #expect(processExitsWith: .failure) {
      ArrayDataSource([1, 2]).publish(
        Changeset(insertions: [0]), inserted: [], updated: [], status: .loaded)
    }
  }

  @Test func `a changeset that does not fit the elements traps`() async {
    await #expect(processExitsWith: .failure, "a deletion behind the end of a short list") {
      ArrayDataSource([1, 2]).publish(
        Changeset(deletions: [0, 9], insertions: [1]), inserted: [5], updated: [], status: .loaded)
    }
    await #expect(processExitsWith: .failure, "a deletion behind the end of a tree") {
      let items = ArrayDataSource(Array(0..<10_000))
      items.insert(-1, at: 7)
      items.transaction { $0.apply(Changeset(deletions: [0, 20_000])) { _ in 5 } }
    }
    await #expect(processExitsWith: .failure, "an update of an element with another offset") {
      let items = ArrayDataSource([1, 2])
      items.transaction { $0.apply(Changeset(updates: [.init(from: 0, to: 1)])) { _ in 5 } }
    }
    await #expect(processExitsWith: .failure, "the same element deleted twice") {
      let items = ArrayDataSource(Array(0..<10))
      items.transaction { $0.apply(Changeset(unordered: [9, 9, 9])) { _ in 5 } }
    }
    await #expect(processExitsWith: .failure, "deletions of a tree that are not in order") {
      let items = ArrayDataSource(Array(0..<3_001))
      items.insert(-1, at: 7)
      items.transaction { $0.apply(Changeset(unordered: [336, 605, 365])) { _ in 5 } }
    }
    await #expect(processExitsWith: .failure, "deletions that are applied to another list") {
      _ = Changeset(unordered: [9, 9]).applying(to: Array(0..<10), with: Array(0..<8))
    }
    await #expect(processExitsWith: .failure, "two updates that exchange their offsets") {
      let items = ArrayDataSource([1, 2, 3])
      let updates = [Changeset.Update(from: 1, to: 0), Changeset.Update(from: 0, to: 1)]
      items.transaction { $0.apply(Changeset(updates: updates)) { $0 + 7 } }
    }
    await #expect(processExitsWith: .failure, "the same with the elements in arrays") {
      ArrayDataSource([1, 2]).publish(
        Changeset(updates: [.init(from: 0, to: 1)]), inserted: [], updated: [5], status: .loaded)
    }
  }

  @Test(.reaches(.changes)) func `any changeset between two lists fits`() {
    var random = SeededGenerator(seed: 3)
    for _ in 0..<2_000 {
      let old = (0..<random.below(12)).shuffled(using: &random).map { TestElement($0) }
      let new = (0..<random.below(12)).shuffled(using: &random)
        .map { TestElement($0, random.below(2)) }
      let changeset = Changeset(from: old, to: new)
      Coverage.note(changeset)
      #expect(changeset.misfit(oldCount: old.count) == nil)
      #expect(changeset.inverse.misfit(oldCount: new.count) == nil)
      #expect(changeset.applying(to: old, with: new) == new)
    }
  }

  @Test func `what a predicate edits is discarded, also if it throws`() {
    struct Refusal: Error {}
    let list = Items([1, 2].map { TestElement($0) })
    list.transaction { draft in
      #expect(throws: Refusal.self) {
        try draft.removeAll { element throws(Refusal) in
          if element.id == 1 { draft.removeAll() }
          draft.append(TestElement(3))
          throw Refusal()
        }
      }
      #expect(draft.elements.map(\.id) == [1, 2])
    }
    #expect(list.snapshot.map(\.id) == [1, 2] && list.revision == 0)
  }

  @Test func `what a comparison edits while an element is replaced is discarded`() async {
    await #expect(processExitsWith: .success) {
      let items = ArrayDataSource([ComparingElement(id: 1), ComparingElement(id: 2)])
      items.transaction { draft in
        ComparingElement.whenCompared = { if draft.count == 2 { draft.remove(at: 0) } }
        draft[1] = ComparingElement(id: 2, version: 2)
      }
      ComparingElement.whenCompared = {}
      precondition(items.snapshot.map(\.id) == [1, 2] && items.snapshot[1].version == 2)
    }
  }

  @Test func `a closure that changes an element and removes another one before it traps`() async {
    await #expect(processExitsWith: .failure) {
      let items = ArrayDataSource([1, 2, 3])
      items.transaction { draft in
        draft.update(at: 1) { element in
          draft.remove(at: 0)
          element = 2
        }
      }
    }
  }

  @Test func `a closure that changes an element may edit other elements`() {
    let items = Items((0..<4).map { TestElement($0) })
    items.transaction { draft in
      draft.update(at: 1) { element in
        draft.append(TestElement(9))
        draft[3].content = 5
        element.content = 7
      }
    }
    #expect(items.snapshot.map(\.content) == [0, 7, 0, 5, 0])
  }

  @Test(.reaches(.changes)) func `publishing a difference leads to the new contents`() throws {
    for seed in UInt64(0)..<60 {
      var editor = RandomEditor<TestElement>(seed: seed, size: seed % 2 == 0 ? 20 : 600)
      let items = Items(editor.variation(of: []))
      let recorder = RecordingObserver(items, seed: seed)
      for _ in 0..<5 {
        let new = editor.variation(of: items.snapshot.array)
        let changeset = Changeset(from: items.snapshot.array, to: new)
        items.publish(
          changeset, inserted: changeset.insertions.lazy.map { new[$0] },
          updated: changeset.updates.lazy.map { new[$0.to] }, status: .loaded)
        #expect(Array(items.snapshot) == new)
      }
      try recorder.check(against: items)
      Coverage.note(recorder)
    }
  }
}

/// An element that calls a closure when it is compared.
private struct ComparingElement: Identifiable, Differentiable, Sendable {
  nonisolated(unsafe) static var whenCompared: (() -> Void)?

  let id: Int
  var version = 1

  func isContentEqual(to source: ComparingElement) -> Bool {
    Self.whenCompared?()
    return version == source.version
  }
}

/// An operator that replaces an element by an equal one, which edits the draft when it is released.
private struct DiscardingOperator: CollectionOperator {
  let input: CollectionInput<Int>

  func start(_ output: CollectionDraft<ReleasedElement>) {
    output.append(ReleasedElement())
  }

  func update(_ output: CollectionDraft<ReleasedElement>) {
    nonisolated(unsafe) weak let kept = output
    output.remove(at: 0)
    output.append(ReleasedElement(token: Token { kept?.removeAll() }))
  }
}

private struct ReleasedElement: Identifiable, Differentiable, Sendable {
  let id = 1
  var token = Token {}

  func isContentEqual(to source: ReleasedElement) -> Bool { true }
}

/// An object that calls a closure when it is released.
private final class Token: Sendable {
  private let whenReleased: @Sendable () -> Void

  init(_ whenReleased: @escaping @Sendable () -> Void) {
    self.whenReleased = whenReleased
  }

  deinit { whenReleased() }
}

extension Changeset {
  /// Creates deletions that may be in a wrong order, as a release build accepts them.
  fileprivate init(unordered deletions: [Int]) {
    self.init(uncheckedDeletions: deletions)
  }
}

extension ArrayDataSource {
  fileprivate func publish(
    _ changeset: Changeset, inserted: [Element], updated: [Element], status: SourceStatus
  ) {
    edit { draft in
      draft.apply(changeset, inserted: inserted, updated: updated)
      draft.newStatus = status
    }
  }
}
