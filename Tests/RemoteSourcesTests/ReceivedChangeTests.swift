import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import Testing

@testable import RemoteSources

/// Changes that a process sent that identifies elements in another way.
@Suite(.timeLimit(.minutes(10))) struct ReceivedChangeTests {
  /// A value that identifies itself, and that counts its comparisons.
  private struct Value: Differentiable, Hashable, Sendable {
    static let comparisons = Shared(0)
    let item: Item

    var differenceIdentifier: Value { self }

    static func == (left: Value, right: Value) -> Bool {
      comparisons.modify { $0 += 1 }
      return left.item == right.item
    }

    func hash(into hasher: inout Hasher) { hasher.combine(item) }
  }

  @Test(arguments: 0..<40)
  func `a change of a sender that identifies elements in another way is followed`(
    seed: UInt64
  ) throws {
    var editor = RandomEditor<Item>(seed: seed, repeats: seed % 2 == 0)
    let sent = CollectionProperty<Item>([])
    let received = CollectionProperty<Value>([])
    let observer = RecordingObserver(received)
    let observation = sent.observe { event in
      guard case .change(let change) = event else { return }
      received.publish(
        received: change.changeset,
        inserted: change.inserted.map { Value(item: $0.element) },
        updated: change.updated.map { Value(item: $0.new) }, status: .loaded)
    }
    defer { observation.dispose() }
    for _ in 0..<60 {
      try editor.step(sent)
      #expect(received.snapshot.map(\.item) == Array(sent.snapshot))
    }
    try observer.check()
  }

  @Test func `an update that changes the identity stays an update`() {
    let received = CollectionProperty([Value(item: Item(1)), Value(item: Item(2))])
    let observer = RecordingObserver(received)
    received.publish(
      received: Changeset(
        deletions: [1], insertions: [1], updates: [.init(from: 0, to: 0)]),
      inserted: [Value(item: Item(3))], updated: [Value(item: Item(1, 1))], status: .loaded)
    #expect(observer.changes[0].changeset.updates == [.init(from: 0, to: 0)])
    #expect(observer.changes[0].changeset.deletions == [1])
  }

  @Test func `an update in a long list does not compare all elements`() {
    let items = (0..<20_000).map { Value(item: Item($0)) }
    let received = CollectionProperty(items)
    Value.comparisons.value = 0
    for offset in stride(from: 0, to: 20_000, by: 1_000) {
      received.publish(
        received: Changeset(updates: [.init(from: offset, to: offset)]), inserted: [],
        updated: [Value(item: Item(offset, 1))], status: .loaded)
    }
    #expect(received.snapshot[19_000].item.n == 1)
    #expect(Value.comparisons.value < 1_000)
  }
}
