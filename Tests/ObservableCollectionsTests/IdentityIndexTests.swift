import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives
import Testing

/// Searches by identity, which use an index in long collections.
@Suite struct IdentityIndexTests {
  @Test(arguments: [40, 280, 700])
  func `a search finds the first element whatever was edited before`(size: Int) throws {
    for seed in UInt64(0)..<12 {
      var editor = RandomEditor(
        seed: seed, size: size, editsPerStep: 12, allowsDuplicates: seed.isMultiple(of: 2))
      let list = CollectionProperty(
        (0..<size).map { _ in editor.makeElement() })
      var random = editor.random
      for _ in 0..<60 {
        try editor.step(list)
        let elements = Array(list.snapshot)
        if let element = elements.randomElement(using: &random) {
          #expect(
            list.firstIndex(identifiedBy: element.id)
              == elements.firstIndex { $0.id == element.id })
        }
        #expect(list.firstIndex(identifiedBy: -1) == nil)
        if random.oneIn(3), let element = elements.randomElement(using: &random) {
          #expect(list.update(identifiedBy: element.id) { $0.content += 1 })
          #expect(list.remove(identifiedBy: element.id)?.id == element.id)
        }
      }
    }
  }

  @Test func `a search sees the edits of the open transaction`() throws {
    for seed in UInt64(0)..<20 {
      var random = SeededGenerator(seed: seed)
      let list = CollectionProperty((0..<300).map { TestElement($0) })
      _ = list.firstIndex(identifiedBy: 7)
      list.transaction { draft in
        for step in 0..<60 {
          switch random.below(6) {
          case 0: draft.insert(TestElement(1_000 + step), at: random.below(draft.count + 1))
          case 1: draft.remove(at: random.below(draft.count))
          case 2: draft.move(from: random.below(draft.count), to: random.below(draft.count))
          case 3: draft[random.below(draft.count)] = TestElement(2_000 + step)
          case 4:
            let start = random.below(draft.count - 5)
            draft.removeSubrange(start..<start + random.below(5))
          default: draft.replace(with: draft.elements.shuffled(using: &random))
          }
          let offset = random.below(draft.count)
          #expect(draft.firstIndex(identifiedBy: draft[offset].id) == offset)
        }
      }
      for (offset, element) in list.snapshot.enumerated() {
        #expect(list.firstIndex(identifiedBy: element.id) == offset)
      }
    }
  }

  @Test func `a search after a failed transaction finds what was there before`() {
    struct Failure: Error {}
    let list = CollectionProperty((0..<300).map { TestElement($0) })
    _ = list.firstIndex(identifiedBy: 7)
    #expect(throws: Failure.self) {
      try list.transaction { draft in
        draft.removeSubrange(0..<100)
        #expect(draft.firstIndex(identifiedBy: 150) == 50)
        throw Failure()
      }
    }
    #expect(list.firstIndex(identifiedBy: 150) == 150)
    list.transaction { draft in
      draft.removeSubrange(0..<10)
      try? list.transaction { draft in
        draft.removeSubrange(0..<100)
        throw Failure()
      }
      #expect(draft.firstIndex(identifiedBy: 150) == 140)
    }
    #expect(list.firstIndex(identifiedBy: 150) == 140)
    try? withTransaction {
      list.removeAll()
      list.append(contentsOf: (0..<300).map { TestElement($0 + 7) })
      _ = list.firstIndex(identifiedBy: 150)
      throw Failure()
    }
    #expect(list.firstIndex(identifiedBy: 150) == 140)
  }

  @Test func `duplicates are found in order`() {
    let list = CollectionProperty((0..<600).map { TestElement($0 % 300, $0) })
    #expect(list.firstIndex(identifiedBy: 5) == 5)
    list.remove(at: 5)
    #expect(list.firstIndex(identifiedBy: 5) == 304)
    list.append(TestElement(5))
    list.move(from: list.count - 1, to: 0)
    #expect(list.firstIndex(identifiedBy: 5) == 0)
    list[0] = TestElement(6)
    #expect(list.firstIndex(identifiedBy: 5) == 305)
    #expect(list.firstIndex(identifiedBy: 6) == 0)
  }

  @Test func `identities that edit their own list while they are hashed do not mislead a search`() {
    let list = CollectionProperty((0..<300).map { Meddler(number: $0) })
    let meddling = Meddling(list: list)
    list.transaction { draft in
      Meddling.$current.withValue(meddling) {
        for round in 0..<40 {
          draft.insert(Meddler(number: 1_000 + round), at: 3)
          draft[7] = Meddler(number: 2_000 + round)
          draft.remove(at: 20)
          _ = draft.firstIndex(identifiedBy: draft[100].differenceIdentifier)
        }
      }
    }
    #expect(meddling.edits.withLock { $0 } > 0)
    for (offset, element) in list.snapshot.enumerated() {
      #expect(list.firstIndex(identifiedBy: element.differenceIdentifier) == offset)
    }
  }
}

/// What identities do while they are hashed.
private final class Meddling: Sendable {
  @TaskLocal static var current: Meddling?

  let list: CollectionProperty<Meddler>
  let edits = Locked(0)
  private let calls = Locked(0)

  init(list: CollectionProperty<Meddler>) {
    self.list = list
  }

  func meddle() {
    let call = calls.withLock { calls in
      calls += 1
      return calls
    }
    guard call % 50 == 0 else { return }
    list.move(from: call % list.count, to: 0)
    edits.withLock { $0 += 1 }
  }
}

private struct Meddler: Differentiable, Sendable {
  struct Identifier: Hashable, Sendable {
    let number: Int

    func hash(into hasher: inout Hasher) {
      Meddling.current?.meddle()
      hasher.combine(number)
    }
  }

  let number: Int

  var differenceIdentifier: Identifier { Identifier(number: number) }
  func isContentEqual(to source: Meddler) -> Bool { true }
}
