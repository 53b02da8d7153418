import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// Groups that are made and released by some threads while others edit.
@Suite(.tags(.concurrency)) struct GroupingConcurrencyTests {
  @Test func `threads ask for keys while others edit`() throws {
    let items = Items((0..<50).map { TestElement($0, $0 % 8) })
    let index = items.indexed { $0.content }
    let held = index[3]
    let recorder = RecordingObserver(held)
    let editors = (0..<2).map { number in
      Worker {
        var random = SeededGenerator(seed: UInt64(number))
        for step in 0..<300 {
          items.transaction { draft in
            draft.insert(
              TestElement(1_000 * (number + 1) + step, random.below(12)),
              at: random.below(draft.count + 1))
            if draft.count > 60 { draft.remove(at: random.below(draft.count)) }
            draft[random.below(draft.count)].content = random.below(12)
          }
        }
      }
    }
    let readers = (0..<2).map { number in
      Worker {
        for step in 0..<300 {
          let recorder = RecordingObserver(index[(step + number) % 14])
          for element in recorder.snapshot { #expect(element.content == (step + number) % 14) }
        }
      }
    }
    for worker in editors + readers { try worker.join() }
    held.flushAndWait()
    try recorder.check(against: held)
    for key in 0..<14 {
      #expect(index[key].snapshot.elementsEqual(items.snapshot.filter { $0.content == key }))
    }
  }

  @Test func `four threads edit while others hold and release groups and observers come and go`()
    throws
  {
    let (first, second) = (
      Items((0..<60).map { TestElement($0, $0 % 8) }), Items([TestElement(-1, 3)])
    )
    let limit = Property(6)
    let both = first.union(second).filter(by: limit) { $0.content % 9 <= $1 }
    let index = both.indexed { $0.content }
    let groups = both.grouped { $0.content }
    let sections = both.sections(by: \.content, order: .ascending(\.self))
    let flat = groups.flatMap { $0.elements }
    let recorders = [index[2], index[40], flat].map {
      ($0, RecordingObserver($0, keeps: 3, expectsEveryRevision: false))
    }
    let sectionRecorder = RecordingObserver(sections, keeps: 3, expectsEveryRevision: false)
    var workers = (0..<4).map { number in
      Worker {
        var random = SeededGenerator(seed: UInt64(number))
        let items = number % 2 == 0 ? first : second
        for step in 0..<200 {
          items.transaction { draft in
            draft.insert(
              TestElement(1_000 * (number + 1) + step, random.below(12)),
              at: random.below(draft.count + 1))
            if draft.count > 50 { draft.remove(at: random.below(draft.count)) }
            draft[random.below(draft.count)].content = random.below(12)
            draft.move(from: random.below(draft.count), to: random.below(draft.count))
          }
          if step % 40 == 39 { items.removeSubrange(1..<items.count / 2) }
          if step % 20 == 0 {
            withTransaction {
              limit.value = random.below(9)
              first.append(TestElement(-10 * number - step, 40))
              second.append(TestElement(-10 * number - step, 40))
            }
          }
        }
      }
    }
    workers += (0..<3).map { number in
      Worker {
        var random = SeededGenerator(seed: UInt64(number + 100))
        var held: [LiveCollection<TestElement>] = []
        for _ in 0..<200 {
          let key = random.below(60)
          let collection = index[key]
          for element in collection.snapshot { #expect(element.content == key) }
          let recorder = RecordingObserver(
            collection.map { $0 }, keeps: 3, expectsEveryRevision: false)
          held.append(collection)
          if held.count > 5 { held.remove(at: random.below(held.count)) }
          if let group = groups.snapshot.randomElement(using: &random) {
            held.append(group.elements)
            #expect(group.elements.snapshot.allSatisfy { $0.content == group.key })
          }
          recorder.dispose()
          _ = RecordingObserver(sections, keeps: 3, expectsEveryRevision: false).snapshot.count
        }
      }
    }
    for worker in workers { try worker.join() }
    for (source, recorder) in recorders {
      source.flushAndWait()
      try recorder.check(against: source)
    }
    sections.flushAndWait()
    try sectionRecorder.check(against: sections)
    let expected = GroupingTests.sections(Array(both.snapshot), ordered: true) { $0.content }
    #expect(sections.snapshot.hasSameContents(as: Snapshot(expected)))
    for section in expected {
      #expect(index[section.key].snapshot.hasSameContents(as: section.elements))
    }
    let inOrder = GroupingTests.sections(Array(both.snapshot)) { $0.content }
    #expect(flat.snapshot.hasSameContents(as: Snapshot(inOrder.flatMap(\.elements))))
  }

  @Test func `groupings are made and released while others edit`() throws {
    let items = Items((0..<50).map { TestElement($0, $0 % 8) })
    let editors = (0..<2).map { number in
      Worker {
        var random = SeededGenerator(seed: UInt64(number))
        for step in 0..<400 {
          items.transaction { draft in
            draft[random.below(draft.count)].content = random.below(12)
            draft.insert(TestElement(1_000 * (number + 1) + step, 3), at: random.below(draft.count))
            draft.remove(at: random.below(draft.count))
          }
        }
      }
    }
    let makers = (0..<2).map { _ in
      Worker {
        for _ in 0..<150 {
          let sections = items.sections(by: \.content)
          let recorder = RecordingObserver(sections, keeps: 1, expectsEveryRevision: false)
          let count = recorder.snapshot.reduce(0) { $0 + $1.elements.count }
          #expect(recorder.violations.isEmpty && count == items.count)
        }
      }
    }
    for worker in editors + makers { try worker.join() }
  }

  @Test func `threads ask for the groups of a released list, and receive the same collections`()
    throws
  {
    let items = Items((0..<40).map { TestElement($0, $0 % 4) })
    for _ in 0..<50 {
      let groups = Array(items.grouped(by: \.content).snapshot)
      let asked = Shared<[[LiveCollection<TestElement>]]>([])
      let workers = (0..<3).map { _ in
        Worker {
          let collections = groups.map(\.elements)
          asked.modify { $0.append(collections) }
        }
      }
      let editor = Worker { for step in 0..<5 { items[step].content = step % 4 } }
      for worker in workers + [editor] { try worker.join() }
      for collections in asked.value {
        for (group, collection) in zip(groups, collections) {
          #expect(collection === group.elements)
          #expect(
            collection.snapshot.elementsEqual(items.snapshot.filter { $0.content == group.key }))
        }
      }
    }
  }

  @Test func `parameters and joins of two lists follow while threads edit both`() throws {
    let (orders, customers) = (
      Items((0..<40).map { TestElement($0, $0 % 10) }), Items((0..<10).map { TestElement($0, 0) })
    )
    let minimum = Property(0)
    let shown = orders.filter(by: minimum) { $0.id % 6 >= $1 }
    let joined = shown.leftJoined(with: customers, on: \.content)
    let byCustomer = joined.map { TestElement($0.left.id, $0.right?.id ?? -1) }
      .sections(by: \.content)
    let missing = shown.subtracting(orders.joined(with: customers, on: \.content).map(\.left))
    let pairs = RecordingObserver(joined, keeps: 3, expectsEveryRevision: false)
    let sections = RecordingObserver(byCustomer, keeps: 3, expectsEveryRevision: false)
    let rest = RecordingObserver(missing, keeps: 3, expectsEveryRevision: false)
    var workers = (0..<4).map { number in
      Worker {
        var random = SeededGenerator(seed: UInt64(number))
        for step in 0..<200 {
          if number < 3 {
            orders.transaction { draft in
              draft.insert(
                TestElement(100 * (number + 1) + step, random.below(12)),
                at: random.below(draft.count + 1))
              if draft.count > 40 { draft.remove(at: random.below(draft.count)) }
              draft[random.below(draft.count)].content = random.below(12)
            }
          } else {
            withTransaction {
              customers.transaction { draft in
                if draft.count > 8 { draft.remove(at: random.below(draft.count)) }
                draft.append(TestElement(random.below(12), step))
              }
              orders.append(TestElement(-step, random.below(12)))
            }
          }
        }
      }
    }
    workers.append(Worker { for step in 0..<200 { minimum.value = step % 6 } })
    for worker in workers { try worker.join() }
    for source in [joined.status, byCustomer.status] { #expect(source == .loaded) }
    joined.flushAndWait()
    byCustomer.flushAndWait()
    missing.flushAndWait()
    try pairs.check(against: joined)
    try sections.check(against: byCustomer)
    try rest.check(against: missing)
    let (lefts, rights) = (Array(shown.snapshot), Array(customers.snapshot))
    let expected = JoinOracle.leftJoined(lefts, rights, { $0.content }, { $0.id })
    #expect(joined.snapshot.hasSameContents(as: Snapshot(expected)))
    #expect(byCustomer.snapshot.reduce(0) { $0 + $1.elements.count } == expected.count)
    let unmatched = SetOracle.subtraction(
      lefts,
      JoinOracle.joined(Array(orders.snapshot), rights, { $0.content }, { $0.id }).map(\.left))
    #expect(missing.snapshot.hasSameContents(as: Snapshot(unmatched)))
  }

  @Test func `groups behind a slow observer follow the commits that it has missed`() throws {
    let items = Items((0..<40).map { TestElement($0, $0 % 8) })
    let (entered, finished) = (Signpost(), Signpost())
    let slow = items.observe { event in
      guard event.revision == 1 else { return }
      entered.open()
      finished.pass()
    }
    let index = items.indexed { $0.content }
    let groups = items.grouped(by: \.content, order: .ascending(\.self))
    let flat = groups.flatMap { $0.elements }
    let recorders = [index[3], index[20], flat].map {
      ($0, RecordingObserver($0, keeps: 3, expectsEveryRevision: false))
    }
    let deliverer = Worker { items.append(TestElement(-1, 3)) }
    entered.pass()
    for step in 0..<3_000 {
      items.transaction { draft in
        draft[step * 7 % draft.count].content = step % 21
        draft.append(TestElement(100 + step, step % 9))
        draft.remove(at: step * 3 % draft.count)
      }
    }
    let late = index[5]
    finished.open()
    try deliverer.join()
    items.flushAndWait()
    for (source, recorder) in recorders {
      source.flushAndWait()
      try recorder.check(against: source)
    }
    let expected = GroupingTests.sections(Array(items.snapshot), ordered: true) { $0.content }
    #expect(groups.snapshot.map(\.key) == expected.map(\.key))
    #expect(flat.snapshot.hasSameContents(as: Snapshot(expected.flatMap(\.elements))))
    #expect(late.snapshot.elementsEqual(items.snapshot.filter { $0.content == 5 }))
    slow.dispose()
  }

  @Test func `the closure that returns keys may ask for groups and edit the source`() throws {
    try Worker.run {
      let items = Items((0..<40).map { TestElement($0, $0 % 4) })
      let index = Shared<LiveIndex<Int, TestElement>?>(nil)
      let calls = Shared(0)
      let key: @Sendable (TestElement) -> Int = { [weak items] element in
        let number = calls.modify {
          $0 += 1; return $0
        }
        if number > 40, number % 7 == 0, number < 400 {
          items?.append(TestElement(1_000 + number, number % 6))
          _ = index.value?[number % 8].snapshot.count
        }
        return element.content
      }
      index.value = items.indexed(by: key)
      let sections = items.sections(by: key)
      let recorder = RecordingObserver(sections)
      let held = index.value?[2]
      for step in 0..<60 {
        items[step % 40].content = step % 5
        items.append(TestElement(5_000 + step, step % 6))
      }
      #expect(held?.snapshot.map(\.id) == items.snapshot.filter { $0.content == 2 }.map(\.id))
      let expected = GroupingTests.sections(Array(items.snapshot)) { $0.content }
      #expect(sections.snapshot.hasSameContents(as: Snapshot(expected)))
      #expect(throws: Never.self) { try recorder.check(against: sections) }
      index.value = nil
    }
  }

  @Test func `groups of a released list share one new grouping`() throws {
    let (calls, isArmed) = (Shared(0), Shared(false))
    let kept = Shared<LiveIndex<Int, TestElement>.Group?>(nil)
    let other = Shared<LiveCollection<TestElement>?>(nil)
    let items = Items((0..<1_000).map { TestElement($0, $0 % 100) })
    let key: @Sendable (TestElement) -> Int = { element in
      calls.modify { $0 += 1 }
      if isArmed.exchange(false) { try? Worker.run { other.value = kept.value?.elements } }
      return element.content
    }
    let counts = items.grouped(by: key).snapshot.map { $0.elements.count }
    #expect(counts == Array(repeating: 10, count: 100) && calls.value == 2_000)
    kept.value = items.grouped(by: key).snapshot.first
    let elements = try #require(kept.value?.elements)
    // Another thread, and the closure that returns keys, ask for the same group.
    isArmed.value = true
    items.append(TestElement(1_000, 0))
    #expect(elements.count == 11 && calls.value == 4_001)
    let isSame = elements === other.value
    #expect(isSame)
    (kept.value, other.value) = (nil, nil)
  }
}
