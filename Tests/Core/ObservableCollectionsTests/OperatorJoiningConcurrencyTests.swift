import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// Rule T7: operators that become live while their inputs change.
@Suite(.tags(.concurrency)) struct OperatorJoiningConcurrencyTests {
  @Test func `a node that becomes live inside a pass is computed before those derived from it`()
    throws
  {
    let items = Items([1, 2])
    let (entered, finished) = (Signpost(), Signpost())
    let slow = items.map { element in
      if element.id == 3 {
        entered.open()
        finished.pass()
      }
      return element
    }
    let above = slow.map { TestElement($0.id, 1) }
    let editor = Worker { items.append(3) }
    entered.pass()
    // The pass has gone past the children of the root, and has not come to those of the slow list.
    let late = items.map { TestElement($0.id, 2) }
    let both = above.concatenated(with: late)
    let recorder = RecordingObserver(both)
    finished.open()
    try editor.join()
    #expect(both.snapshot.map(\.id) == [1, 2, 3, 1, 2, 3])
    items.append(4)
    #expect(both.snapshot.map(\.id) == [1, 2, 3, 4, 1, 2, 3, 4])
    try recorder.check(against: both)
  }

  @Test func `a change at the moment when an operator becomes live is not lost`() throws {
    let items = Items([TestElement(1, 0)])
    let property = Property(Numbered(0))
    let rows = LiveCollection { inputs in
      // The second of the recorded values is released when the replay ends.
      Echo(value: inputs.property(property), items: inputs.collection(items)) {
        property.value = Numbered(
          1,
          Token {
            Worker { items.append(TestElement(2, 0)) }.finish()
          })
        property.value = Numbered(2)
      }
    }
    items.flushAndWait()
    #expect(items.count == 2)
    #expect(rows.snapshot.map(\.id) == [1, 2])
  }

  @Test func `an operator that computes slower than another thread commits becomes live`() {
    let items = Items([TestElement(0, 0)])
    let updates = Shared(0)
    let rows = LiveCollection { inputs in
      SlowEcho(items: inputs.collection(items), updates: updates) {
        let worker = Worker { for _ in 0..<100 { items[0].content += 1 } }
        #expect(throws: Never.self) { try worker.join() }
      }
    }
    #expect(updates.value < 1_000, "what is recorded meanwhile is composed")
    let events = RecordingObserver(rows, expectsEveryRevision: false)
    items[0].content += 1
    #expect(rows.snapshot.map(\.content) == [items[0].content])
    #expect(events.violations.isEmpty)
  }

  @Test func `an operator does not keep the first value of its parameter`() {
    let released = Shared(false)
    let items = Items([TestElement(1, 0)])
    let property = Property(Numbered(0, Token { released.value = true }))
    let rows = LiveCollection { inputs in
      Echo(value: inputs.property(property), items: inputs.collection(items)) {}
    }
    property.value = Numbered(1)
    #expect(released.value)
    withExtendedLifetime(rows) {}
  }

  @Test func `an operator that is created inside a transaction's delivery shows all of it or none`()
  {
    let (left, right) = (Items([TestElement(1, 0)]), Items([TestElement(2, 0)]))
    let (mixtures, kept) = (Log<String>([]), Log<Disposable>([]))
    let observation = left.observe { event in
      guard case .change = event else { return }
      let both = left.concatenated(with: right)
      kept.append(
        both.observe { event in
          let contents = event.snapshot.map(\.content)
          if Set(contents).count > 1 { mixtures.append("\(contents)") }
        })
    }
    withTransaction {
      left[0] = TestElement(1, 1)
      right[0] = TestElement(2, 1)
    }
    withKnownIssue("the first state is captured from each domain at its own moment") {
      #expect(mixtures.value == [])
    }
    withExtendedLifetime((observation, kept)) {}
  }
}

extension Worker {
  /// Waits for the end of the thread, without throwing.
  fileprivate func finish() { #expect(throws: Never.self) { try join() } }
}

private final class Numbered: Sendable {
  let number: Int
  let token: Token

  init(_ number: Int, _ token: Token = Token()) {
    self.number = number
    self.token = token
  }
}

/// The elements of a collection, with a property that has no effect.
private struct Echo: CollectionOperator {
  let value: PropertyInput<Numbered>
  let items: CollectionInput<TestElement>
  let onStart: @Sendable () -> Void

  func start(_ output: CollectionDraft<TestElement>) {
    output.replace(with: items.snapshot)
    onStart()
  }

  func update(_ output: CollectionDraft<TestElement>) {
    if items.change != nil { output.replace(with: items.snapshot) }
  }
}

/// The elements of a collection. A closure is called when it starts and in its first 40 updates.
private struct SlowEcho: CollectionOperator {
  let items: CollectionInput<TestElement>
  let updates: Shared<Int>
  let meanwhile: @Sendable () -> Void

  func start(_ output: CollectionDraft<TestElement>) {
    output.replace(with: items.snapshot)
    meanwhile()
  }

  func update(_ output: CollectionDraft<TestElement>) {
    output.replace(with: items.snapshot)
    updates.value += 1
    if updates.value <= 40 { meanwhile() }
  }
}
