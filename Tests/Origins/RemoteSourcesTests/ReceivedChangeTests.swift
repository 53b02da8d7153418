import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
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

  @Test(.reaches(.changes), arguments: 0..<40)
  func `a change of a sender that identifies elements in another way is followed`(
    seed: UInt64
  ) throws {
    var editor = RandomEditor<Item>(seed: seed, repeats: seed % 2 == 0)
    let sent = ArrayDataSource<Item>([])
    let received = SourceWriter<Value>(of: LiveCollection<Value>.self)
    let observer = RecordingObserver(received.collection)
    let observation = sent.observe { event in
      guard case .change(let change) = event else { return }
      received.publish(
        .changed(
          change.changeset.withLeastMoves,
          inserted: change.inserted.map { Value(item: $0.element) },
          updated: change.updated.map { Value(item: $0.new) }))
    }
    defer { observation.dispose() }
    for _ in 0..<60 {
      try editor.step(sent)
      #expect(received.collection.snapshot.map(\.item) == Array(sent.snapshot))
    }
    try observer.check()
    Coverage.note(observer)
  }

  @Test func `an update that changes the identity stays an update`() {
    let received = SourceWriter<Value>(of: LiveCollection<Value>.self)
    received.publish(.whole([Value(item: Item(1)), Value(item: Item(2))]))
    let observer = RecordingObserver(received.collection)
    received.publish(
      .changed(
        Changeset(deletions: [1], insertions: [1], updates: [.init(from: 0, to: 0)]),
        inserted: [Value(item: Item(3))], updated: [Value(item: Item(1, 1))]))
    #expect(observer.changes[0].changeset.updates == [.init(from: 0, to: 0)])
    #expect(observer.changes[0].changeset.deletions == [1])
  }

  @Test func `an update in a long list does not compare all elements`() {
    let items = (0..<20_000).map { Value(item: Item($0)) }
    let received = SourceWriter<Value>(of: LiveCollection<Value>.self)
    received.publish(.whole(items))
    Value.comparisons.value = 0
    for offset in stride(from: 0, to: 20_000, by: 1_000) {
      received.publish(
        .changed(
          Changeset(updates: [.init(from: offset, to: offset)]), inserted: [],
          updated: [Value(item: Item(offset, 1))]))
    }
    #expect(received.collection.snapshot[19_000].item.n == 1)
    #expect(Value.comparisons.value < 1_000)
  }
}
