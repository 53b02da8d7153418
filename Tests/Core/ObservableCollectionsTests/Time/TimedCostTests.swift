import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import Testing

/// Rules O4 and O7 for timed operators: what one change costs, counted.
@Suite(.timeLimit(.minutes(10))) struct TimedCostTests {
  static let sizes = [1_000, 100_000]

  /// Edits a list in each way, one element at a time.
  private func edit(_ items: Items) {
    let middle = items.count / 2
    items[middle].content += 1
    items.insert(TestElement(-1, 6), at: middle)
    items.remove(at: middle + 1)
    items.move(from: middle, to: 3)
  }

  @Test(arguments: sizes) func `closures are called for elements whose time begins`(size: Int) {
    let (items, clock) = (Items((0..<size).map { TestElement($0, $0 % 10) }), ManualClock())
    let (times, renewals, keys) = (Shared(0), Shared(0), Shared(0))
    let lists = [
      items.expiring(clock: clock) { _ in
        times.modify { $0 += 1 }
        return .seconds(1)
      },
      items.expiring(renewsOnUpdate: true, clock: clock) { _ in
        renewals.modify { $0 += 1 }
        return .seconds(1)
      },
      items.latest(100) {
        keys.modify { $0 += 1 }
        return $0.content
      },
    ]
    #expect([times.value, renewals.value, keys.value] == [size, size, size])
    edit(items)
    #expect([times.value, renewals.value, keys.value] == [size + 1, size + 2, size + 2])
    clock.advance(by: .seconds(1))
    #expect([times.value, renewals.value, keys.value] == [size + 1, size + 2, size + 2])
    withExtendedLifetime(lists) {}
  }

  @Test(arguments: sizes) func `a key is compared a few times`(size: Int) {
    struct Key: Comparable, Sendable {
      static let comparisons = Shared(0)
      let value: Int
      static func < (one: Key, other: Key) -> Bool {
        comparisons.modify { $0 += 1 }
        return one.value < other.value
      }
    }
    let items = Items((0..<size).map { TestElement($0, $0) })
    let newest = items.latest(100) { Key(value: $0.content) }
    let logarithm = Int.bitWidth - size.leadingZeroBitCount
    Key.comparisons.value = 0
    edit(items)
    // Three of the edits look for a place.
    #expect(Key.comparisons.value <= 3 * (logarithm + 4))
    withExtendedLifetime(newest) {}
  }

  @Test(arguments: sizes) func `one change visits each operator once`(size: Int) {
    let (items, clock) = (Items((0..<size).map { TestElement($0, $0) }), ManualClock())
    let lists = [
      items.expiring(after: .seconds(1), clock: clock), items.latest(size - 1, by: \.id),
      items.debounced(for: .seconds(1), clock: clock),
    ]
    let domain = items.collection.node.domain
    let before = domain.visits
    items[size / 2].content = 0
    // Two operators mark elements for a filter.
    #expect(domain.visits - before == 5)
    clock.advance(by: .seconds(1))
    // Of these, one filter has nothing to do, and so has `latest`.
    #expect(domain.visits - before == 8)
    withExtendedLifetime(lists) {}
  }

  @Test(arguments: sizes) func `changes have as many operations as elements change`(size: Int) {
    let (items, clock) = (Items((0..<size).map { TestElement($0, $0) }), ManualClock())
    let shown = RecordingObserver(
      items.expiring(after: .seconds(1), clock: clock), replaysEvery: nil)
    let newest = RecordingObserver(items.latest(size / 2), replaysEvery: nil)
    let quiet = RecordingObserver(
      items.debounced(for: .seconds(1), clock: clock), replaysEvery: nil)
    clock.advance(by: .milliseconds(500))
    edit(items)
    #expect(shown.changes.map(\.changeset.changeCount) == [1, 1, 1, 1])
    #expect(newest.changes.allSatisfy { $0.changeset.changeCount <= 2 })
    clock.advance(by: .milliseconds(500))
    // All first elements are due at once. Only the new one stays.
    #expect(shown.snapshot.map(\.id) == [-1])
    #expect(shown.eventCount == 6)
    clock.advance(by: .milliseconds(500))
    #expect(shown.snapshot.isEmpty)
    #expect(quiet.changes.map(\.changeset.changeCount) == [2])
  }

  @Test func `elements that come and go while no task can start are not transformed`() async throws
  {
    let items = Items([0])
    let first = Shared<CheckedContinuation<Void, Never>?>(nil)
    let started = Items()
    let starts = RecordingObserver(started)
    let list = items.mapAsync(concurrency: 1) { element in
      if element.id == 0 {
        await withCheckedContinuation { continuation in
          first.value = continuation
          started.append(element)
        }
      } else {
        started.append(element)
      }
      return element
    }
    let events = RecordingObserver(list)
    try await starts.wait(forContents: [0])
    for number in 1...2_000 {
      items.append(TestElement(number))
      if number > 3 { items.remove(at: 1) }
    }
    first.value?.resume()
    try await events.wait(forContents: items.snapshot)
    #expect(started.snapshot.map(\.id) == [0, 1_998, 1_999, 2_000])
  }
}
