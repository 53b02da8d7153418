import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport

/// A list that notes when each element of a source was inserted: the model of the operators that remove elements.
final class NotedList: Sendable {
  struct Entry: Sendable {
    var element: TestElement
    var deadline: Duration
    var number: Int
    var isExpired = false
  }

  private struct State: Sendable {
    var entries: [Entry] = []
    var count = 0
  }

  private let clock: ManualClock
  private let renews: Bool
  private let timeToLive: @Sendable (TestElement) -> Duration?
  private let state = Shared(State())
  private let observation = Shared<Disposable?>(nil)

  init(
    _ source: any DataSource<TestElement>, clock: ManualClock, renews: Bool = false,
    timeToLive: @escaping @Sendable (TestElement) -> Duration? = { _ in nil }
  ) {
    (self.clock, self.renews, self.timeToLive) = (clock, renews, timeToLive)
    observation.value = source.observe { [weak self] event in self?.follow(event) }
  }

  private func follow(_ event: CollectionEvent<TestElement>) {
    let now = clock.now.offset
    state.modify { state in
      func note(_ element: TestElement) -> Entry {
        state.count += 1
        let deadline = timeToLive(element).map { now + $0 } ?? .seconds(Int64.max)
        return Entry(element: element, deadline: deadline, number: state.count)
      }
      switch event {
      case .initial(let snapshot, _): state.entries = snapshot.map(note)
      case .change(let change):
        expire(&state.entries)
        let inserted = change.inserted.map { note($0.element) }
        let updated = change.updated.map { update -> Entry in
          var entry = state.entries[update.from]
          if update.old.id != update.new.id { return note(update.new) }
          entry.element = update.new
          if renews, !entry.isExpired { entry.deadline = note(update.new).deadline }
          return entry
        }
        state.entries = change.changeset.applying(
          to: state.entries, inserted: inserted, updated: updated)
      }
    }
  }

  private func expire(_ entries: inout [Entry]) {
    for index in entries.indices where entries[index].deadline <= clock.now.offset {
      entries[index].isExpired = true
    }
  }

  /// The elements whose time is not over.
  var unexpired: [TestElement] {
    state.modify { state in
      expire(&state.entries)
      return state.entries.filter { !$0.isExpired }.map(\.element)
    }
  }

  /// The elements that were inserted last.
  func latest(_ count: Int) -> [TestElement] {
    let entries = state.value.entries
    let numbers = Set(entries.map(\.number).sorted().suffix(max(0, count)))
    return entries.filter { numbers.contains($0.number) }.map(\.element)
  }
}

/// The model of `debounced` and `throttled`.
final class DelayedList: Sendable {
  private struct State: Sendable {
    var newest: [TestElement] = []
    var shown: [TestElement] = []
    var isPending = false
    var hasShown = false
    var deadline = Duration.zero
  }

  private let clock: ManualClock
  private let interval: Duration
  private let throttles: Bool
  private let state = Shared(State())
  private let observation = Shared<Disposable?>(nil)

  init(
    _ source: any DataSource<TestElement>, clock: ManualClock, interval: Duration, throttles: Bool
  ) {
    (self.clock, self.interval, self.throttles) = (clock, interval, throttles)
    observation.value = source.observe { [weak self] event in self?.follow(event) }
  }

  private func follow(_ event: CollectionEvent<TestElement>) {
    state.modify { state in
      if case .initial(let snapshot, _) = event {
        (state.newest, state.shown) = (Array(snapshot), Array(snapshot))
        state.hasShown = !snapshot.isEmpty
        state.deadline = clock.now.offset + interval
        return
      }
      showPending(&state)
      state.newest = Array(event.snapshot)
      state.isPending = true
      let now = clock.now.offset
      if !throttles { state.deadline = now + interval }
      if !state.hasShown || now >= state.deadline { show(&state, at: now) }
    }
  }

  /// Shows pending contents that were due at the deadline.
  private func showPending(_ state: inout State) {
    if state.isPending, clock.now.offset >= state.deadline { show(&state, at: state.deadline) }
  }

  private func show(_ state: inout State, at time: Duration) {
    state.isPending = false
    if Snapshot(state.shown).hasSameContents(as: Snapshot(state.newest)) { return }
    state.shown = state.newest
    state.hasShown = true
    if throttles { state.deadline = time + interval }
  }

  /// The contents that are shown at this moment.
  var shown: [TestElement] {
    state.modify { state in
      showPending(&state)
      return state.shown
    }
  }
}
