import DataSourceTesting
import Diffing
@testable import RemoteSources
import TestTags
import Testing
import TestSupport

@Suite struct ListFingerprintTests {
  @Test func `fingerprints are the same in each process`() {
    // The expected texts come from a program in Python, with its integers and its module `hashlib`.
    #expect(fingerprint([]) == "iq46ch3v2dw4yb6a4nd4pa7szjydlf5j2e36phkcrvwl6mrtdxka")
    #expect(
      fingerprint(["one", "two", "three"])
        == "tsmf434lz7cbwbhcbuij2fvcvo4se5hgls6iip2ygnayej7kwxha")
    #expect(
      fingerprint((0..<1_000).map { "element \($0)" })
        == "25fgemqg5s63tiicctebjybhjx6izlzgezbl36iyv2rjtdafetrq")
  }

  @Test func `different lists have different fingerprints`() {
    let lists = [
      [], [""], ["", ""], ["a"], ["a", "a"], ["a", "a", "a"], ["ab", "c"], ["a", "bc"], ["abc"],
      ["bc", "a"], ["c", "ab"], ["a", "b", "c"], ["a", "c", "b"], ["b", "a", "c"], ["b", "c", "a"],
      ["c", "a", "b"], ["c", "b", "a"], ["abc", ""], ["", "abc"], ["a,b"], ["a\0", "b"],
      ["a", "\0b"],
    ]
    #expect(Set(lists.map { fingerprint($0) }).count == lists.count)
  }

  @Test func `each list with few elements has its own fingerprint`() {
    let lists = everyList(upTo: 5, of: ["", "a", "b"])
    #expect(Set(lists.map { fingerprint($0) }).count == lists.count)
  }

  @Test func `exchanging two elements in a long list changes the fingerprint`() {
    var list = (0..<100).map(String.init)
    let before = fingerprint(list)
    for offset in 0..<99 {
      list.swapAt(offset, offset + 1)
      #expect(fingerprint(list) != before)
      list.swapAt(offset, offset + 1)
    }
    #expect(fingerprint(list) == before)
  }

  @Test(.reaches(.changes)) func `an edited list has the fingerprint of a new one`() {
    // A change of many elements creates the tree again. In the longest list, each change is a few edits of the tree.
    for (size, editCount) in [(6, 3), (40, 10), (600, 12)] {
      for seed in (TestRun.seed ?? 0)..<(TestRun.seed ?? 0) + (TestRun.isLong ? 200 : 5) {
        var list = EditedList(seed: seed, size: size)
        for step in 0..<25 where !list.step(editCount) {
          Issue.record("size \(size), seed \(seed), step \(step): \(list.changeset)")
          break
        }
      }
    }
  }

  @Test func `a list that is edited back has its former fingerprint`() {
    let list = (0..<200).map { encoded("\($0)") }
    let fingerprint = ListFingerprint(list)
    let before = fingerprint.text
    let change = Changeset(
      deletions: [3, 90], insertions: [0, 50], moves: [.init(from: 150, to: 10)],
      updates: [.init(from: 150, to: 10), .init(from: 199, to: 199)])
    fingerprint.apply(change) { encoded("new \($0)") }
    #expect(fingerprint.text != before)
    fingerprint.apply(change.inverse) { list[$0] }
    #expect(fingerprint.text == before)
  }

  @Test func `only inserted and updated elements are encoded`() {
    let list = (0..<200).map { encoded("\($0)") }
    let fingerprint = ListFingerprint(list)
    var offsets: [Int] = []
    fingerprint.apply(
      Changeset(
        deletions: [199], insertions: [20], moves: [.init(from: 100, to: 0)],
        updates: [.init(from: 7, to: 8)])
    ) { offset in
      offsets.append(offset)
      return encoded("new \(offset)")
    }
    #expect(offsets.sorted() == [8, 20])
  }

  @Test func `a list can become empty and grow again`() {
    let fingerprint = ListFingerprint([encoded("a"), encoded("b")])
    fingerprint.apply(Changeset(deletions: [0, 1])) { _ in [] }
    #expect(fingerprint.text == self.fingerprint([]))
    fingerprint.apply(Changeset(insertions: [0])) { _ in encoded("c") }
    #expect(fingerprint.text == self.fingerprint(["c"]))
  }

  private func fingerprint(_ list: [String]) -> String {
    ListFingerprint(list.map { encoded($0) }).text
  }
}

private func encoded(_ text: String) -> [UInt8] { Array(text.utf8) }

/// A list of random elements, and the fingerprint that follows its edits.
private struct EditedList {
  private var random: SeededGenerator
  private var elements: [TestElement]
  private let fingerprint: ListFingerprint
  /// The latest change.
  private(set) var changeset = Changeset.empty

  init(seed: UInt64, size: Int) {
    random = SeededGenerator(seed: seed)
    elements = (0..<size).map { TestElement($0) }
    fingerprint = ListFingerprint(elements.map(Self.encoded))
  }

  /// Edits the list at random. Returns `false` if a new list with the same elements has another fingerprint.
  mutating func step(_ editCount: Int) -> Bool {
    let old = elements
    for _ in 0..<random.below(editCount) + 1 { edit() }
    let new = elements
    changeset = Changeset(from: old, to: new)
    Coverage.note(changeset)
    fingerprint.apply(changeset) { Self.encoded(new[$0]) }
    return fingerprint.text == ListFingerprint(new.map(Self.encoded)).text
  }

  private mutating func edit() {
    let offset = random.below(elements.count + 1)
    guard offset < elements.count else { return insert(at: offset) }
    switch random.below(4) {
    case 0: insert(at: offset)
    case 1: elements.remove(at: offset)
    case 2: elements[offset].content += 1
    default:
      var element = elements.remove(at: offset)
      if random.oneIn(2) { element.content += 1 }
      elements.insert(element, at: random.below(elements.count + 1))
    }
  }

  private mutating func insert(at offset: Int) {
    elements.insert(TestElement(1_000_000 + random.below(1_000_000_000)), at: offset)
  }

  private static func encoded(_ element: TestElement) -> [UInt8] {
    RemoteSourcesTests.encoded("\(element.id) \(element.content)")
  }
}
