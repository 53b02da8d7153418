import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// Rules T2 and T3 on one thread.
@Suite struct ReentrancyTests {
  @Test
  func `an edit inside an observer follows after all have received the current event`() throws {
    let items = Items([1])
    let log = Log<String>([])
    let bag = DisposeBag()
    items.observe { event in
      log.append("a " + event.brief)
      if event.revision == 1 { items.append(3) }
      log.append("a ends")
    }.store(in: bag)
    items.observe { log.append("b " + $0.brief) }.store(in: bag)
    items.append(2)
    #expect(
      log.value == [
        "a 0:[1]", "a ends", "b 0:[1]", "a 0-1:[1, 2]", "a ends", "b 0-1:[1, 2]",
        "a 1-2:[1, 2, 3]", "a ends", "b 1-2:[1, 2, 3]",
      ])
  }

  @Test func `an edit inside an observer is committed immediately`() {
    let items = Items([1])
    let seen = Log<Int>([])
    let observation = items.observe { event in
      guard event.revision == 1 else { return }
      items.append(3)
      seen.append(items.count)
      seen.append(items.revision)
    }
    items.append(2)
    #expect(seen.value == [3, 2])
    observation.dispose()
  }

  @Test func `a thousand edits inside observers do not nest`() throws {
    let items = Items()
    let recorder = RecordingObserver(items)
    let depth = Shared(0)
    let deepest = Shared(0)
    let observation = items.observe { event in
      depth.modify { $0 += 1 }
      deepest.modify { $0 = max($0, depth.value) }
      if event.revision < 1000 { items.append(TestElement(event.revision)) }
      depth.modify { $0 -= 1 }
    }
    #expect(items.count == 1000)
    #expect(deepest.value <= 2)
    try recorder.check(against: items)
    observation.dispose()
  }

  @Test func `another collection edited inside an observer delivers immediately, nested`() {
    let (one, other) = (Items([1]), Items([7]))
    let log = Log<String>([])
    let bag = DisposeBag()
    other.observe { log.append("other " + $0.brief) }.store(in: bag)
    one.observe { event in
      guard event.revision == 1 else { return }
      other.append(8)
      log.append("edited")
    }.store(in: bag)
    one.append(2)
    #expect(log.value == ["other 0:[7]", "other 0-1:[7, 8]", "edited"])
  }

  @Test func `an edit inside the initial event is delivered after it`() throws {
    let items = Items([1])
    let log = Log<String>([])
    let observation = items.observe { event in
      log.append(event.brief)
      if case .initial = event { items.append(2) }
      log.append("ends")
    }
    #expect(log.value == ["0:[1]", "ends", "0-1:[1, 2]", "ends"])
    observation.dispose()
  }

  @Test func `two collections that edit each other come to an end`() throws {
    let (one, other) = (Items(), Items())
    let recorders = [RecordingObserver(one), RecordingObserver(other)]
    let bag = DisposeBag()
    one.observe { if $0.revision < 50 { other.append(TestElement($0.revision)) } }.store(in: bag)
    other.observe { if $0.revision < 50 { one.append(TestElement($0.revision)) } }.store(in: bag)
    one.append(99)
    for recorder in recorders { try recorder.check() }
    try recorders[0].check(against: one)
    try recorders[1].check(against: other)
    #expect(one.count >= 50)
  }

  @Test func `observers are called in order of subscription, also after some have gone`() {
    let items = Items()
    let log = Log<Int>([])
    let observations = (0..<100).map { number in items.observe { _ in log.append(number) } }
    for number in stride(from: 0, to: 100, by: 3) { observations[number].dispose() }
    let late = items.observe { _ in log.append(100) }
    log.value = []
    items.append(1)
    #expect(log.value == (0..<100).filter { $0 % 3 != 0 } + [100])
    for number in 0..<90 { observations[number].dispose() }
    log.value = []
    items.append(2)
    #expect(log.value == [91, 92, 94, 95, 97, 98, 100])
    late.dispose()
  }

  @Test func `an operator's closure may edit the collection`() throws {
    let items = Items([1])
    let filtered = items.filter { element in
      if element.id == 2, items.count == 2 { items.append(3) }
      return true
    }
    let recorder = RecordingObserver(filtered)
    items.append(2)
    #expect(recorder.snapshot.map(\.id) == [1, 2, 3])
    try recorder.check(against: filtered)
  }
}

/// Rule T4 on one thread.
@Suite struct DiamondTests {
  @Test(.reaches(.changes)) func `a diamond sends one event and no intermediate state`() throws {
    let items = Items([1, 2, 3])
    let even = items.filter { $0.id.isMultiple(of: 2) }
    let odd = items.filter { !$0.id.isMultiple(of: 2) }
    let both = even.concatenated(with: odd)
    let recorder = RecordingObserver(both)
    var editor = RandomEditor(seed: 3)
    for _ in 0..<200 {
      let (events, revision) = (recorder.eventCount, items.revision)
      try editor.step(items)
      #expect(recorder.eventCount - events <= items.revision - revision)
      #expect(Array(both.snapshot) == Array(even.snapshot) + Array(odd.snapshot))
      #expect(both.snapshot.count == items.count)
    }
    try recorder.check(against: both)
    Coverage.note(recorder)
  }

  @Test func `every derived collection is up to date when any observer runs`() {
    let items = Items([1])
    let mapped = items.map { TestElement($0.id, $0.content + 1) }
    let sorted = mapped.sorted { $0.id > $1.id }
    let both = sorted.concatenated(with: mapped)
    let bag = DisposeBag()
    let broken = Log<String>([])
    let check: @Sendable (CollectionEvent<TestElement>) -> Void = { event in
      let count = items.count
      if mapped.snapshot.count != count || sorted.snapshot.count != count
        || both.snapshot.count != 2 * count
      {
        broken.append(event.brief)
      }
    }
    for source in [items.collection, mapped, sorted, both] {
      source.observe(check).store(in: bag)
    }
    for id in 2..<20 { items.append(TestElement(id)) }
    items.removeAll()
    #expect(broken.value == [])
  }

  @Test(.reaches(.changes)) func `a collection concatenated with itself follows it`() throws {
    let items = Items([1, 2])
    let twice = items.concatenated(with: items)
    let recorder = RecordingObserver(twice)
    var editor = RandomEditor(seed: 5)
    for _ in 0..<200 { try editor.step(items) }
    #expect(Array(twice.snapshot) == items.snapshot.map(\.self) + items.snapshot.map(\.self))
    try recorder.check(against: twice)
    Coverage.note(recorder)
  }

  @Test(.reaches(.changes)) func `a boundary with one source twice follows it`() throws {
    let (items, other) = (Items([1, 2]), Items([9]))
    let joined = items.concatenated(with: other, items)
    let recorder = RecordingObserver(joined)
    var editor = RandomEditor(seed: 6)
    for _ in 0..<200 { try editor.step(items) }
    #expect(joined.snapshot.count == 2 * items.count + 1)
    try recorder.check(against: joined)
    Coverage.note(recorder)
  }

  @Test func `an operator runs its predicate once for each new element`() {
    let items = Items([1, 2, 3])
    let calls = Log<Int>([])
    let filtered = items.filter { element in
      calls.append(element.id)
      return true
    }
    let recorders = (0..<5).map { _ in RecordingObserver(filtered) }
    items.append(4)
    items.move(from: 0, to: 3)
    items.remove(at: 0)
    items.update(at: 0) { $0.content = 1 }
    #expect(calls.value == [1, 2, 3, 4, 3])
    #expect(recorders.map(\.eventCount) == [5, 5, 5, 5, 5])
  }
}
