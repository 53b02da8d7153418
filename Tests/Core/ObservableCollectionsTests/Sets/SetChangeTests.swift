import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// The exact changes of set operators, and repeated identities.
@Suite struct SetChangeTests {
  private func changes(
    of output: LiveCollection<TestElement>, _ edit: () -> Void
  ) throws -> [Changeset] {
    let recorder = RecordingObserver(output)
    edit()
    try recorder.check(against: output)
    return recorder.changes.map(\.changeset)
  }

  @Test func `the next source takes over an identity by an update or by nothing`() throws {
    let (first, second) = (
      Items([TestElement(1, 1), TestElement(2, 1)]), Items([TestElement(2, 5), TestElement(3, 1)])
    )
    let output = first.union(second)
    let taken = try changes(of: output) { first.remove(at: 1) }
    #expect(taken == [Changeset(updates: [.init(from: 1, to: 1)])])
    #expect(output.snapshot.map(\.content) == [1, 5, 1])
    let back = try changes(of: output) { first.insert(TestElement(2, 5), at: 0) }
    // The element whose source changed is the one that moves.
    #expect(back == [Changeset(moves: [.init(from: 1, to: 0)])])
    second.remove(at: 0)
    #expect(try changes(of: output) { second.insert(TestElement(2, 9), at: 1) } == [])
  }

  @Test func `a deletion in the second source shows only if the first does not have the identity`()
    throws
  {
    let (first, second) = (Items([1, 2]), Items([2, 3]))
    let output = first.union(second)
    #expect(try changes(of: output) { second.remove(at: 0) } == [])
    #expect(try changes(of: output) { second.remove(at: 0) } == [Changeset(deletions: [2])])
  }

  @Test func `an identity occurs as often as in the source that has more of it`() {
    let (first, second) = (Items([1, 1, 2]), Items([1, 2, 2, 2, 3]))
    let (union, intersection) = (first.union(second), first.intersection(second))
    let (difference, other) = (first.subtracting(second), second.subtracting(first))
    #expect(union.snapshot.map(\.id) == [1, 1, 2, 2, 2, 3])
    #expect(intersection.snapshot.map(\.id) == [1, 2])
    #expect(difference.snapshot.map(\.id) == [1] && other.snapshot.map(\.id) == [2, 2, 3])
    first.append(2)
    #expect(union.snapshot.map(\.id) == [1, 1, 2, 2, 2, 3])
    #expect(intersection.snapshot.map(\.id) == [1, 2, 2])
    second.removeAll()
    #expect(union.snapshot.map(\.id) == [1, 1, 2, 2] && intersection.snapshot.isEmpty)
    #expect(difference.snapshot.map(\.id) == [1, 1, 2, 2] && other.snapshot.isEmpty)
  }

  @Test func `distinct shows the first element of each identity`() throws {
    let items = Items([TestElement(1, 0), TestElement(2, 0), TestElement(1, 5)])
    let output = items.distinct()
    #expect(try changes(of: output) { items[2].content = 6 } == [])
    let moved = try changes(of: output) { items.remove(at: 0) }
    #expect(
      moved == [
        Changeset(moves: [.init(from: 0, to: 1)], updates: [.init(from: 0, to: 1)])
      ])
    #expect(output.snapshot.map(\.content) == [0, 6])
  }

  @Test func `distinct by a key replaces an element by another one of its key`() throws {
    let items = Items([TestElement(1, 0), TestElement(2, 1), TestElement(3, 0)])
    let output = items.distinct(by: \.content)
    let replaced = try changes(of: output) { items.remove(at: 0) }
    #expect(replaced == [Changeset(deletions: [0], insertions: [1])])
    #expect(output.snapshot.map(\.id) == [2, 3])
  }

  @Test
  func `an element whose key changes stays in its place, if the new key is not shown before it`()
    throws
  {
    let items = Items([TestElement(1, 0), TestElement(2, 1), TestElement(3, 0)])
    let output = items.distinct(by: \.content)
    let update = Changeset.Update(from: 0, to: 0)
    let alone = try changes(of: output) { items[0].content = 7 }
    #expect(alone == [Changeset(insertions: [2], updates: [update])])
    #expect(output.snapshot.map(\.id) == [1, 2, 3])
    let first = try changes(of: output) { items[0].content = 1 }
    #expect(first == [Changeset(deletions: [1], updates: [update])])
    #expect(output.snapshot.map(\.id) == [1, 3])
    let second = try changes(of: output) { items[2].content = 1 }
    #expect(second == [Changeset(deletions: [1])])
    let both = try changes(of: output) {
      items.transaction { draft in
        (draft[0].content, draft[1].content, draft[2].content) = (4, 5, 4)
      }
    }
    #expect(both == [Changeset(insertions: [1], updates: [update])])
    #expect(output.snapshot.map(\.id) == [1, 2] && output.snapshot.map(\.content) == [4, 5])
  }

  @Test(.reaches("deletion", "insertion", "update"))
  func `elements of one key are included by rank, whatever keys they had before`() throws {
    let first = Items([TestElement(1), TestElement(2), TestElement(1), TestElement(2)])
    let second = Items([TestElement(1), TestElement(2)])
    let outputs = [first.subtracting(second), first.intersection(second), first.union(second)]
    let recorders = outputs.map { RecordingObserver($0) }
    var random = SeededGenerator(seed: 1)
    for step in 0..<500 {
      let items = step % 3 == 0 ? second : first
      items.transaction { draft in
        for _ in 0..<1 + step % 2 {
          draft[random.below(draft.count)] = TestElement(random.below(4), random.below(2))
        }
      }
      let (one, other) = (Array(first.snapshot), Array(second.snapshot))
      #expect(outputs[0].snapshot.map(\.id) == SetOracle.subtraction(one, other).map(\.id))
      #expect(outputs[1].snapshot.map(\.id) == SetOracle.intersection(one, other).map(\.id))
      #expect(outputs[2].snapshot.map(\.id) == SetOracle.union(one, other).map(\.id))
    }
    for (recorder, output) in zip(recorders, outputs) {
      try recorder.check(against: output)
      Coverage.note(recorder)
    }
  }

  @Test
  func `an element that another one replaces is updated, also if a third one has its identity`()
    throws
  {
    let items = Items([1, 2, 1])
    let output = items.distinct()
    let taken = try changes(of: output) { items[0] = 3 }
    // The first element stays (rule C9), and the last one enters.
    #expect(taken == [Changeset(insertions: [2], updates: [.init(from: 0, to: 0)])])
    #expect(output.snapshot.map(\.id) == [3, 2, 1])
  }

  @Test func `keys that are not equal to themselves differ from all others`() throws {
    let items = Items([TestElement(1, 0), TestElement(2, 0), TestElement(3, 4)])
    let output = items.distinct(by: { $0.content == 0 ? Double.nan : Double($0.content) })
    let recorder = RecordingObserver(output)
    #expect(output.snapshot.count == 3)
    items.append(TestElement(4, 0))
    items.append(TestElement(5, 4))
    items[2].content = 0
    items.move(from: 0, to: 3)
    items.remove(at: 1)
    #expect(output.snapshot.map(\.id) == [2, 4, 1, 5])
    try recorder.check(against: output)
  }

  @Test func `an identity that is deleted and inserted in one transaction is kept`() throws {
    let (first, second) = (Items([1, 2, 3]), Items([2, 4]))
    let outputs = [first.union(second), first.subtracting(second), first.distinct()]
    for output in outputs {
      let changes = try changes(of: output) {
        first.transaction { draft in
          let element = draft.remove(at: 0)
          draft.append(element)
        }
        first.transaction { draft in
          draft.remove(at: 2)
          draft.insert(TestElement(1, 0), at: 0)
        }
      }
      #expect(changes.count == 2 && changes.allSatisfy { $0.changeCount == 1 }, "\(changes)")
    }
  }

  @Test func `an element that changes from one source to the other is moved by one event`() throws {
    let (first, second) = (Items([1, 2]), Items([3]))
    let output = first.union(second)
    let changes = try changes(of: output) {
      withTransaction { second.append(first.remove(at: 0)) }
    }
    #expect(changes == [Changeset(moves: [.init(from: 0, to: 2)])])
  }

  @Test func `all changes between short lists`() throws {
    let elements = [TestElement(1, 0), TestElement(1, 1), TestElement(2, 0)]
    let lists = everyList(upTo: 3, of: elements)
    let (first, second) = (Items([]), Items([]))
    let outputs = SetOracle.outputs(first, second)
    let recorders = outputs.map { RecordingObserver($0.source, keeps: 3) }
    // An ordinary run takes one of five changes.
    let stride = TestRun.isLong ? 1 : 5
    for (number, before) in lists.enumerated() {
      for (position, after) in lists.enumerated() where (number + position) % stride == 0 {
        first.replace(with: before)
        withTransaction {
          first.replace(with: after)
          // The second list changes, too, by every other transaction.
          if position.isMultiple(of: 2) {
            second.replace(with: lists[(number * 7 + position * 3) % lists.count])
          }
        }
        for (operation, output) in outputs.enumerated() {
          let expected = output.contents(after, Array(second.snapshot))
          try #require(
            output.source.snapshot.hasSameContents(as: Snapshot(expected)),
            "operator \(operation), from \(before) to \(after), with \(second.snapshot)")
        }
      }
    }
    for (recorder, output) in zip(recorders, outputs) { try recorder.check(against: output.source) }
  }

  @Test func `sets have loaded by the rule of each operation`() {
    let error = SourceError(code: "gone", message: "it is gone")
    let loaded = Items([1])
    for status in [SourceStatus.failed(error), .missing(error), .loading, .loaded] {
      let other = Items(status: status)
      let (isLoaded, isSettled) = (status == .loaded, status != .loading)
      #expect(loaded.union(other).state.hasLoaded == isSettled)
      #expect(other.union(loaded).state.hasLoaded == isSettled)
      for output in [loaded.intersection(other), other.subtracting(loaded)] {
        #expect(output.state.hasLoaded == isLoaded && output.status == status)
      }
      #expect(loaded.leftJoined(with: other, on: \.id).state.hasLoaded == isSettled)
      #expect(other.leftJoined(with: loaded, on: \.id).state.hasLoaded == isLoaded)
      #expect(loaded.joined(with: other, on: \.id).state.hasLoaded == isLoaded)
    }
  }
}
