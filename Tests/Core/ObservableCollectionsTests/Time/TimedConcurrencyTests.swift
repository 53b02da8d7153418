import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// Timed and asynchronous operators while several threads edit and time advances.
@Suite(.tags(.concurrency)) struct TimedConcurrencyTests {
  @Test func `threads edit while time advances and lists are made and released`() throws {
    let (items, others, clock) = (Items([]), Items([]), ManualClock())
    let limit = Property(5)
    let source = items.concatenated(with: others)
    let shown = source.expiring(after: .seconds(2), renewsOnUpdate: true, clock: clock)
    let quiet = source.debounced(for: .milliseconds(10), clock: clock)
    let readable = source.throttled(for: .milliseconds(10), clock: clock)
    let newest = source.latest(limit, by: \.content)
    let lists = [shown, quiet, readable, newest]
    let recorders = lists.map { RecordingObserver($0, expectsEveryRevision: false) }
    var workers = (0..<3).map { number in
      Worker {
        var random = SeededGenerator(seed: UInt64(number))
        let items = number == 0 ? others : items
        for step in 0..<300 {
          items.transaction { draft in
            draft.insert(
              TestElement(1_000 * number + step, random.below(50)),
              at: random.below(draft.count + 1))
            if draft.count > 40 { draft.remove(at: random.below(draft.count)) }
            draft[random.below(draft.count)].content += 1
            draft.move(from: random.below(draft.count), to: random.below(draft.count))
          }
        }
      }
    }
    workers.append(
      Worker {
        for step in 0..<600 {
          clock.advance(by: .milliseconds(7))
          if step % 5 == 0 { limit.value = step % 11 }
        }
      })
    workers.append(
      Worker {
        for step in 0..<60 {
          let derived = source.expiring(after: .milliseconds(step), clock: clock)
            .debounced(for: .milliseconds(5), clock: clock)
          let recorder = RecordingObserver(derived, expectsEveryRevision: false)
          _ = recorder.snapshot.count
        }
      })
    for worker in workers { try worker.join() }
    clock.advance(by: .seconds(1))
    for list in lists { list.flushAndWait() }
    for (recorder, list) in zip(recorders, lists) { try recorder.check(against: list) }
    #expect(quiet.snapshot.hasSameContents(as: source.snapshot))
    #expect(readable.snapshot.hasSameContents(as: source.snapshot))
    #expect(newest.count == min(limit.value, source.count))
    clock.advance(by: .seconds(3))
    #expect(shown.isEmpty)
    #expect(clock.sleeperCount == 0)
  }

  @Test func `threads edit while tasks transform`() async throws {
    let items = Items((0..<30).map { TestElement($0) })
    let transform: @Sendable (TestElement) async throws -> TestElement = { element in
      for _ in 0..<element.id % 5 { await Task.yield() }
      if element.content % 11 == 5 { throw SourceError(code: "test", message: "refused") }
      return TestElement(element.id, element.content + 100)
    }
    let list = items.mapAsync(
      concurrency: 4, placeholder: { TestElement($0.id, -1) }, transform: transform)
    let recorder = RecordingObserver(list, expectsEveryRevision: false)
    let workers = (0..<4).map { number in
      Worker {
        var random = SeededGenerator(seed: UInt64(number))
        for step in 0..<200 {
          items.transaction { draft in
            draft.append(TestElement(1_000 * number + 100 + step, random.below(50)))
            if draft.count > 40 { draft.remove(at: random.below(draft.count)) }
            draft[random.below(draft.count)].content += 1
            draft.move(from: random.below(draft.count), to: random.below(draft.count))
          }
          if step % 20 == number {
            _ = items.mapAsync(concurrency: 2, transform: transform).count
          }
        }
      }
    }
    for worker in workers { await Task.detached { try? worker.join() }.value }
    // Every element succeeds in the end.
    items.transaction { draft in
      for index in 0..<draft.count { draft[index].content = 11 }
    }
    try await recorder.wait(forContents: items.snapshot.map { TestElement($0.id, 111) })
    try recorder.check(against: list)
    #expect(list.status == .loaded)
  }
}
