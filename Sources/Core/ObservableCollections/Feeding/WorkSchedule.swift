package import SwappablePrimitives

/// Decides when a ``ReadLoop`` reads.
///
/// This is a pure state machine without a clock or a timer. Its owner guards it with a lock, passes in
/// the time, and performs the actions. `handle(_:at:)` is the table of states and inputs, and
/// `WorkScheduleTests` tests each cell.
package struct WorkSchedule: Sendable {
  package typealias Instant = AnyClock.Instant

  /// A request for a run.
  package struct Request: Hashable, Sendable {
    /// The earliest time of the run.
    var time: Instant
    /// A Boolean value that indicates whether the run also waits until the rest after the previous run
    /// is over.
    var isThrottled: Bool

    package init(time: Instant, isThrottled: Bool = false) {
      self.time = time
      self.isThrottled = isThrottled
    }
  }

  package enum State: Hashable, Sendable {
    /// The work has not started, or was stopped.
    case stopped
    /// No run is planned.
    case idle(restUntil: Instant)
    /// No run was requested, but a timer is set for one.
    case waiting(restUntil: Instant)
    /// A run was requested. It is on the queue, or a timer is set for it.
    case requested
    /// The work runs. `next` is the request that has arrived since then.
    case running(since: Instant, next: Request?)
  }

  package enum Input: Hashable, Sendable {
    case start
    case stop
    case request(Request)
    /// The queue or the timer has reached a planned run.
    case due
    /// The owner is on its queue and wants to run without waiting.
    case force
    /// The work is done. Without a request, it runs again after the interval, if there is one.
    case finished(repeatAfter: Duration?)
  }

  package enum Action: Hashable, Sendable {
    case none
    /// Run the work now, and report `finished` afterward.
    case run
    /// Report `due` on the queue after an interval. It replaces the interval that is pending.
    case schedule(after: Duration)
    /// Cancel the pending interval.
    case cancel
  }

  /// The rest after a run, as a multiple of the duration of the run.
  private static let restFactor = 8

  package private(set) var state: State
  private let longestRest: Duration

  package init(in state: State = .stopped, longestRest: Duration = .milliseconds(100)) {
    self.state = state
    self.longestRest = longestRest
  }

  var isStopped: Bool { state == .stopped }

  /// A Boolean value that indicates whether a requested run has not begun.
  var isRequested: Bool {
    switch state {
    case .requested, .running(_, .some): true
    case .stopped, .idle, .waiting, .running(_, nil): false
    }
  }

  /// Moves to the next state, and returns the action to perform.
  package mutating func handle(_ input: Input, at now: Instant) -> Action {
    switch (state, input) {
    case (.stopped, .start):
      state = .idle(restUntil: now)
      return .none
    case (.stopped, _), (_, .start):
      return .none
    case (_, .stop):
      state = .stopped
      return .cancel
    case (.idle(let restUntil), .request(let request)),
      (.waiting(let restUntil), .request(let request)):
      return schedule(request, restUntil: restUntil, at: now)
    case (.running(let start, var next), .request(let request)):
      next = next ?? request
      if request.isThrottled { next?.isThrottled = true }
      state = .running(since: start, next: next)
      return .none
    case (.waiting, .due), (.requested, .due), (.idle, .force), (.waiting, .force),
      (.requested, .force):
      state = .running(since: now, next: nil)
      return .run
    case (.running(let start, let next), .finished(let interval)):
      let rest = min(start.duration(to: now) * Self.restFactor, longestRest)
      return finish(next, restUntil: now.advanced(by: rest), repeatAfter: interval, at: now)
    case (.requested, .request), (.idle, .due), (.running, .due), (.running, .force),
      (.idle, .finished), (.waiting, .finished), (.requested, .finished):
      // The run is planned already, or was replaced, or was stopped.
      return .none
    }
  }

  private mutating func finish(
    _ next: Request?, restUntil: Instant, repeatAfter interval: Duration?, at now: Instant
  ) -> Action {
    if let next { return schedule(next, restUntil: restUntil, at: now) }
    state = interval == nil ? .idle(restUntil: restUntil) : .waiting(restUntil: restUntil)
    return interval.map { .schedule(after: $0) } ?? .none
  }

  private mutating func schedule(
    _ request: Request, restUntil: Instant, at now: Instant
  ) -> Action {
    state = .requested
    let time = request.isThrottled ? max(request.time, restUntil) : request.time
    return .schedule(after: max(now.duration(to: time), .zero))
  }
}
