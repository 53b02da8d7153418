import Diffing
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives
import Testing

/// Tests of a few updates whose comparisons edit the same draft.
struct FewUpdatesTests {
  /// Code that a comparison runs once, after a number of comparisons.
  private final class Hook: Sendable {
    private let state = Locked<(rest: Int, action: (@Sendable () -> Void)?)>((0, nil))

    func arm(after count: Int, _ action: @escaping @Sendable () -> Void) {
      state.withLock { $0 = (count, action) }
    }

    func run() {
      let action = state.withLock { state -> (@Sendable () -> Void)? in
        state.rest -= 1
        if state.rest >= 0 { return nil }
        return state.action.take()
      }
      action?()
    }
  }

  private struct Identity: Hashable, Sendable {
    let id: Int
    let hook: Hook

    static func == (one: Identity, other: Identity) -> Bool {
      one.hook.run()
      return one.id == other.id
    }

    func hash(into hasher: inout Hasher) { hasher.combine(id) }
  }

  private struct Item: Differentiable, Sendable, Equatable {
    let id: Int
    var content = 0
    let hook: Hook

    var differenceIdentifier: Identity { Identity(id: id, hook: hook) }
    func isContentEqual(to source: Item) -> Bool {
      hook.run()
      return content == source.content
    }
    static func == (one: Item, other: Item) -> Bool {
      one.id == other.id && one.content == other.content
    }
  }

  private func updates(_ offsets: [Int]) -> Changeset {
    Changeset(updates: offsets.map { .init(from: $0, to: $0) })
  }

  @Test(arguments: 2...6, [false, true])
  func `Edits by a comparison are overwritten`(count: Int, removes: Bool) {
    let hook = Hook()
    let list = ArrayDataSource((0..<10).map { Item(id: $0, hook: hook) })
    let folded = FoldedList(list.collection)
    list.transaction { draft in
      hook.arm(after: 0) {
        list.transaction { draft in
          if removes { draft.removeSubrange(1..<10) } else { draft[1].content = 7 }
        }
      }
      draft.apply(updates(Array(0..<count))) { Item(id: $0, content: 7, hook: hook) }
    }
    #expect(list.snapshot.map(\.content) == (0..<10).map { $0 < count ? 7 : 0 })
    #expect(folded.problem == nil && folded.elements == Array(list.snapshot))
  }

  @Test(arguments: 2...6, 0..<40)
  func `Edits by a comparison of identities follow all updates or none`(count: Int, delay: Int) {
    let hook = Hook()
    let list = ArrayDataSource((0..<1_000).map { Item(id: $0, hook: hook) })
    let folded = FoldedList(list.collection)
    list.transaction { draft in
      _ = draft.firstIndex(identifiedBy: Identity(id: 5, hook: hook))
      hook.arm(after: delay) { list.insert(Item(id: 5_000, hook: hook), at: 0) }
      draft.apply(updates((0..<count).map { 10 * $0 })) {
        Item(id: $0, content: 7, hook: hook)
      }
      hook.arm(after: 0) {}
    }
    #expect(folded.problem == nil && folded.elements == Array(list.snapshot))
    let updated = list.snapshot.filter { $0.content == 7 }.map(\.id)
    #expect(updated == (0..<count).map { 10 * $0 })
  }

  @Test(arguments: [1, 2, 4, 5])
  func `An index that the closure for the elements makes follows the updates`(count: Int) {
    let hook = Hook()
    let list = ArrayDataSource((0..<1_000).map { Item(id: $0, hook: hook) })
    list.transaction { draft in
      draft.apply(Changeset(updates: (0..<count).map { .init(from: 3 * $0, to: 3 * $0) })) {
        offset in
        _ = draft.firstIndex(identifiedBy: Identity(id: 7, hook: hook))
        return Item(id: 5_000 + offset, hook: hook)
      }
      for offset in (0..<count).map({ 3 * $0 }) {
        #expect(draft.firstIndex(identifiedBy: Identity(id: 5_000 + offset, hook: hook)) == offset)
        #expect(draft.firstIndex(identifiedBy: Identity(id: offset, hook: hook)) == nil)
      }
    }
    #expect(list.snapshot[0].id == 5_000)
  }

  @Test(arguments: [2, 4, 5])
  func `An index that a comparison makes follows the updates`(count: Int) {
    let hook = Hook()
    let list = ArrayDataSource((0..<1_000).map { Item(id: $0, hook: hook) })
    list.transaction { draft in
      // Only the first update keeps the identity, so the content is compared.
      let new = (0..<count).map { Item(id: $0 == 0 ? 0 : 5_000 + $0, content: 1, hook: hook) }
      hook.arm(after: 0) {
        list.transaction { _ = $0.firstIndex(identifiedBy: Identity(id: 7, hook: hook)) }
      }
      draft.apply(Changeset(updates: (0..<count).map { .init(from: $0, to: $0) })) { new[$0] }
      for offset in 1..<count {
        #expect(draft.firstIndex(identifiedBy: Identity(id: 5_000 + offset, hook: hook)) == offset)
        #expect(draft.firstIndex(identifiedBy: Identity(id: offset, hook: hook)) == nil)
      }
    }
    #expect(list.snapshot[0].content == 1)
  }
}
