import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// Sets and joins of lists that several threads edit: rules O1 and T12.
@Suite(.tags(.concurrency)) struct CombiningConcurrencyTests {
  @Test func `four threads edit two lists while others combine them`() throws {
    let (first, second) = (Items((0..<40).map { TestElement($0, $0) }), Items([]))
    let key: @Sendable (TestElement) -> Int? = { $0.content % 10 }
    let union = first.union(second)
    let joined = first.joined(with: second, on: key, equals: key)
    let children = union.flatMap { [$0, TestElement(-$0.id, $0.content)] }
    let recorders = [union, children, first.subtracting(second)].map {
      ($0, RecordingObserver($0, expectsEveryRevision: false))
    }
    let pairs = RecordingObserver(joined, expectsEveryRevision: false)
    var workers = (0..<4).map { number in
      Worker {
        var random = SeededGenerator(seed: UInt64(number))
        let (items, other) = number % 2 == 0 ? (first, second) : (second, first)
        for step in 0..<200 {
          let element = TestElement(random.below(60), random.below(50))
          items.transaction { draft in
            draft.insert(element, at: random.below(draft.count + 1))
            if draft.count > 40 { draft.remove(at: random.below(draft.count)) }
            draft[random.below(draft.count)].content += 1
            draft.move(from: random.below(draft.count), to: random.below(draft.count))
          }
          if step.isMultiple(of: 16) {
            withTransaction {
              first.append(element)
              second.append(element)
            }
            _ = other.snapshot.count
          }
        }
      }
    }
    workers.append(
      Worker {
        for _ in 0..<40 {
          let derived = first.leftJoined(with: union, on: { $0.id })
          let recorder = RecordingObserver(derived, expectsEveryRevision: false)
          _ = (recorder.snapshot.count, union.distinct(by: \.content).snapshot.count)
        }
      })
    for worker in workers { try worker.join() }
    for (output, recorder) in recorders {
      output.flushAndWait()
      try recorder.check(against: output)
    }
    joined.flushAndWait()
    try pairs.check(against: joined)
    let (lefts, rights) = (Array(first.snapshot), Array(second.snapshot))
    #expect(union.snapshot.hasSameContents(as: Snapshot(SetOracle.union(lefts, rights))))
    #expect(
      joined.snapshot.hasSameContents(as: Snapshot(JoinOracle.joined(lefts, rights, key, key))))
  }

  @Test func `code of elements may call the engine while lists are combined`() throws {
    try Worker.run {
      let items = ArrayDataSource<Meddler>()
      let calls = Shared(0)
      let meddle: @Sendable () -> Void = { [weak items] in
        guard let items,
          calls.modify({
            $0 += 1; return $0 % 50 == 0 && $0 < 5_000
          })
        else { return }
        items.append(Meddler(id: 1_000))
        _ = items.distinct().snapshot.count
      }
      let key: @Sendable (Meddler) -> Int? = { element in
        element.meddle()
        return element.content
      }
      let children: @Sendable (Meddler) -> [Meddler] = { element in
        element.meddle()
        return [element, element]
      }
      let recorders = [
        items.distinct(), items.union(items.filter { $0.id > 2 }), items.flatMap(children),
      ].map { ($0, RecordingObserver($0)) }
      let joined = items.joined(with: items, on: key, equals: key)
      let pairs = RecordingObserver(joined)
      for id in 0..<6 { items.append(Meddler(id: id % 4, meddle: meddle)) }
      items.update(at: 0) { $0.content = 2 }
      items.replace(with: items.snapshot.reversed())
      items.removeSubrange(0..<2)
      for (output, recorder) in recorders {
        #expect(throws: Never.self) { try recorder.check(against: output) }
      }
      #expect(throws: Never.self) { try pairs.check(against: joined) }
    }
  }

  @Test func `a chain of a thousand joins needs no more than an ordinary stack`() async {
    await #expect(processExitsWith: .success) {
      let worker = Worker {
        let items = Items([TestElement(1, 1)])
        var last = items.concatenated(with: Items([]))
        for _ in 1..<1_000 { last = last.concatenated(with: Items([])) }
        let events = RecordingObserver(last)
        items.append(TestElement(2, 2))
        precondition(events.changes.count == 1)
      }
      try worker.join()
    }
  }
}
