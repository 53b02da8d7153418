import Diffing
public import ReactiveSignals
import SwappablePrimitives

extension DataSource {
  /// Derives a collection that shows the contents of this one after they have not changed for an interval.
  ///
  ///     let settled = results.debounced(for: .milliseconds(300))
  ///
  /// | in | out |
  /// |---|---|
  /// | the first contents | the same, at once |
  /// | changes, and then none for an interval | one change, or nothing if they cancel each other out |
  /// | a change of the status | the same, at once |
  ///
  /// If the source changes again and again, nothing is shown until it stops, or until the longest wait is over. The list
  /// equals the source at the last moment before which it was quiet for the interval, or at which the wait was over. As
  /// long as there was no element yet, changes are shown at once.
  ///
  /// - Parameters:
  ///   - interval: The time that must pass without a change.
  ///   - longest: The longest time from a change until it is shown, or `nil` if there is no limit.
  ///   - clock: The clock that measures the interval.
  /// - Complexity: O(1) for a change that is pending, and O(k log n) for the change of k of n elements that is shown. The
  ///   output shares the elements of the source.
  public func debounced(
    for interval: Duration, atMost longest: Duration? = nil,
    clock: any Clock<Duration> = ContinuousClock()
  ) -> LiveCollection<Element> {
    rateLimited(.debounce(atMost: longest), interval, clock)
  }

  /// Derives a collection that shows at most one change in each interval.
  ///
  ///     let readable = measurements.throttled(for: .seconds(1))
  ///
  /// | in | out |
  /// |---|---|
  /// | the first contents | the same, at once |
  /// | a change, if nothing was shown during the last interval | the same, at once |
  /// | other changes | one change at the end of the interval, or nothing if they cancel each other out |
  /// | a change of the status | the same, at once |
  ///
  /// A change is shown after an interval at the latest. The first contents count as shown when the list is made, so a
  /// change that follows within an interval is shown at its end. As long as there was no element yet, changes are shown
  /// at once.
  ///
  /// - Parameters:
  ///   - interval: The least time between two changes.
  ///   - clock: The clock that measures the interval.
  /// - Complexity: O(1) for a change that is pending, and O(k log n) for the change of k of n elements that is shown. The
  ///   output shares the elements of the source.
  public func throttled(
    for interval: Duration, clock: any Clock<Duration> = ContinuousClock()
  ) -> LiveCollection<Element> {
    rateLimited(.throttle, interval, clock)
  }

  private func rateLimited(
    _ limit: RateLimit, _ interval: Duration, _ clock: any Clock<Duration>
  ) -> LiveCollection<Element> {
    LiveCollection { inputs in
      RateLimitOperator(
        input: inputs.collection(self), alarm: inputs.alarm(clock), limit: limit,
        interval: interval)
    }
  }
}

/// A way to limit the number of changes.
private enum RateLimit: Sendable {
  case debounce(atMost: Duration?)
  case throttle
}

/// An operator that shows the contents of its input later, several changes as one.
private struct RateLimitOperator<Element: Differentiable & Sendable>: CollectionOperator {
  let input: CollectionInput<Element>
  let alarm: Alarm
  let limit: RateLimit
  let interval: Duration
  /// The changes of the input that are not shown, or `nil` if there is none.
  var pending: ChangesetAccumulator?
  /// The time at which pending changes may be shown.
  var deadline = Duration.zero
  /// The time at which pending changes are shown even if the input goes on to change.
  var latest: Duration?
  var hasShown = false

  mutating func start(_ output: CollectionDraft<Element>) {
    let contents = input.snapshot
    output.replace(with: contents, by: Changeset(insertions: Array(contents.indices)))
    didShow(output, alarm.now)
  }

  mutating func update(_ output: CollectionDraft<Element>) {
    let now = alarm.now
    // The input may change at the very moment when its earlier changes are due.
    if let change = input.change {
      if pending != nil, now >= deadline { show(change.before, output, now) }
      if case .debounce(let longest) = limit {
        if pending == nil { latest = longest.map { alarm.deadline(after: $0, from: now) } }
        deadline = alarm.deadline(after: interval, from: now)
        deadline = min(deadline, latest ?? deadline)
      }
      pending.append(change)
    }
    guard pending != nil else { return }
    if !hasShown || now >= deadline {
      show(input.snapshot, output, now)
    } else {
      alarm.ring(at: deadline)
    }
  }

  mutating func show(
    _ contents: Snapshot<Element>, _ output: CollectionDraft<Element>, _ now: Duration
  ) {
    guard let changes = pending.take(),
      let changeset = changes.normalForm(from: output.snapshot, to: contents)
    else { return }
    output.replace(with: contents, by: changeset)
    didShow(output, now)
  }

  mutating func didShow(_ output: CollectionDraft<Element>, _ now: Duration) {
    hasShown = hasShown || output.count > 0
    if case .throttle = limit { deadline = alarm.deadline(after: interval, from: now) }
  }
}

extension DataSource {
  /// Derives a collection that keeps changes while a property is `true`, and then shows them as one.
  ///
  ///     let rows = results.paused(while: isSelecting)
  ///
  /// | in | out |
  /// |---|---|
  /// | the first contents | the same, at once |
  /// | changes while the property is `false` | the same |
  /// | changes while the property is `true` | one change when it is `false` again, or nothing if they cancel each other out |
  /// | a change of the status | the same, at once |
  ///
  /// - Parameter isPaused: The property, or a view of one.
  /// - Complexity: O(1) for a change that is kept, and O(k log n) for the change of k of n elements that is shown. The
  ///   output shares the elements of the source.
  public func paused(while isPaused: some PropertySource<Bool>) -> LiveCollection<Element> {
    LiveCollection { inputs in
      PauseOperator(input: inputs.collection(self), isPaused: inputs.property(isPaused))
    }
  }
}

/// An operator that shows its input, but not while a property is `true`.
private struct PauseOperator<Element: Differentiable & Sendable>: CollectionOperator {
  let input: CollectionInput<Element>
  let isPaused: PropertyInput<Bool>
  /// The changes of the input that are not shown, or `nil` if there is none.
  var pending: ChangesetAccumulator?
  /// A Boolean value that indicates whether loaded contents are shown. The first ones are not kept.
  var hasShown = false

  mutating func start(_ output: CollectionDraft<Element>) {
    let contents = input.snapshot
    output.replace(with: contents, by: Changeset(insertions: Array(contents.indices)))
    hasShown = input.hasLoaded
  }

  mutating func update(_ output: CollectionDraft<Element>) {
    if let change = input.change { pending.append(change) }
    if isPaused.value, hasShown { return }
    hasShown = input.hasLoaded
    guard let changes = pending.take(),
      let changeset = changes.normalForm(from: output.snapshot, to: input.snapshot)
    else { return }
    output.replace(with: input.snapshot, by: changeset)
  }
}
