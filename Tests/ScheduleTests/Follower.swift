import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives

/// An observer of a list that checks each event against the contract (E1 to E5, C1 to C5), and that no two calls overlap
/// (T3).
final class Follower<Element: Differentiable & Equatable & Sendable>: @unchecked Sendable {
  // Sendable: of the threads of a scenario, one runs at a time.
  let scenario: Scenario
  private let recorder = RecordingObserver<Element>()
  private var isInside = false
  private var isDisposed = false
  private var observation: Disposable?
  /// The contents that an observer that resumes has, until its first event.
  private var held: CollectionEvent<Element>?
  /// The number of times that a queue was asked to call this observer.
  private var turn = 0
  /// The contents of each event, in order.
  private(set) var seen: [[Element]] = []

  init(_ scenario: Scenario) {
    self.scenario = scenario
    scenario.atEnd { self.release() }
  }

  /// Begins to follow a source. The first event arrives before this method returns.
  func follow(
    _ source: any DataSource<Element>, then body: @escaping @Sendable ([Element]) -> Void = { _ in }
  ) {
    let observation = source.observe { [self] event in receive(event, then: body) }
    scenario.expect(!seen.isEmpty || isDisposed, "E1: no event before observe returns")
    self.observation = observation
    if isDisposed { observation.dispose() }
  }

  /// Begins to follow a source on a queue. Two queues that take turns are a concurrent one.
  func follow(
    _ source: any DataSource<Element>, on queues: ScheduledQueue..., policy: DeliveryPolicy
  ) {
    let scheduler = DeliveryScheduler { [self] job in
      turn += 1
      queues[turn % queues.count].async(job)
    }
    observation = source.observe(on: scheduler, policy: policy) { [self] in receive($0) { _ in } }
  }

  /// Begins to follow a history from a revision on, whose contents count as the first event (H2).
  ///
  /// - Parameter mayForget: A Boolean value that indicates whether the history may have forgotten the revision, so the
  ///   first event may be an `initial` one.
  func resume(
    _ history: CollectionHistory<Element>, at revision: Int, with contents: Snapshot<Element>,
    since token: String, mayForget: Bool = false
  ) {
    held = .initial(contents, revision: revision)
    observation = history.observe(since: token) { [self] event in
      if let first = held {
        held = nil
        if case .initial = event {
          scenario.expect(mayForget, "H2: an initial event, although the history has the revision")
        } else {
          receive(first) { _ in }
        }
      }
      receive(event) { _ in }
    }
  }

  private func receive(_ event: CollectionEvent<Element>, then body: ([Element]) -> Void) {
    scenario.expect(!isInside, "T3: an observer is called concurrently with itself")
    scenario.expect(!isDisposed, "T6: a call begins after dispose has returned")
    isInside = true
    schedulePoint()
    withoutSteps {
      recorder.receive(event)
      seen.append(Array(event.snapshot))
    }
    isInside = false
    body(seen[seen.count - 1])
  }

  /// Ends the observation. No call begins afterward.
  func dispose() {
    observation?.dispose()
    isDisposed = true
  }

  /// Ends the observation. No call is in progress afterward.
  func disposeAndWait() {
    observation?.disposeAndWait()
    scenario.expect(!isInside, "T6: a call is in progress after disposeAndWait has returned")
    isDisposed = true
  }

  /// Ends the observation, and releases it and its source.
  func release() {
    dispose()
    observation = nil
  }

  /// Checks all events, and that they lead to the contents of the source.
  func check(against source: any DataSource<Element>) throws {
    try withoutSteps {
      if let held { recorder.receive(held) }
      if isDisposed { try recorder.check() } else { try recorder.check(against: source) }
    }
  }
}
