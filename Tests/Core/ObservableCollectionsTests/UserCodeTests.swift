import DataSourceTesting
import Diffing
import Dispatch
import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// Rule T8: user code that the engine calls may call the engine. Each test runs on a new thread, so a
/// deadlock is reported instead of waited for.
@Suite(.tags(.concurrency)) struct UserCodeConcurrencyTests {
  private let other = Items([7])
  private let bag = DisposeBag()

  /// All calls that user code could make to the collection, and to another one.
  private func meddle(
    _ target: @escaping @Sendable () -> ArrayDataSource<Meddler>?, edits: Bool
  ) -> @Sendable () -> Void {
    let isInside = Shared(false)
    let edited = Shared(0)
    return { [other, bag] in
      // Comparisons inside comparisons would never end.
      if isInside.exchange(true) { return }
      defer { isInside.value = false }
      other.append(8)
      other.remove(at: 0)
      guard let items = target() else { return }
      _ = items.snapshot.count
      _ = items.status
      items.observe { _ in }.dispose()
      items.observe(on: .queue(.global())) { _ in }.dispose()
      items.observeStatus { _ in }.store(in: bag)
      _ = items.map { TestElement($0.id) }.snapshot.count
      _ = items.collection.concatenated(with: ArrayDataSource<Meddler>()).snapshot.count
      // Replays compare as well, and would never end.
      if edits,
        edited.modify({
          $0 += 1; return $0 < 20
        })
      {
        items.append(Meddler(id: 1000))
      }
    }
  }

  private func run(
    edits: Bool = false, _ body: @escaping @Sendable (ArrayDataSource<Meddler>, Meddler) -> Void
  ) throws {
    let items = ArrayDataSource<Meddler>()
    let meddle = meddle({ [weak items] in items }, edits: edits)
    let recorder = RecordingObserver(items)
    try Worker.run {
      for id in 0..<4 { items.append(Meddler(id: id, meddle: meddle)) }
      body(items, Meddler(id: 9, meddle: meddle))
    }
    items.flushAndWait()
    try recorder.check(against: items)
    other.flushAndWait()
  }

  @Test func `comparisons of single edits may call back into the collection`() throws {
    try run(edits: true) { items, new in
      items[0] = new
      items.update(at: 1) { $0.content = 5 }
      items.remove(identifiedBy: 2)
    }
  }

  @Test func `comparisons of a difference may call back into the collection`() throws {
    try run { items, new in
      items.replace(with: items.snapshot.reversed() + [new])
      items.transaction { draft in
        let first = draft.remove(at: 0)
        draft.append(Meddler(id: first.id, content: 3, meddle: first.meddle))
      }
    }
  }

  @Test func `elements that are created lazily may read the draft`() throws {
    let items = Items([1])
    let recorder = RecordingObserver(items)
    items.transaction { draft in
      draft.append(contentsOf: (0..<2).lazy.map { TestElement(draft.count + $0 + 1) })
      draft.insert(contentsOf: draft.elements.lazy.map { _ in TestElement(draft.count) }, at: 1)
    }
    #expect(recorder.changes.last?.after.map(\.id) == [1, 3, 3, 3, 2, 3])
    try recorder.check(against: items)
  }

  @Test func `elements that are created lazily may edit the draft`() throws {
    let items = Items([1, 2, 3])
    let recorder = RecordingObserver(items)
    items.transaction { draft in
      draft.append(
        contentsOf: (4..<6).lazy.map { id in
          draft.remove(at: 0)
          return TestElement(id)
        })
      draft.replace(
        with: (2..<4).lazy.map { id in
          draft.append(TestElement(id + 10))
          return TestElement(id)
        })
      draft.append(20)
    }
    #expect(items.snapshot.map(\.id) == [2, 3, 20])
    try recorder.check(against: items)
  }

  @Test func `edits inside the comparisons of a difference are overwritten`() throws {
    let items = ArrayDataSource<Meddler>()
    let isOn = Shared(false)
    let edits = Shared(0)
    let meddle: @Sendable () -> Void = { [weak items] in
      guard isOn.exchange(false) else { return }
      edits.modify { $0 += 1 }
      items?.remove(at: 0)
      items?.append(Meddler(id: 1000))
      isOn.value = true
    }
    let source = ArrayDataSource<Meddler>()
    let binding = source.bind(to: items)
    source.append(contentsOf: (0..<4).map { Meddler(id: $0, content: 1, meddle: meddle) })
    let recorder = RecordingObserver(items)
    items.transaction { draft in
      let reversed = draft.elements.map { Meddler(id: $0.id, meddle: meddle) }.reversed()
      isOn.value = true
      draft.replace(with: reversed)
      isOn.value = false
      draft.append(Meddler(id: 5))
    }
    #expect(items.snapshot.map(\.id) == [3, 2, 1, 0, 5])
    // The binding compares the contents that it has written last, and finds them edited.
    items.transaction { _ in
      isOn.value = true
      source.append(Meddler(id: 6))
      isOn.value = false
    }
    #expect(items.snapshot.map(\.id) == [0, 1, 2, 3, 6])
    #expect(edits.value > 1)
    binding.dispose()
    try recorder.check(against: items)
  }

  @Test func `edits inside the predicate of a removal are overwritten`() throws {
    let items = Items([1, 2, 3])
    let recorder = RecordingObserver(items)
    items.removeAll { element in
      items.append(9)
      items.remove(at: 0)
      return element.id == 2
    }
    #expect(items.snapshot.map(\.id) == [1, 3])
    try recorder.check(against: items)
  }

  @Test func `comparisons of operators may call back into the collection`() throws {
    try run { items, new in
      let sorted = items.sorted { one, other in
        one.meddle()
        return one.id > other.id
      }
      let mapped = sorted.map { element in
        element.meddle()
        return element
      }
      let joined = mapped.filter { $0.differenceIdentifier != 2 }.concatenated(with: sorted)
      items.append(new)
      items.replace(with: items.snapshot.reversed())
      items.update(at: 0) { $0.content = 2 }
      _ = joined.snapshot.count
    }
  }

  @Test func `comparisons of a binding may call back into the collection`() throws {
    try run { items, new in
      let target = ArrayDataSource<Meddler>()
      let binding = items.bind(to: target)
      items.append(new)
      target.remove(at: 0)
      items.move(from: 0, to: 2)
      binding.dispose()
    }
  }

  @Test func `an element that is released may edit its collection`() throws {
    let items = ArrayDataSource<Meddler>()
    let gone = Shared(0)
    let revive: @Sendable () -> Void = { [weak items, other] in
      gone.modify { $0 += 1 }
      guard let items else { return }
      other.append(8)
      _ = items.snapshot.count
      items.observe { _ in }.dispose()
      if items.count < 50 { items.append(Meddler(id: 100)) }
    }
    let recorder = RecordingObserver(items, keeps: 1)
    try Worker.run {
      for id in 0..<4 { items.append(Meddler(id: id, token: Token(revive))) }
      items.remove(at: 0)
      items.update(at: 0) { $0 = Meddler(id: $0.id, content: 4) }
      // An equal element replaces another: nothing changes, and the new one is released.
      items.transaction { draft in
        draft.remove(at: 1)
        draft.insert(Meddler(id: 3, token: Token(revive)), at: 1)
      }
      // All inserted elements are rolled back.
      try? items.transaction { draft in
        draft.append(Meddler(id: 55, token: Token(revive)))
        throw Refusal()
      }
      try? withTransaction {
        items.append(Meddler(id: 56, token: Token(revive)))
        throw Refusal()
      }
      withTransaction {
        items.append(Meddler(id: 57, token: Token(revive)))
        items.remove(at: items.transaction { $0.count } - 1)
      }
      items.removeAll()
      items.append(Meddler(id: 60))
      items.append(Meddler(id: 61))
    }
    #expect(gone.value > 4)
    try recorder.check(against: items)
  }

  @Test
  func `elements that a transaction over several lists rolls back may edit each list`() throws {
    let (one, two) = (ArrayDataSource<Meddler>(), ArrayDataSource<Meddler>())
    let revive: @Sendable () -> Void = {
      one.append(Meddler(id: 1))
      two.append(Meddler(id: 2))
    }
    for isFirst in [true, false] {
      try Worker.run {
        try? withTransaction {
          if isFirst { two.append(Meddler(id: 8)) }
          one.append(Meddler(id: 9, token: Token(revive)))
          if !isFirst { two.append(Meddler(id: 8)) }
          throw Refusal()
        }
      }
    }
    #expect(one.snapshot.map(\.id) == [1, 1])
    #expect(two.snapshot.map(\.id) == [2, 2])
    // With a draft that was open before, and one that was not.
    try Worker.run {
      one.transaction { draft in
        try? withTransaction {
          two.append(Meddler(id: 8))
          draft.append(Meddler(id: 9, token: Token(revive)))
          throw Refusal()
        }
        try? withTransaction {
          two.append(Meddler(id: 8, token: Token(revive)))
          draft.append(Meddler(id: 9))
          throw Refusal()
        }
      }
    }
    #expect(one.snapshot.map(\.id) == [1, 1, 1, 1])
    #expect(two.snapshot.map(\.id) == [2, 2, 2, 2])
  }

  @Test func `the error of a status may edit its collection when it is released`() throws {
    final class Cause: Error {
      let token: Token
      init(_ token: Token) { self.token = token }
    }
    let items = Items([1])
    let gone = Shared(0)
    try Worker.run {
      for number in 0..<3 {
        let token = Token { [weak items] in
          gone.modify { $0 += 1 }
          items?.append(TestElement(10 + number))
          _ = items?.status
        }
        items.setStatus(
          .failed(SourceError(code: "\(number)", message: "failed", underlying: Cause(token))))
      }
      items.setStatus(.loaded)
      items.append(20)
      items.append(21)
    }
    #expect(gone.value == 3)
    #expect(items.count == 6)
  }

  @Test func `a value that an operator captured may call back when it is released`() throws {
    let items = Items([1])
    let gone = Shared(0)
    try Worker.run {
      for id in 2..<6 {
        let token = Token { [weak items] in
          gone.modify { $0 += 1 }
          items?.append(TestElement(id))
          items?.observe { _ in }.dispose()
        }
        let filtered = items.filter { element in
          withExtendedLifetime(token) {}
          return element.id > 2
        }
        _ = filtered.concatenated(with: Items([9])).snapshot.count
      }
    }
    #expect(gone.value == 4)
    #expect(items.count == 5)
  }

  @Test func `an observer may do everything`() throws {
    let items = Items([1])
    let counts = Shared(0)
    let kept = Shared<[Disposable]>([])
    let observation = items.observe { [other] event in
      counts.modify { $0 += 1 }
      guard event.revision < 5 else { return }
      other.append(8)
      items.append(TestElement(event.revision + 10))
      let inner = items.filter { $0.id > 5 }.concatenated(with: other)
      kept.append(inner.observe { _ in })
      kept.exchange([]).forEach { $0.disposeAndWait() }
      withTransaction {
        items.append(3)
        other.removeAll()
      }
      try? Worker.run { items.append(4) }
    }
    try Worker.run { items.append(2) }
    items.flushAndWait()
    #expect(counts.value == items.revision + 1)
    observation.dispose()
  }

  @Test func `an element that a commit releases may edit another root of the transaction`() async {
    await #expect(processExitsWith: .success) {
      let left = ArrayDataSource([Meddler(id: 1)])
      let right = ArrayDataSource<Meddler>([])
      withTransaction {
        left.remove(at: 0)
        left.insert(
          Meddler(id: 1, token: Token { right.append(Meddler(id: 3)) }), at: 0)
        right.append(Meddler(id: 2))
      }
      precondition(right.snapshot.map(\.id) == [2, 3])
    }
  }
}
