public import Diffing
import Dispatch
public import ObservableCollections
public import ReactiveSignals
import SwappablePrimitives

/// Observes a data source, records each event, and holds it against the event contract.
///
///     let recorder = RecordingObserver(source)
///     source.append("Ada")
///     try recorder.check(against: source)
///
/// It checks rules E1 to E5, C1 to C5, that no revision is left out, and that it is never called
/// concurrently with itself (T3).
public final class RecordingObserver<Element: Differentiable & Sendable>: Sendable {
  private let record: EventRecord<Element>
  private let observation: Disposable?
  private let isImmediate: Bool

  /// Observes a source on the thread that delivers; the initial is recorded when this returns.
  ///
  /// - Parameters:
  ///   - source: What to observe.
  ///   - checksReplay: How often changes are applied, at O(n) each.
  ///   - keeps: How many events are kept; older ones are dropped, once they are checked.
  ///   - seed: Told with each violation.
  ///   - expectsEveryRevision: Whether each event must have the next revision. Pass `false` if delivery may
  ///     fall behind, because pending changes then become one event (T11).
  public init(
    _ source: any DataSource<Element>, checksReplay: ReplayChecking = .every, keeps: Int = .max,
    seed: UInt64? = nil, expectsEveryRevision: Bool = true
  ) {
    let record = EventRecord<Element>(
      RecordingOptions(
        checksReplay: checksReplay, keeps: keeps, seed: seed,
        expectsEveryRevision: expectsEveryRevision))
    self.record = record
    isImmediate = true
    observation = source.observe { record.receive($0) }
    if record.count == 0 {
      record.add(ContractViolation(rule: "E1", message: "observe returned before the initial"))
    }
  }

  /// Observes a source elsewhere.
  ///
  /// - Parameters:
  ///   - source: What to observe.
  ///   - scheduler: Where it is observed.
  ///   - policy: What becomes of changes that wait.
  ///   - checksReplay: How often changes are applied, at O(n) each.
  ///   - keeps: How many events are kept; older ones are dropped, once they are checked.
  ///   - seed: Told with each violation.
  ///   - expectsEveryRevision: Whether each event must have the next revision, if the policy keeps
  ///     everything. Pass `false` if delivery may fall behind, because pending changes then become one
  ///     event (T11).
  public init(
    _ source: any DataSource<Element>, on scheduler: Scheduler, policy: DeliveryPolicy = .coalesce,
    checksReplay: ReplayChecking = .every, keeps: Int = .max, seed: UInt64? = nil,
    expectsEveryRevision: Bool = true
  ) {
    let record = EventRecord<Element>(
      RecordingOptions(
        checksReplay: checksReplay, keeps: keeps, seed: seed,
        expectsEveryRevision: expectsEveryRevision && policy == .everything))
    self.record = record
    isImmediate = false
    observation = source.observe(on: scheduler, policy: policy) { record.receive($0) }
  }

  /// Observes nothing: events are given to ``receive(_:)``.
  ///
  /// - Parameters:
  ///   - checksReplay: How often changes are applied, at O(n) each.
  ///   - keeps: How many events are kept; older ones are dropped, once they are checked.
  ///   - seed: Told with each violation.
  public init(checksReplay: ReplayChecking = .every, keeps: Int = .max, seed: UInt64? = nil) {
    record = EventRecord(
      RecordingOptions(checksReplay: checksReplay, keeps: keeps, seed: seed))
    isImmediate = false
    observation = nil
  }

  /// Records and checks an event that comes from elsewhere, for example from an asynchronous sequence.
  public func receive(_ event: CollectionEvent<Element>) {
    record.receive(event)
  }

  /// Ends the observation; what was recorded stays.
  public func dispose() {
    observation?.dispose()
  }
}

extension RecordingObserver {
  /// The events in order; those that are kept.
  public var events: [CollectionEvent<Element>] { record.events }

  /// The changes in order; of those events that are kept.
  public var changes: [CollectionChange<Element>] {
    record.events.compactMap { event in
      if case .change(let change) = event { change } else { nil }
    }
  }

  /// How many events there were, kept or not.
  public var eventCount: Int { record.count }

  /// The contents after the latest event; empty before the first.
  public var snapshot: Snapshot<Element> { record.latest?.snapshot ?? Snapshot() }

  /// The revision after the latest event; nil before the first.
  public var revision: Int? { record.latest?.revision }

  /// What was wrong with the events, in order.
  public var violations: [ContractViolation] { record.violations() }

  /// Throws the first violation, if there is any.
  public func check() throws(ContractViolation) {
    if let violation = violations.first { throw violation }
  }

  /// Throws the first violation, or one of E4 where the recorded contents are not the source's own.
  ///
  /// - Parameter source: What was observed. Nothing may be on its way any more.
  public func check(against source: any DataSource<Element>) throws(ContractViolation) {
    try check()
    let state = source.state
    guard snapshot.hasSameContents(as: state.snapshot) else {
      record.add(
        ContractViolation(
          rule: "E4",
          message: "the events do not lead to what the source holds, but to "
            + Contents.difference(of: snapshot, from: state.snapshot),
          step: eventCount))
      return try check()
    }
    // Merged changes that come to nothing raise the revision and are no event.
    guard isImmediate, let revision, revision != state.revision else { return }
    record.add(
      ContractViolation(
        rule: "E2", message: "the last event has revision \(revision), not \(state.revision)",
        step: eventCount))
    try check()
  }
}

extension RecordingObserver {
  /// Waits until a condition holds, looked at after each event.
  ///
  /// - Parameters:
  ///   - timeout: For how long.
  ///   - condition: Looks at what is recorded.
  /// - Throws: ``WaitTimeout``.
  public func wait(
    timeout: Duration = .seconds(60), until condition: (RecordingObserver<Element>) -> Bool
  ) async throws {
    let deadline = DispatchTime.after(timeout)
    while true {
      let seen = record.notice.count
      if condition(self) { return }
      guard await record.notice.wait(after: seen, until: deadline) else {
        try Task.checkCancellation()
        // On a busy machine the answer may come long after what was waited for.
        if condition(self) { return }
        throw late("for a condition", timeout)
      }
    }
  }

  /// Blocks until a condition holds, looked at after each event.
  ///
  /// - Parameters:
  ///   - timeout: For how long.
  ///   - condition: Looks at what is recorded.
  /// - Throws: ``WaitTimeout``.
  public func wait(
    timeout: Duration = .seconds(60), until condition: (RecordingObserver<Element>) -> Bool
  ) throws {
    let deadline = DispatchTime.after(timeout)
    while true {
      let seen = record.notice.count
      if condition(self) { return }
      guard record.notice.wait(after: seen, until: deadline) else {
        if condition(self) { return }
        throw late("for a condition", timeout)
      }
    }
  }

  /// Waits until there were so many events, the initial included.
  ///
  /// - Throws: ``WaitTimeout``.
  public func wait(forEvents count: Int, timeout: Duration = .seconds(60)) async throws {
    try await wait(timeout: timeout) { $0.eventCount >= count }
  }

  /// Blocks until there were so many events, the initial included.
  ///
  /// - Throws: ``WaitTimeout``.
  public func wait(forEvents count: Int, timeout: Duration = .seconds(60)) throws {
    try wait(timeout: timeout) { $0.eventCount >= count }
  }

  /// Waits until the recorded contents are these.
  ///
  /// - Throws: ``WaitTimeout``.
  public func wait(
    forContents contents: some Sequence<Element>, timeout: Duration = .seconds(60)
  ) async throws {
    let contents = Snapshot(contents)
    do {
      try await wait(timeout: timeout) { $0.snapshot.hasSameContents(as: contents) }
    } catch is WaitTimeout {
      throw WaitTimeout(
        "waited \(timeout) for contents; there were \(eventCount) events, the last of them led to "
          + Contents.difference(of: snapshot, from: contents))
    }
  }

  private func late(_ what: String, _ timeout: Duration) -> WaitTimeout {
    WaitTimeout(
      "waited \(timeout) \(what); there were \(eventCount) events, the last of them led to "
        + Contents.text(snapshot)
    )
  }
}
