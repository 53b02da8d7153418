import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// Histories: rules H1 to H4.
@Suite struct HistoryTests {
  private typealias Items = ArrayDataSource<TestElement>

  /// Collects the events of an observer that resumes, and the contents that they lead to.
  private final class Reader: Sendable {
    let events = Shared<[CollectionEvent<TestElement>]>([])
    let contents: Shared<[TestElement]>
    let revision: Shared<Int>
    let faults = Shared<[String]>([])

    init(_ contents: [TestElement] = [], at revision: Int = 0) {
      self.contents = Shared(contents)
      self.revision = Shared(revision)
    }

    @Sendable func receive(_ event: CollectionEvent<TestElement>) {
      events.value.append(event)
      switch event {
      case .initial(let snapshot, _): contents.value = Array(snapshot)
      case .change(let change):
        if change.revisionBefore != revision.value {
          faults.value.append("since \(change.revisionBefore), not \(revision.value)")
        }
        if Array(change.before) != contents.value { faults.value.append("other contents") }
        if change.changeset.isEmpty { faults.value.append("an empty change") }
        contents.value = change.changeset.applying(to: contents.value, with: Array(change.after))
        if contents.value != Array(change.after) { faults.value.append("does not fold") }
      }
      revision.value = event.revision
    }
  }

  @Test func `an observer resumes by one change, or by none`() throws {
    let items = Items([TestElement(1), TestElement(2)])
    let history = items.history()
    let (token, before) = (history.token, Array(items.snapshot))
    items.append(TestElement(3))
    items.remove(at: 0)
    items.update(at: 0) { $0.content = 7 }

    let reader = Reader(before, at: 0)
    let observation = history.observe(since: token, reader.receive)
    #expect(reader.events.value.count == 1)
    guard case .change(let change) = reader.events.value.first else {
      Issue.record("the first event is no change")
      return
    }
    #expect(
      change.changeset
        == Changeset(deletions: [0], insertions: [1], updates: [.init(from: 1, to: 0)]))
    items.append(TestElement(4))
    #expect(reader.events.value.count == 2)
    #expect(reader.contents.value == Array(items.snapshot))
    observation.dispose()

    let late = Reader(Array(items.snapshot), at: items.revision)
    let unchanged = history.observe(since: history.token, late.receive)
    #expect(late.events.value.isEmpty)
    items.removeAll()
    #expect(late.events.value.count == 1)
    #expect((reader.faults.value + late.faults.value).isEmpty)
    unchanged.dispose()
  }

  @Test func `a change that was undone is no event, and the next one leads on`() {
    let items = Items([TestElement(1)])
    let history = items.history()
    let token = history.token
    items.append(TestElement(2))
    items.remove(at: 1)
    let reader = Reader([TestElement(1)], at: 0)
    let observation = history.observe(since: token, reader.receive)
    #expect(reader.events.value.isEmpty)
    items.append(TestElement(3))
    #expect(reader.revision.value == 3)
    #expect(reader.faults.value == [])
    observation.dispose()
  }

  @Test func `tokens of others and strings that are no tokens begin anew`() {
    let items = Items([TestElement(1)])
    let (history, other) = (items.history(), items.history())
    let epoch = history.token.split(separator: "-")[0]
    for token in [
      nil, other.token, "", "-", "\(epoch)", "\(epoch)-", "\(epoch)-x", "\(epoch)--1",
      "\(epoch)-1", "\(epoch)-99999999999999999999999", "x\(epoch)-0",
    ] {
      let reader = Reader()
      let observation = history.observe(since: token, reader.receive)
      #expect(reader.events.value.count == 1, "\(token ?? "no token")")
      if case .change = reader.events.value.first { Issue.record("\(token ?? "") is taken") }
      observation.dispose()
    }
  }

  @Test(.reaches(.changes), arguments: UInt64(0)..<(TestRun.isLong ? 30 : 10))
  func `each pair of revisions has its change`(seed: UInt64) throws {
    var editor = RandomEditor(seed: seed, allowsDuplicates: seed.isMultiple(of: 2))
    let items = Items(editor.makeElements())
    let history = items.history(retaining: .init(revisions: 25))
    var models = [items.revision: Array(items.snapshot)]
    for _ in 0..<60 {
      try editor.step(items)
      models[items.revision] = Array(items.snapshot)
    }
    let known = history.revisions.map(\.number)
    #expect(known.count <= 26 && known.last == items.revision)
    #expect(known == known.sorted())
    for (revision, model) in models {
      #expect(
        history.snapshot(at: revision).map { Array($0) } == (known.contains(revision) ? model : nil)
      )
    }
    for start in known {
      for end in known {
        let (old, new) = (try #require(models[start]), try #require(models[end]))
        guard let change = history.change(from: start, to: end) else {
          #expect(Snapshot(old).hasSameContents(as: Snapshot(new)))
          continue
        }
        #expect(change.revisionBefore == start && change.revision == end)
        #expect(change.changeset.applying(to: old, with: new) == new)
        Coverage.note(change.changeset)
        #expect(!change.changeset.isEmpty)
      }
      let reader = Reader(try #require(models[start]), at: start)
      let observation = history.observe(since: history.token(at: start), reader.receive)
      #expect(reader.faults.value == [])
      #expect(reader.contents.value == Array(items.snapshot))
      observation.dispose()
    }
  }

  @Test func `a history that is bounded by changes counts each element once`() {
    let items = Items((0..<100).map { TestElement($0) })
    let history = items.history(retaining: .init(revisions: 100_000, changes: 40))
    for round in 1...200 { items.update(at: 5) { $0.content = round } }
    #expect(history.revisions.count == 201)
    for index in 0..<100 { items.update(at: index) { $0.content = -1 } }
    let oldest = history.revisions[0].number
    let change = history.change(from: oldest, to: items.revision)
    #expect((30...45).contains(change?.changeset.updates.count ?? 0))
    #expect(history.snapshot(at: 200) == nil)
  }

  @Test func `a history that is bounded by age forgets what was replaced long ago`() {
    let clock = ManualClock()
    let items = Items([TestElement(0)])
    let history = items.history(retaining: .init(age: .seconds(60)), clock: clock)
    for id in 1...5 {
      clock.advance(by: .seconds(20))
      items.append(TestElement(id))
    }
    // At 100 s, the revision 1 was replaced at 40 s.
    #expect(history.revisions.map(\.number) == [1, 2, 3, 4, 5])
    #expect(history.revisions.map(\.age) == [80, 60, 40, 20, 0].map { .seconds($0) })
    clock.advance(by: .seconds(1))
    #expect(history.snapshot(at: 1) == nil)
    clock.advance(by: .seconds(1_000))
    #expect(history.revisions.map(\.number) == [5])
  }

  /// An element with a text.
  private struct Note: Differentiable, Hashable, Sendable {
    var id: Int
    var text: String
    var differenceIdentifier: Int { id }
  }

  @Test func `a history that is bounded by bytes forgets what does not fit`() {
    let notes = ArrayDataSource([Note(id: 0, text: "")])
    let history = notes.history(retaining: .init(bytes: 10_000_000))
    let token = history.token
    for round in 0..<(TestRun.isLong ? 100 : 30) {
      notes.update(at: 0) { $0.text = String(repeating: "\(round % 10)", count: 1_000_000) }
      // Nine texts of a megabyte fit, with the revisions themselves, beside the latest one.
      #expect((min(round, 8)...9).contains(history.revisions.count - 2), "round \(round)")
    }
    let events = Shared<[CollectionEvent<Note>]>([])
    let observation = history.observe(since: token) { events.append($0) }
    guard case .initial? = events.value.first else {
      Issue.record("a forgotten token is not answered by an initial event")
      return
    }
    // Revisions with short texts need little room.
    for round in 0..<1_000 { notes.update(at: 0) { $0.text = "\(round)" } }
    #expect(history.revisions.count > 900)
    observation.dispose()
  }

  @Test(arguments: [100, 100_000, 1_000_000])
  func `moves count by their number`(limit: Int) {
    var random = SeededGenerator(seed: 7)
    let items = Items((0..<300).map { TestElement($0) })
    let history = items.history(retaining: .init(bytes: limit))
    for _ in 0..<100 { items.replace(with: Array(items.snapshot).shuffled(using: &random)) }
    // Each revision takes 16 bytes for each move, and the memory of a list in another order.
    let size = 300 * (16 + MemoryLayout<TestElement>.stride)
    let count = history.revisions.count
    #expect(count <= 2 + limit / (size / 2) && count >= min(100, 1 + limit / (size * 2)))
    #expect(history.snapshot(at: items.revision).map(Array.init) == Array(items.snapshot))
  }

  @Test func `composed changes count, too`() {
    var random = SeededGenerator(seed: 8)
    func count(resuming: Bool) -> Int {
      let items = Items((0..<200).map { TestElement($0) })
      let history = items.history(retaining: .init(bytes: 400_000))
      for _ in 0..<100 {
        items.replace(with: Array(items.snapshot).shuffled(using: &random))
        if resuming { _ = history.change(from: history.range.lowerBound, to: items.revision) }
      }
      return history.revisions.count
    }
    let (resuming, alone) = (count(resuming: true), count(resuming: false))
    #expect(resuming < alone && resuming > alone / 4, "\(resuming) of \(alone)")
  }

  @Test func `elements count with their texts and collections`() {
    struct Nested: Sendable {
      var name: String?
      var bytes: [UInt8] = []
      var words: [String] = []
      var members: [String: Int] = [:]
    }
    let members = Dictionary(uniqueKeysWithValues: (0..<100).map { ("\($0)", $0) })
    #expect(ElementSize.referencedBytes(of: 7) == 0)
    #expect(ElementSize.referencedBytes(of: "short") == 0)
    let text = String(repeating: "x", count: 100)
    #expect((100..<200).contains(ElementSize.referencedBytes(of: text)))
    for (nested, size) in [
      (Nested(), 0), (Nested(name: String(repeating: "x", count: 1_000)), 1_000),
      (Nested(bytes: Array(repeating: 0, count: 1_000_000)), 1_000_000),
      (Nested(words: Array(repeating: String(repeating: "x", count: 84), count: 100)), 13_200),
      (Nested(members: members), 2_400),
    ] {
      #expect((size...size + 100).contains(ElementSize.referencedBytes(of: nested)), "\(size)")
    }
  }

  @Test func `a collection that stores no elements counts as little`() {
    for value: any Sendable in [
      0..<Int.max, 0...Int.max, repeatElement(7 as UInt8, count: .max),
      stride(from: 0, to: 1_000_000, by: 1), Optional(0..<Int.max),
    ] {
      #expect(ElementSize.referencedBytes(of: value) < 100, "\(value)")
    }
    let text = String(repeating: "x", count: 10_000)
    for value: any Sendable in [text[...], Array(text.utf8)[...], ContiguousArray(text.utf8)] {
      #expect((10_000..<10_200).contains(ElementSize.referencedBytes(of: value)))
    }
  }

  @Test(arguments: [0, 50_000, 100_000])
  func `neighbors that are inserted together copy few nodes`(offset: Int) {
    let notes = ArrayDataSource((0..<100_000).map { Note(id: $0, text: "") })
    let history = notes.history(retaining: .init(bytes: 2_000_000))
    for step in 1...50 {
      let new = (0..<1_000).map { Note(id: 1_000_000 * step + $0, text: "") }
      notes.insert(contentsOf: new, at: offset)
    }
    // A revision has 8 bytes for each insertion, and the nodes on one way through the tree.
    #expect(history.revisions.count == 51)
    for step in 1...(TestRun.isLong ? 50 : 10) {
      let places = stride(from: 0, to: 100_000, by: 100).map { $0 }
      notes.transaction { draft in for place in places { draft[place].text = "\(step)" } }
    }
    // Elements far from each other copy a leaf each.
    #expect((1...4).contains(history.revisions.count))
  }

  @Test func `a history of no bytes keeps the latest revision only, and a negative limit traps`()
    async
  {
    let items = Items([TestElement(1)])
    let history = items.history(retaining: .init(bytes: 0))
    for id in 2...5 {
      items.append(TestElement(id))
      #expect(history.revisions.map(\.number) == [items.revision])
    }
    await #expect(processExitsWith: .failure) {
      _ = CollectionHistory<TestElement>.Retention(bytes: -1)
    }
  }

  @Test func `a slow observer resumes by one change with all that came meanwhile`() throws {
    let items = Items([TestElement(1)])
    let history = items.history()
    let token = history.token
    items.append(TestElement(2))
    let jobs = Shared<[@Sendable () -> Void]>([])
    let reader = Reader([TestElement(1)], at: 0)
    let observation = history.observe(
      since: token, on: DeliveryScheduler { job in jobs.value.append(job) }, reader.receive)
    items.append(TestElement(3))
    items.remove(at: 0)
    while !jobs.value.isEmpty { jobs.value.removeFirst()() }
    #expect(reader.contents.value == [TestElement(2), TestElement(3)])
    #expect(reader.faults.value == [])
    for event in reader.events.value {
      if case .initial = event { Issue.record("the list is sent again") }
    }
    observation.dispose()
  }

  @Test func `ten thousand changes of one row are one update, composed of few parts`() throws {
    let items = Items((0..<1_000).map { TestElement($0) })
    let history = items.history(retaining: .init(revisions: 20_000))
    for round in 1...10_000 { items.update(at: 7) { $0.content = round } }
    let change = try #require(history.change(from: 0, to: items.revision))
    #expect(change.changeset == Changeset(updates: [.init(from: 7, to: 7)]))
    for start in stride(from: 1, to: 10_000, by: 997) {
      let change = try #require(history.change(from: start, to: items.revision))
      #expect(change.changeset == Changeset(updates: [.init(from: 7, to: 7)]))
    }
  }

  @Test func `a token that is ahead of the observers takes nothing back`() {
    let items = Items([TestElement(1)])
    let history = items.history()
    let observation = Shared<Disposable?>(nil)
    let reader = Shared<Reader?>(nil)
    // The operator below the history is computed before observers of the history receive the change.
    let derived = history.map { element in
      if element.id == 2 {
        let ahead = Reader([TestElement(1), TestElement(2)], at: 1)
        reader.value = ahead
        observation.value = history.observe(since: history.token, ahead.receive)
      }
      return element
    }
    items.append(TestElement(2))
    items.append(TestElement(3))
    #expect(derived.count == 3)
    #expect(reader.value?.faults.value == [])
    #expect(reader.value?.contents.value.map(\.id) == [1, 2, 3])
    #expect(reader.value?.events.value.count == 1)
    observation.value?.dispose()
  }

  @Test func `a history of no earlier revisions resumes at the latest one only`() {
    let items = Items([TestElement(1)])
    let history = items.history(retaining: .init(revisions: 0))
    let old = history.token
    items.append(TestElement(2))
    let (late, current) = (Reader(), Reader(Array(items.snapshot), at: 1))
    let observations = [
      history.observe(since: old, late.receive),
      history.observe(since: history.token, current.receive),
    ]
    #expect(late.events.value.count == 1 && current.events.value.isEmpty)
    items.append(TestElement(3))
    #expect(late.contents.value == Array(items.snapshot))
    #expect(current.contents.value == Array(items.snapshot))
    #expect(current.faults.value == [] && current.events.value.count == 1)
    for observation in observations { observation.dispose() }
  }

  @Test func `a history shows the status, and is complete when observers are called`() {
    let items = Items([TestElement(1)])
    let history = items.history()
    let counts = Shared<[Bool]>([])
    // This observer is called before those of the history.
    let observation = items.observe { event in
      counts.value.append(history.snapshot(at: event.revision)?.count == event.snapshot.count)
    }
    items.append(TestElement(2))
    items.setStatus(.failed(SourceError(code: "test", message: "no connection")))
    #expect(history.status == items.status)
    #expect(counts.value == [true, true])
    observation.dispose()
  }

  @Test func `released contents are not kept by a history that has forgotten them`() {
    final class Payload: Sendable {}
    struct Element: Differentiable, Sendable {
      let id: Int
      let payload: Payload
      var differenceIdentifier: Int { id }
      func isContentEqual(to source: Element) -> Bool { payload === source.payload }
    }
    weak var first: Payload?
    let items = ArrayDataSource<Element>()
    let history = items.history(retaining: .init(revisions: 3))
    do {
      let payload = Payload()
      first = payload
      items.append(Element(id: 0, payload: payload))
    }
    for _ in 0..<3 { items.update(at: 0) { $0 = Element(id: 0, payload: Payload()) } }
    #expect(first != nil)
    items.update(at: 0) { $0 = Element(id: 0, payload: Payload()) }
    #expect(first == nil)
    #expect(history.revisions.count == 4)
  }
}

@Suite(.tags(.concurrency)) struct HistoryConcurrencyTests {
  @Test(.reaches("deletion", "insertion")) func `readers resume while threads edit`() throws {
    let items = ArrayDataSource((0..<50).map { TestElement($0) })
    let history = items.history(retaining: .init(revisions: 64))
    let edits = RecordingObserver(counting: items)
    let wrong = Shared(0)
    let workers = (0..<6).map { number in
      Worker {
        var random = SeededGenerator(seed: UInt64(number))
        for step in 0..<300 {
          if number < 3 {
            items.transaction { draft in
              if draft.count > 20, random.oneIn(2) {
                draft.remove(at: random.below(draft.count))
              } else {
                draft.insert(TestElement(1_000 * number + step), at: random.below(draft.count + 1))
              }
            }
          } else {
            let revisions = history.revisions.map(\.number)
            let start = revisions[random.below(revisions.count)]
            guard let old = history.snapshot(at: start) else { continue }
            let shown = Shared(Array(old))
            let observation = history.observe(since: history.token(at: start)) { event in
              if case .change(let change) = event {
                shown.value = change.changeset.applying(to: shown.value, with: Array(change.after))
              }
              if case .initial(let snapshot, _) = event { shown.value = Array(snapshot) }
              if shown.value != Array(event.snapshot) { wrong.value += 1 }
            }
            observation.disposeAndWait()
          }
        }
      }
    }
    for worker in workers { try worker.join() }
    #expect(wrong.value == 0)
    #expect(history.snapshot.hasSameContents(as: items.snapshot))
    Coverage.note(edits)
  }
}
