public import Diffing
import Dispatch
public import ObservableCollections
public import ReactiveSignals
import SwappablePrimitives

/// An observer that records each event of a data source, and checks it against the event contract.
///
///     let recorder = RecordingObserver(source)
///     source.append("Ada")
///     try recorder.check(against: source)
///
/// The observer checks rules E1 to E5 and C1 to C5, that no revision is missing, and that it is
/// never called concurrently with itself (T3).
public final class RecordingObserver<Element: Differentiable & Sendable>: Sendable {
  private let record: EventRecord<Element>
  private let observation: Disposable?
  private let isImmediate: Bool

  /// Observes a source on the delivering thread.
  ///
  /// The initial event is recorded when the initializer returns.
  ///
  /// - Parameters:
  ///   - source: The source to observe.
  ///   - replaysEvery: The interval of the changes that are applied when they arrive, which takes O(n) each time,
  ///     or `nil` to apply all kept changes when the violations are read.
  ///   - keeps: The number of events to keep. Older events are dropped after they are checked.
  ///   - seed: The seed to report with each violation.
  ///   - expectsEveryRevision: A Boolean value that indicates whether each event must have the next
  ///     revision. Pass `false` if delivery may fall behind, because pending changes then become
  ///     one event (T11).
  public init(
    _ source: any DataSource<Element>, replaysEvery: Int? = 1, keeps: Int = .max,
    seed: UInt64? = nil, expectsEveryRevision: Bool = true
  ) {
    let record = EventRecord<Element>(
      RecordingOptions(
        replaysEvery: replaysEvery, keeps: keeps, seed: seed,
        expectsEveryRevision: expectsEveryRevision))
    self.record = record
    isImmediate = true
    observation = source.observe { record.receive($0) }
    if record.count == 0 {
      record.add(ContractError(rule: "E1", message: "observe returned before the initial event"))
    }
  }

  /// Observes a source on a scheduler.
  ///
  /// - Parameters:
  ///   - source: The source to observe.
  ///   - scheduler: Where to call the observer.
  ///   - policy: How pending changes are buffered.
  ///   - replaysEvery: The interval of the changes that are applied when they arrive, which takes O(n) each time,
  ///     or `nil` to apply all kept changes when the violations are read.
  ///   - keeps: The number of events to keep. Older events are dropped after they are checked.
  ///   - seed: The seed to report with each violation.
  ///   - expectsEveryRevision: A Boolean value that indicates whether each event must have the next
  ///     revision, if the policy keeps everything. Pass `false` if delivery may fall behind,
  ///     because pending changes then become one event (T11).
  public init(
    _ source: any DataSource<Element>, on scheduler: DeliveryScheduler,
    policy: DeliveryPolicy = .coalesce,
    replaysEvery: Int? = 1, keeps: Int = .max, seed: UInt64? = nil,
    expectsEveryRevision: Bool = true
  ) {
    let record = EventRecord<Element>(
      RecordingOptions(
        replaysEvery: replaysEvery, keeps: keeps, seed: seed,
        expectsEveryRevision: expectsEveryRevision && policy == .everything))
    self.record = record
    isImmediate = false
    observation = source.observe(on: scheduler, policy: policy) { record.receive($0) }
  }

  /// Creates an observer without a source. Pass events to ``receive(_:)``.
  ///
  /// - Parameters:
  ///   - replaysEvery: The interval of the changes that are applied when they arrive, which takes O(n) each time,
  ///     or `nil` to apply all kept changes when the violations are read.
  ///   - keeps: The number of events to keep. Older events are dropped after they are checked.
  ///   - seed: The seed to report with each violation.
  public init(replaysEvery: Int? = 1, keeps: Int = .max, seed: UInt64? = nil) {
    record = EventRecord(
      RecordingOptions(replaysEvery: replaysEvery, keeps: keeps, seed: seed))
    isImmediate = false
    observation = nil
  }

  /// Records and checks an event from another origin, for example from an asynchronous sequence.
  public func receive(_ event: CollectionEvent<Element>) {
    record.receive(event)
  }

  /// Ends the observation. The recorded events stay.
  public func dispose() {
    observation?.dispose()
  }
}

extension RecordingObserver {
  /// The events that are kept, in order.
  public var events: [CollectionEvent<Element>] { record.events }

  /// The changes among the events that are kept, in order.
  public var changes: [CollectionChange<Element>] {
    record.events.compactMap { event in
      if case .change(let change) = event { change } else { nil }
    }
  }

  /// The number of events so far, kept or not.
  public var eventCount: Int { record.count }

  /// The contents after the latest event, which are empty before the first event.
  public var snapshot: Snapshot<Element> { record.latest?.snapshot ?? Snapshot() }

  /// The revision after the latest event, or `nil` before the first event.
  public var revision: Int? { record.latest?.revision }

  /// The numbers of the operations of all changes so far, kept or not.
  package var operations: Coverage.Operations { record.operations }

  /// The violations in the events, in order.
  public var violations: [ContractError] { record.violations() }

  /// Throws the first violation, if there is one.
  public func check() throws(ContractError) {
    if let violation = violations.first { throw violation }
  }

  /// Throws the first violation, if there is one.
  ///
  /// If the recorded contents or the revision differ from the source, it throws a violation of E4 or E2.
  ///
  /// - Parameter source: The observed source. All its events must have been delivered.
  public func check(against source: any DataSource<Element>) throws(ContractError) {
    try check()
    let state = source.state
    guard snapshot.hasSameContents(as: state.snapshot) else {
      record.add(
        ContractError(
          rule: "E4",
          message: "the events do not lead to the contents of the source, but to "
            + Contents.difference(of: snapshot, from: state.snapshot),
          step: eventCount))
      return try check()
    }
    // Merged changes without a net effect increase the revision, but are no event.
    guard isImmediate, let revision, revision != state.revision else { return }
    record.add(
      ContractError(
        rule: "E2", message: "the last event has revision \(revision), not \(state.revision)",
        step: eventCount))
    try check()
  }
}

extension RecordingObserver {
  /// Waits until a condition holds. The condition is checked after each event.
  ///
  /// - Parameters:
  ///   - timeout: The time to wait.
  ///   - condition: A closure that checks the recorder.
  /// - Throws: A ``TimeoutError`` if the condition does not hold in time.
  public func wait(
    timeout: Duration = .seconds(60), until condition: (RecordingObserver<Element>) -> Bool
  ) async throws {
    let deadline = DispatchTime.after(timeout)
    while true {
      let seen = record.notice.count
      if condition(self) { return }
      guard await record.notice.wait(after: seen, until: deadline) else {
        try Task.checkCancellation()
        // On a busy machine, the timeout may be noticed long after the condition began to hold.
        if condition(self) { return }
        throw late(timeout)
      }
    }
  }

  /// Blocks until a condition holds. The condition is checked after each event.
  ///
  /// In an async function, use ``wait(timeout:until:)``.
  ///
  /// - Parameters:
  ///   - timeout: The time to wait.
  ///   - condition: A closure that checks the recorder.
  /// - Throws: A ``TimeoutError`` if the condition does not hold in time.
  @available(*, noasync, message: "Write 'await wait(timeout:until:)'")
  public func waitBlocking(
    timeout: Duration = .seconds(60), until condition: (RecordingObserver<Element>) -> Bool
  ) throws {
    let deadline = DispatchTime.after(timeout)
    while true {
      let seen = record.notice.count
      if condition(self) { return }
      guard record.notice.waitBlocking(after: seen, until: deadline) else {
        if condition(self) { return }
        throw late(timeout)
      }
    }
  }

  /// Waits until a number of events is recorded, including the initial event.
  ///
  /// - Throws: A ``TimeoutError`` if there are fewer events in time.
  public func wait(forEvents count: Int, timeout: Duration = .seconds(60)) async throws {
    try await wait(timeout: timeout) { $0.eventCount >= count }
  }

  /// Blocks until a number of events is recorded, including the initial event.
  ///
  /// In an async function, use ``wait(forEvents:timeout:)``.
  ///
  /// - Throws: A ``TimeoutError`` if there are fewer events in time.
  @available(*, noasync, message: "Write 'await wait(forEvents:timeout:)'")
  public func waitBlocking(forEvents count: Int, timeout: Duration = .seconds(60)) throws {
    try waitBlocking(timeout: timeout) { $0.eventCount >= count }
  }

  /// Waits until the recorded contents are equal to the given elements.
  ///
  /// - Throws: A ``TimeoutError`` if they are not equal in time.
  public func wait(
    forContents contents: some Sequence<Element>, timeout: Duration = .seconds(60)
  ) async throws {
    let contents = Snapshot(contents)
    do {
      try await wait(timeout: timeout) { $0.snapshot.hasSameContents(as: contents) }
    } catch is TimeoutError {
      throw TimeoutError(
        "waited \(timeout) for contents, but the last of \(eventCount) events led to "
          + Contents.difference(of: snapshot, from: contents))
    }
  }

  private func late(_ timeout: Duration) -> TimeoutError {
    TimeoutError(
      "waited \(timeout) for a condition, but the last of \(eventCount) events led to "
        + Contents.text(snapshot)
    )
  }
}

/// An error that describes a broken rule of the event contract, or of the rules for list views (B).
public struct ContractError: Error, Sendable, Hashable {
  /// The number of the rule, for example `E2`, or `coverage` if random edits have missed a kind of change.
  public let rule: String
  /// A description of the violation.
  public let message: String
  /// The seed of the random edits, which reproduces the error, or `nil` if there were none.
  public package(set) var seed: UInt64?
  /// The number of the event or of the edit, counted from zero.
  public package(set) var step: Int?

  /// Creates an error.
  ///
  /// - Parameters:
  ///   - rule: The number of the rule.
  ///   - message: A description of the violation.
  ///   - seed: The seed of the random edits.
  ///   - step: The number of the event or of the edit.
  package init(rule: String, message: String, seed: UInt64? = nil, step: Int? = nil) {
    self.rule = rule
    self.message = message
    self.seed = seed
    self.step = step
  }
}

extension ContractError: CustomStringConvertible {
  /// The rule, the message, the seed and the step.
  public var description: String {
    var place: [String] = []
    if let seed { place.append("seed \(seed)") }
    if let step { place.append("step \(step)") }
    return "\(rule): \(message)" + (place.isEmpty ? "" : " (\(place.joined(separator: ", ")))")
  }
}

/// An error that occurs if a condition does not hold in time.
public struct TimeoutError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The condition, the timeout, and the state at the end.
  public let description: String

  /// Creates an error.
  ///
  /// - Parameter description: The condition, the timeout, and the state at the end.
  package init(_ description: String) {
    self.description = description
  }
}
