import DataSourceTesting
import Diffing
import Dispatch
import Foundation
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives
import TestSupport
import TestTags
import Testing

/// Rule T1 between threads.
@Suite(.tags(.concurrency)) struct TransactionConcurrencyTests {
  @Test func `a mutation of another thread waits for the transaction`() throws {
    let items = Items([1])
    let recorder = RecordingObserver(items)
    let (inside, go) = (Signpost(), Signpost())
    let owner = Worker {
      items.transaction { draft in
        draft.append(2)
        inside.open()
        go.pass()
        draft.append(3)
      }
    }
    inside.pass()
    let other = Worker { items.append(4) }
    // Neither the draft nor the edits of the other thread are visible.
    #expect(Array(items.snapshot) == [1])
    go.open()
    try owner.join()
    try other.join()
    #expect(recorder.events.map(\.brief) == ["0:[1]", "0-1:[1, 2, 3]", "1-2:[1, 2, 3, 4]"])
  }

  @Test func `reads, observation, disposal and other lists never wait for a transaction`() throws {
    let items = Items([1])
    let before = RecordingObserver(items)
    let (inside, go) = (Signpost(), Signpost())
    let owner = Worker {
      items.transaction { draft in
        draft.append(2)
        inside.open()
        go.pass()
      }
    }
    inside.pass()
    let seen = Log<String>([])
    try Worker.run {
      seen.append("\(items.snapshot)")
      let recorder = RecordingObserver(items)
      seen.append(recorder.events.map(\.brief).joined())
      recorder.dispose()
      items.observe { _ in }.disposeAndWait()
      let derived = items.filter { _ in true }
      seen.append("\(derived.snapshot)")
      let joined = items.concatenated(with: Items([9]))
      seen.append("\(joined.snapshot)")
      items.flushAndWait()
    }
    #expect(seen.value == ["[1]", "0:[1]", "[1]", "[1, 9]"])
    go.open()
    try owner.join()
    #expect(before.eventCount == 2)
  }

  @Test func `delivery continues while another thread's transaction is open`() throws {
    let control = PauseControl()
    let items = ArrayDataSource<TestElement>([1], pauseHook: control.hook)
    let recorder = RecordingObserver(items)
    let held = control.arm(.committed)
    let deliverer = Worker { items.append(2) }
    try held.waitUntilReached()
    let (inside, go) = (Signpost(), Signpost())
    let owner = Worker {
      items.transaction { draft in
        draft.append(3)
        inside.open()
        go.pass()
      }
    }
    inside.pass()
    held.release()
    try deliverer.join()
    #expect(recorder.events.map(\.brief) == ["0:[1]", "0-1:[1, 2]"])
    go.open()
    try owner.join()
    #expect(recorder.eventCount == 3)
  }

  @Test func `a transaction that throws lets the next thread in`() throws {
    let items = Items([1])
    let (inside, go) = (Signpost(), Signpost())
    let owner = Worker {
      try? items.transaction { draft in
        draft.append(2)
        inside.open()
        go.pass()
        throw Refusal()
      }
    }
    inside.pass()
    let others = (3..<8).map { id in Worker { items.append(TestElement(id)) } }
    go.open()
    try owner.join()
    for other in others { try other.join() }
    #expect(Set(items.snapshot.map(\.id)) == [1, 3, 4, 5, 6, 7])
  }

  @Test func `a transaction over several collections holds all their gates`() throws {
    let (one, other) = (Items([1]), Items([7]))
    let (inside, go) = (Signpost(), Signpost())
    let owner = Worker {
      withTransaction {
        one.append(2)
        other.append(8)
        inside.open()
        go.pass()
      }
    }
    inside.pass()
    let waiting = [Worker { one.append(3) }, Worker { other.append(9) }]
    #expect(Array(one.snapshot) == [1] && Array(other.snapshot) == [7])
    go.open()
    try owner.join()
    for worker in waiting { try worker.join() }
    #expect(Array(one.snapshot) == [1, 2, 3] && Array(other.snapshot) == [7, 8, 9])
  }

  @Test func `many threads lose no edit`() throws {
    let items = Items()
    let recorder = RecordingObserver(items, replaysEvery: 50)
    let workers = (0..<6).map { number in
      // Fewer edits in all than the number of pending commits at which commits are merged.
      Worker { for step in 0..<150 { items.append(TestElement(number * 1000 + step)) } }
    }
    for worker in workers { try worker.join() }
    items.flushAndWait()
    #expect(items.count == 900 && items.revision == 900)
    #expect(recorder.eventCount == 901)
    try recorder.check(against: items)
  }

  @Test func `gates taken in opposite orders trap`() async {
    await #expect(processExitsWith: .failure) {
      let (one, other) = (ArrayDataSource([1]), ArrayDataSource([2]))
      let (first, second) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      Thread.detachNewThread {
        one.transaction { _ in
          first.signal()
          second.wait()
          other.append(3)
        }
      }
      Thread.detachNewThread {
        other.transaction { _ in
          first.wait()
          second.signal()
          one.append(4)
        }
      }
      _ = DispatchSemaphore(value: 0).wait(timeout: .now() + 60)
    }
  }

  @Test func `three gates in a circle trap`() async {
    await #expect(processExitsWith: .failure) {
      let all = [ArrayDataSource([1]), ArrayDataSource([2]), ArrayDataSource([3])]
      let arrived = DispatchSemaphore(value: 0)
      let go = DispatchSemaphore(value: 0)
      for index in all.indices {
        Thread.detachNewThread {
          all[index].transaction { _ in
            arrived.signal()
            go.wait()
            all[(index + 1) % 3].append(9)
          }
        }
      }
      for _ in all { arrived.wait() }
      for _ in all { go.signal() }
      _ = DispatchSemaphore(value: 0).wait(timeout: .now() + 60)
    }
  }

  @Test func `edits of an observer do not join a transaction of its thread`() throws {
    let input = SignalInput<Int>()
    let log = Items([])
    let observation = input.signal.observe { value in
      if value == 1 {
        let worker = Worker { input.send(2) }
        #expect(throws: Never.self) { try worker.join() }
      } else {
        log.append(TestElement(value, 0))
      }
    }
    try? withTransaction {
      input.send(1)
      throw Refusal()
    }
    #expect(log.snapshot.map(\.id) == [2])
    withExtendedLifetime(observation) {}
  }

  @Test(.reaches("failed transaction", "failed part", "edit", "property"))
  func `random transactions over many roots are whole for each observer`() throws {
    let seed = TestRun.seed ?? .random(in: 0 ... .max)
    print("random transactions: SWAPPABLE_SEED=\(seed)")
    let rounds = TestRun.isLong ? 20_000 : 100
    let roots = (0..<4).map { Items([TestElement($0, 0), TestElement($0 + 100, 0)]) }
    let property = Property(0)
    let first = roots[0].concatenated(with: roots[1])
    let second = LiveCollection { inputs in
      Stamps(
        parts: [roots[2], roots[3]].map { inputs.collection($0) }, value: inputs.property(property))
    }
    let third = LiveCollection { inputs in
      Stamps(
        parts: [
          first.map { $0 }.collection, roots[2].filter { _ in true }.collection,
          second.map { $0 }.collection,
        ]
        .map { inputs.collection($0) }, value: inputs.property(property.map { $0 }))
    }
    let mixtures = Log<String>([])
    let operations = Shared(0)
    let all: [LiveCollection<TestElement>] = [first, second, third]
    @Sendable func check(_ name: String, _ snapshot: Snapshot<TestElement>) {
      let stamps = Set(snapshot.filter { $0.id < 100 }.map(\.content))
      if stamps.count > 1 { mixtures.append("\(name): \(stamps.sorted())") }
    }
    let observations = all.enumerated().map { number, collection in
      collection.observe { check("\(number)", $0.snapshot) }
    }
    let recorders = all.map { RecordingObserver($0, seed: seed, expectsEveryRevision: false) }
    let gate = RecursiveGate()
    let stamp = Shared(0)
    let isOver = Shared(false)
    // Workers are no tasks of the test.
    let coverage = Coverage.current
    let writers = (0..<2).map { thread in
      Worker {
        var random = SeededGenerator(seed: seed &+ UInt64(thread))
        for _ in 0..<rounds {
          operations.modify { $0 += 1 }
          var order = Array(0...4)
          order.shuffle(using: &random)
          let fails = random.oneIn(5)
          if fails { coverage?.note("failed transaction") }
          // One at a time, because the roots are edited in any order.
          gate.enter(as: .current)
          let number = stamp.modify { value in
            value += 1
            return value
          }
          try? withTransaction {
            for index in order {
              if index == 4 {
                property.value = number
                coverage?.note("property")
              } else if random.oneIn(3) {
                coverage?.note("failed part")
                try? withTransaction {
                  roots[index][0] = TestElement(index, -number)
                  throw Refusal()
                }
                roots[index][0] = TestElement(index, number)
              } else {
                roots[index][0] = TestElement(index, number)
                coverage?.note("edit")
              }
            }
            if fails { throw Refusal() }
          }
          gate.leave(as: .current)
        }
      }
    }
    let noise = (0..<2).map { thread in
      Worker {
        var random = SeededGenerator(seed: seed &+ 10 &+ UInt64(thread))
        var kept: [Disposable] = []
        // Bounded: on a busy machine, the noise could starve the writers at the gates of the roots.
        for _ in 0..<20 * rounds where !isOver.value {
          operations.modify { $0 += 1 }
          let root = roots[random.below(4)]
          switch random.below(6) {
          case 0: kept.append(all[random.below(3)].observe { check("late", $0.snapshot) })
          case 1: kept = []
          case 2: _ = all[random.below(3)].map { $0 }.observe { check("map", $0.snapshot) }
          default: root[1] = TestElement(root[1].id, random.below(1_000))
          }
        }
      }
    }
    for writer in writers { try writer.join() }
    isOver.value = true
    for worker in noise { try worker.join() }
    for collection in all { collection.flushAndWait() }
    print("random transactions: \(operations.value) operations")
    #expect(mixtures.value.prefix(5) == [], "seed \(seed)")
    for (recorder, collection) in zip(recorders, all) { try recorder.check(against: collection) }
    #expect(first.snapshot.map(\.id) == [0, 100, 1, 101], "seed \(seed)")
    #expect(
      Array(first.snapshot) == roots[0].snapshot.array + roots[1].snapshot.array, "seed \(seed)")
    withExtendedLifetime(observations) {}
  }
}

/// The elements of several collections, and one with the value of a property.
private struct Stamps: CollectionOperator {
  let parts: [CollectionInput<TestElement>]
  let value: PropertyInput<Int>

  func start(_ output: CollectionDraft<TestElement>) {
    output.replace(
      with: parts.flatMap { Array($0.snapshot) } + [TestElement(50, value.value)])
  }

  func update(_ output: CollectionDraft<TestElement>) { start(output) }
}
