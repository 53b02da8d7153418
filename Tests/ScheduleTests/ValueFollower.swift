import ReactiveSignals
import SwappablePrimitives

/// An observer of a signal that checks that no two calls overlap (T3), that no call follows the end or `dispose` (T6), and
/// that a signal with a memory sends its latest value before `observe` returns (E1).
final class ValueFollower<Value: Sendable>: @unchecked Sendable {
  // Sendable: of the threads of a scenario, one runs at a time.
  private let scenario: Scenario
  private var isInside = false
  private var isDisposed = false
  private var observation: Disposable?
  /// The values, in order.
  private(set) var seen: [Value] = []
  /// A Boolean value that indicates whether the signal has ended.
  private(set) var hasEnded = false

  init(_ scenario: Scenario) {
    self.scenario = scenario
    scenario.atEnd {
      self.dispose()
      self.observation = nil
    }
  }

  /// Begins to follow a signal.
  ///
  /// - Parameter hasValue: A Boolean value that indicates whether the signal has a memory and a value.
  func follow(
    _ source: some SignalSource<Value>, hasValue: Bool = true,
    then body: @escaping @Sendable (Value) -> Void = { _ in }
  ) {
    observation = source.signal.observe { [self] in
      receive($0, then: body)
    } onCompletion: { [self] in
      enter()
      hasEnded = true
      isInside = false
    }
    scenario.expect(!hasValue || !seen.isEmpty, "E1: no value before observe returns")
  }

  /// Begins to follow a signal on a queue.
  func follow(_ source: some SignalSource<Value>, on queue: ScheduledQueue) {
    let scheduler = DeliveryScheduler { queue.async($0) }
    observation = source.signal.observe(on: scheduler, policy: .everything) { [self] in
      receive($0) { _ in }
    }
  }

  /// Begins to follow the values that a closure observes.
  func follow(
    by observe: (@escaping @Sendable (Value) -> Void) -> Disposable,
    then body: @escaping @Sendable (Value) -> Void = { _ in }
  ) {
    observation = observe { [self] in receive($0, then: body) }
    scenario.expect(!seen.isEmpty, "E1: no value before observe returns")
  }

  private func receive(_ value: Value, then body: (Value) -> Void) {
    enter()
    seen.append(value)
    isInside = false
    body(value)
  }

  private func enter() {
    scenario.expect(!isInside, "T3: an observer is called concurrently with itself")
    scenario.expect(!isDisposed, "T6: a call begins after dispose has returned")
    scenario.expect(!hasEnded, "an event follows the end of a signal")
    isInside = true
    schedulePoint()
  }

  /// Ends the observation. No call begins afterward.
  func dispose() {
    observation?.dispose()
    isDisposed = true
  }
}

extension ValueFollower where Value: Equatable {
  /// Checks that another observer, which has come earlier and is not disposed, has received the same values in the same
  /// order (T3). Call this at the end.
  func checkFollows(_ earlier: ValueFollower) {
    let follows =
      isDisposed
      ? earlier.seen.indices.contains { earlier.seen[$0...].starts(with: seen) }
      : earlier.seen.suffix(seen.count) == seen[...]
    scenario.expect(
      follows || seen.isEmpty, "T3: an observer receives \(seen), and another one \(earlier.seen)")
  }
}
