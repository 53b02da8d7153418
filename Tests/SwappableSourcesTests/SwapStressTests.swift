import Diffing
import Dispatch
import Foundation
import ObservableCollections
import ReactiveSignals
import SwappableSources
import Synchronization
import Testing

struct Row: Sendable, Hashable, Identifiable, Differentiable {
  let id: Int
  var value: Int
}

/// Replays every event, and counts what breaks the contract.
final class Replay: Sendable {
  let inside = Atomic<Bool>(false)
  let broken = Locked<[String]>([])
  let state = Locked<(snapshot: Snapshot<Row>, revision: Int)?>(nil)

  func see(_ event: CollectionEvent<Row>) {
    if inside.exchange(true, ordering: .sequentiallyConsistent) { fail("T3 concurrent") }
    defer { inside.store(false, ordering: .sequentiallyConsistent) }
    let shown = state.withLock { $0 }
    switch event {
    case .initial(let snapshot, let revision):
      if shown != nil { fail("E1 second initial") }
      state.withLock { $0 = (snapshot, revision) }
    case .change(let change):
      guard let shown else { return fail("E1 change before initial") }
      if shown.revision != change.revisionBefore { fail("E2 revision") }
      if !shown.snapshot.hasSameContents(as: change.before) { fail("E2 before") }
      if change.changeset.isEmpty { fail("E3") }
      let replayed = Snapshot(change.changeset.applying(to: change.before, with: change.after))
      if !replayed.hasSameContents(as: change.after) { fail("E4 \(change)") }
      state.withLock { $0 = (change.after, change.revision) }
    }
  }
  func fail(_ text: String) { broken.withLock { $0.append(text) } }
}

@Suite struct SwapStressTests {
  @Test func everyReplayIsRight() async throws {
    let count = Int(ProcessInfo.processInfo.environment["STRESS"] ?? "20000") ?? 20000
    let arrays = (0..<4).map { base in
      ArrayDataSource((0..<10).map { Row(id: $0 + base, value: 0) })
    }
    let inner = SwappableContainer<Row>(arrays[0])
    let outer = SwappableContainer<Row>(inner)
    let filtered = arrays[1].filter { $0.value % 2 == 0 }
    let joined = arrays[2].concatenated(with: arrays[3].sorted { $0.value < $1.value })
    let sources: [any DataSource<Row>] = arrays + [inner, filtered, joined, outer]
    let replays = Locked<[Replay]>([])
    let commits = Atomic<Int>(0)
    let done = Atomic<Bool>(false)
    let group = DispatchGroup()
    func thread(_ body: @escaping @Sendable (inout SystemRandomNumberGenerator) -> Void) {
      group.enter()
      Thread.detachNewThread {
        var generator = SystemRandomNumberGenerator()
        body(&generator)
        group.leave()
      }
    }
    for _ in 0..<8 {
      thread { generator in
        while commits.add(1, ordering: .relaxed).newValue <= count {
          let array = arrays.randomElement(using: &generator)!
          array.transaction { draft in
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
              let at = draft.isEmpty ? 0 : Int.random(in: 0..<draft.count, using: &generator)
              switch Int.random(in: 0..<5, using: &generator) {
              case 0 where draft.count < 20:
                draft.insert(Row(id: Int.random(in: 0..<30, using: &generator), value: 0), at: at)
              case 1 where draft.count > 4: draft.remove(at: at)
              case 2 where !draft.isEmpty: draft.move(from: at, to: draft.count - 1 - at)
              case 3:
                draft.replace(with: draft.elements.shuffled(using: &generator))
              default: if !draft.isEmpty { draft.update(at: at) { $0.value += 1 } }
              }
            }
          }
        }
        done.store(true, ordering: .releasing)
      }
    }
    for _ in 0..<2 {
      thread { generator in
        while !done.load(ordering: .acquiring) {
          let container = Bool.random(using: &generator) ? inner : outer
          _ = container.swap(to: sources.randomElement(using: &generator)!)
        }
      }
    }
    for index in 0..<3 {
      thread { generator in
        while !done.load(ordering: .acquiring) {
          let bag = DisposeBag()
          for _ in 0..<33 {
            let replay = Replay()
            replays.withLock { $0.append(replay) }
            let reentrant = Int.random(in: 0..<20, using: &generator) == 0
            let container = Bool.random(using: &generator) ? inner : outer
            let seen = Atomic<Int>(0)
            container.observe { event in
              replay.see(event)
              if reentrant, seen.add(1, ordering: .relaxed).newValue < 4 {
                arrays[index].append(Row(id: 99, value: 0))
                arrays[index].removeAll { $0.id == 99 }
                _ = container.observe { _ in }
              }
            }.store(in: bag)
          }
          replays.withLock {
            if $0.count > 2000 { $0.removeAll { $0.broken.withLock { $0.isEmpty } } }
          }
        }
      }
    }
    let lasting = Replay()
    let observation = outer.observe { lasting.see($0) }
    await withCheckedContinuation { continuation in
      group.notify(queue: .global()) { continuation.resume() }
    }
    await outer.flush()
    let final = try #require(lasting.state.withLock { $0 })
    #expect(final.snapshot.hasSameContents(as: outer.snapshot))
    #expect(lasting.broken.withLock { $0 } == [])
    for replay in replays.withLock({ $0 }) { #expect(replay.broken.withLock { $0 } == []) }
    observation.dispose()
  }
}
