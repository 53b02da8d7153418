import DataSourceTesting
import Diffing
@testable import ObservableCollections
import ReactiveSignals
import SwappablePrimitives
import TestSupport
import TestTags
import Testing

/// Searches by identity, which use an index in long collections.
@Suite(.tags(.concurrency)) struct IdentityIndexTests {
  @Test(.reaches(.changes), arguments: [40, 280, 700])
  func `a search finds the first element whatever was edited before`(size: Int) throws {
    for seed in UInt64(0)..<12 {
      var editor = RandomEditor(
        seed: seed, size: size, editsPerStep: 12, allowsDuplicates: seed.isMultiple(of: 2))
      let list = ArrayDataSource(
        (0..<size).map { _ in editor.makeElement() })
      let edits = RecordingObserver(counting: list)
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
      Coverage.note(edits)
    }
  }

  @Test(.reaches(.rearrangements)) func `a search sees the edits of the open transaction`() throws {
    for seed in UInt64(0)..<20 {
      var random = SeededGenerator(seed: seed)
      let list = ArrayDataSource((0..<300).map { TestElement($0) })
      _ = list.firstIndex(identifiedBy: 7)
      let edits = RecordingObserver(counting: list)
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
      Coverage.note(edits)
      for (offset, element) in list.snapshot.enumerated() {
        #expect(list.firstIndex(identifiedBy: element.id) == offset)
      }
    }
  }

  @Test func `a search after a failed transaction finds what was there before`() {
    struct Failure: Error {}
    let list = ArrayDataSource((0..<300).map { TestElement($0) })
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
    let list = ArrayDataSource((0..<600).map { TestElement($0 % 300, $0) })
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

  @Test func `an index that nobody searches is given up`() {
    let hashes = Shared(0)
    let count = { hashes.exchange(0) }
    func elements(_ range: Range<Int>) -> [Hashed] { range.map { Hashed(number: $0, hashes) } }
    func search(_ list: ArrayDataSource<Hashed>) {
      #expect(list.firstIndex(identifiedBy: list[7].differenceIdentifier) == 7)
      _ = count()
    }
    let list = ArrayDataSource(elements(0..<1_000))
    search(list)
    list.append(contentsOf: elements(1_000..<10_000))
    #expect(count() == 0)
    search(list)
    list.removeSubrange(9_000..<10_000)
    list.removeSubrange(1_000..<9_000)
    #expect(count() <= 5_000)
    search(list)
    for number in 1_000..<3_000 { list.append(Hashed(number: number, hashes)) }
    #expect(count() <= 500)
    search(list)
    list.append(Hashed(number: 3_000, hashes))
    #expect((1...2).contains(count()))
  }

  @Test func `a transaction that fails without an edit keeps the index`() {
    struct Failure: Error {}
    let hashes = Shared(0)
    let list = ArrayDataSource((0..<1_000).map { Hashed(number: $0, hashes) })
    let identifier = list[900].differenceIdentifier
    #expect(list.firstIndex(identifiedBy: identifier) == 900)
    hashes.value = 0
    for _ in 0..<10 {
      #expect(throws: Failure.self) {
        try list.update(identifiedBy: identifier) { _ in throw Failure() }
      }
    }
    #expect(hashes.value <= 40)
    #expect(list.firstIndex(identifiedBy: identifier) == 900)
  }

  @Test func `an identity that searches twice and edits while it is hashed does not mislead`() {
    let list = ArrayDataSource((0..<1_000).map { Meddler(number: $0) })
    list.transaction { draft in
      _ = draft.firstIndex(identifiedBy: .init(number: 5))
      nonisolated(unsafe) let inner = draft
      let isDone = Shared(false)
      let meddling = Meddling(list: list) {
        if isDone.exchange(true) { return }
        _ = inner.firstIndex(identifiedBy: .init(number: 7))
        _ = inner.firstIndex(identifiedBy: .init(number: 8))
        inner.insert(Meddler(number: 100_000), at: 0)
      }
      let offset = Meddling.$current.withValue(meddling) {
        draft.firstIndex(identifiedBy: .init(number: 500))
      }
      #expect(isDone.value && offset == 501)
    }
  }

  @Test func `an index of a list that has become short is given up`() {
    let index = IdentityIndex(Snapshot((0..<4_000).map { TestElement($0) }))
    for number in 0..<3_500 where !index.isStale {
      #expect(index.firstIndex(identifiedBy: number) == 0)
      index.follow(
        Changeset(deletions: [0]), EditedElements(removed: [TestElement(number)]))
    }
    #expect(index.isStale)
  }

  @Test func `a search of a list never waits for a transaction of another thread`() throws {
    let list = ArrayDataSource((0..<400).map { TestElement($0) })
    #expect(list.firstIndex(identifiedBy: 300) == 300)
    let (inside, go) = (Signpost(), Signpost())
    let owner = Worker {
      list.transaction { draft in
        draft.remove(at: 0)
        inside.open()
        go.pass()
      }
    }
    inside.pass()
    try Worker.run { #expect(list.firstIndex(identifiedBy: 300) == 300) }
    go.open()
    try owner.join()
    #expect(list.firstIndex(identifiedBy: 300) == 299)
  }

  @Test func `an element that searches its own list while it is compared finds what is committed`()
    throws
  {
    let list = ArrayDataSource((0..<300).map { Searcher(number: $0) })
    let found = Shared<[Int?]>([])
    Searcher.whenCompared.value = { [weak list] in
      let offset = list?.firstIndex(identifiedBy: 200)
      found.modify { $0.append(offset) }
    }
    try Worker.run {
      list.transaction { draft in
        draft.remove(at: 0)
        draft.append(Searcher(number: 0, version: 2))
      }
    }
    Searcher.whenCompared.value = nil
    #expect(!found.value.isEmpty && found.value.allSatisfy { $0 == 200 })
    #expect(list.firstIndex(identifiedBy: 200) == 199)
  }

  @Test func `a snapshot returns the first offset of each identity`() {
    let list = ArrayDataSource((0..<600).map { TestElement($0 % 300, $0) })
    list.remove(at: 5)
    let offsets = list.snapshot.firstIndices()
    #expect(offsets.count == 300)
    #expect(offsets[5] == 304 && offsets[4] == 4 && offsets[6] == 5 && offsets[300] == nil)
  }

  @Test func `identities that edit their own list while they are hashed do not mislead a search`() {
    let list = ArrayDataSource((0..<300).map { Meddler(number: $0) })
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

  let list: ArrayDataSource<Meddler>
  let edits = Locked(0)
  private let calls = Locked(0)
  private let action: (@Sendable () -> Void)?

  init(list: ArrayDataSource<Meddler>, action: (@Sendable () -> Void)? = nil) {
    self.list = list
    self.action = action
  }

  func meddle() {
    if let action { return action() }
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

/// An element that counts how often its identity is hashed.
private struct Hashed: Differentiable, Sendable {
  struct Identifier: Hashable, Sendable {
    let number: Int
    let hashes: Shared<Int>

    static func == (one: Self, other: Self) -> Bool { one.number == other.number }

    func hash(into hasher: inout Hasher) {
      hashes.modify { $0 += 1 }
      hasher.combine(number)
    }
  }

  let differenceIdentifier: Identifier

  init(number: Int, _ hashes: Shared<Int>) {
    differenceIdentifier = Identifier(number: number, hashes: hashes)
  }

  func isContentEqual(to source: Hashed) -> Bool { true }
}

/// An element that calls a closure when its content is compared.
private struct Searcher: Differentiable, Sendable {
  static let whenCompared = Shared<(@Sendable () -> Void)?>(nil)

  let number: Int
  var version = 1

  var differenceIdentifier: Int { number }

  func isContentEqual(to source: Searcher) -> Bool {
    Self.whenCompared.value?()
    return true
  }
}
