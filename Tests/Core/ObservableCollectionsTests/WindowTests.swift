import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestTags
import Testing

/// Windows: exact events, and the anchored window beside a model.
@Suite struct WindowTests {
  @Test func `an insertion before the end of a prefix pushes the last element out`() throws {
    let list = ArrayDataSource<TestElement>([1, 2, 3, 4])
    let recorder = RecordingObserver(list.prefix(2))
    list.insert(9, at: 0)
    list.append(8)
    list.remove(at: 1)
    list.move(from: 2, to: 0)
    #expect(
      recorder.changes.map(\.changeset) == [
        Changeset(deletions: [1], insertions: [0]),
        Changeset(deletions: [1], insertions: [1]),
        Changeset(deletions: [1], insertions: [0]),
      ])
    try recorder.check()
  }

  @Test func `a page that is scrolled keeps the elements in both windows`() throws {
    let list = ArrayDataSource((0..<100).map { TestElement($0) })
    let page = Property(0..<5)
    let recorder = RecordingObserver(list.window(page))
    page.value = 2..<7
    page.value = 90..<200
    page.value = 300..<400
    #expect(
      recorder.changes.map(\.changeset) == [
        Changeset(deletions: [0, 1], insertions: [3, 4]),
        Changeset(deletions: [0, 1, 2, 3, 4], insertions: Array(0..<10)),
        Changeset(deletions: Array(0..<10)),
      ])
    try recorder.check()
  }

  @Test func `rows that come and go above an anchored page do not shift it`() throws {
    let list = ArrayDataSource((0..<1_000).map { TestElement($0) })
    let anchor = Property<Int?>(500)
    let page = list.window(around: anchor, before: 2, after: 2)
    let recorder = RecordingObserver(page)
    for id in 2_000..<2_050 { list.insert(TestElement(id), at: 3) }
    for _ in 0..<20 { list.remove(at: 0) }
    #expect(recorder.changes.isEmpty)
    #expect(page.snapshot.map(\.id) == [498, 499, 500, 501, 502])
    anchor.value = 502
    #expect(
      recorder.changes.map(\.changeset) == [Changeset(deletions: [0, 1], insertions: [3, 4])])
    list.remove(identifiedBy: 502)
    #expect(page.snapshot.map(\.id) == [500, 501, 503, 504, 505])
    list.append(TestElement(502))
    #expect(page.snapshot.map(\.id) == [998, 999, 502])
    anchor.value = nil
    #expect(page.snapshot.map(\.id) == [2_032, 2_031, 2_030])
    try recorder.check(against: page)
  }

  @Test func `an anchored page goes to another element with the identity of one that is deleted`()
    throws
  {
    let list = ArrayDataSource([
      TestElement(1), TestElement(2, 0), TestElement(9), TestElement(2, 1),
    ])
    let page = list.window(around: Property<Int?>(2), before: 0, after: 0)
    let recorder = RecordingObserver(page)
    list.remove(at: 1)
    #expect(Array(page.snapshot) == [TestElement(2, 1)])
    list[2] = TestElement(3, 1)
    list[0] = TestElement(2, 2)
    #expect(Array(page.snapshot) == [TestElement(2, 2)])
    try recorder.check(against: page)
  }

  @Test func `an anchored page over a list that loads later is empty, and then around the element`()
  {
    let list = ArrayDataSource<TestElement>(status: .loading)
    let page = list.window(around: Property<Int?>(5), before: 1, after: 1)
    #expect(page.snapshot.isEmpty && page.status.state == .loading)
    list.publish((0..<10).map { TestElement($0) }, status: .loaded)
    #expect(page.snapshot.map(\.id) == [4, 5, 6])
  }

  @Test(.reaches(.changes), arguments: [8, 60, 400])
  func `an anchored page equals its model`(size: Int) throws {
    for seed in UInt64(0)..<40 {
      var editor = RandomEditor(seed: seed, size: size, allowsDuplicates: seed % 2 == 1)
      let list = ArrayDataSource((0..<size).map { _ in editor.makeElement() })
      let anchor = Property<Int?>(nil)
      let page = list.window(around: anchor, before: 2, after: 3)
      let recorder = RecordingObserver(page, seed: seed)
      let changes = RecordingObserver(list, replaysEvery: nil)
      var random = SeededGenerator(seed: seed)
      var model = AnchorModel()
      for _ in 0..<40 {
        let (before, changeCount) = (Array(list.snapshot), changes.changes.count)
        let isSet = random.oneIn(2)
        try withTransaction {
          if !random.oneIn(3) { try editor.step(list) }
          if isSet {
            anchor.value =
              random.oneIn(4)
              ? nil : (Array(list.snapshot) + before).randomElement(using: &random)?.id
          }
        }
        let change = changes.changes.count > changeCount ? changes.changes.last : nil
        model.follow(change, list.snapshot.map(\.id), anchor.value, isSet: isSet)
        let expected = model.window(list.snapshot.map(\.id), before: 2, after: 3)
        #expect(page.snapshot.map(\.id) == expected, "seed \(seed)")
      }
      try recorder.check(against: page)
      Coverage.note(recorder)
    }
  }
}

/// The anchor of a window.
private struct AnchorModel {
  var anchor = 0
  var isFound = false

  mutating func follow(
    _ change: CollectionChange<TestElement>?, _ elements: [Int], _ identifier: Int?, isSet: Bool
  ) {
    guard let identifier else {
      (anchor, isFound) = (0, false)
      return
    }
    var origins = Array(elements.indices)
    if let change {
      let changeset = Changeset(
        deletions: change.changeset.deletions, insertions: change.changeset.insertions,
        moves: change.changeset.moves)
      origins = changeset.applying(
        to: Array(change.before.indices), with: Array(repeating: -1, count: elements.count))
    }
    let candidates =
      Array(anchor...max(anchor, change?.before.count ?? 0)) + (0..<anchor).reversed()
    let isKept = origins.contains(anchor)
    anchor = candidates.lazy.compactMap { origins.firstIndex(of: $0) }.first ?? 0
    if isFound, isKept, !isSet, elements[anchor] == identifier { return }
    let found = elements.firstIndex(of: identifier)
    isFound = found != nil
    if let found { anchor = found }
  }

  func window(_ elements: [Int], before: Int, after: Int) -> [Int] {
    if elements.isEmpty { return [] }
    return Array(elements[max(0, anchor - before)..<min(elements.count, anchor + after + 1)])
  }
}
