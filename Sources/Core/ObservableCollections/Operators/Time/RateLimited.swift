import Diffing
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
  /// If the source changes again and again, nothing is shown until it stops. To show contents meanwhile, use
  /// ``throttled(for:clock:)``. The list equals the source at the last moment before which it was quiet for the
  /// interval. As long as there was no element yet, changes are shown at once.
  ///
  /// - Parameters:
  ///   - interval: The time that must pass without a change.
  ///   - clock: The clock that measures the interval.
  /// - Complexity: O(1) for a change that is pending, and O(k log n) for the change of k of n elements that is shown. The
  ///   output shares the elements of the source.
  public func debounced(
    for interval: Duration, clock: any Clock<Duration> = ContinuousClock()
  ) -> LiveCollection<Element> {
    rateLimited(.debounce, interval, clock)
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
  case debounce
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
      if limit == .debounce { deadline = alarm.deadline(after: interval, from: now) }
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
    if limit == .throttle { deadline = alarm.deadline(after: interval, from: now) }
  }
}
