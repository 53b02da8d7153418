package import SwappablePrimitives

/// Decides when a ``ReadLoop`` runs.
///
/// This is a pure state machine without a clock or a timer. Its owner guards it with a lock, passes in the time, and
/// performs the actions. `handle(_:at:)` is the table of states and inputs, and `ReadScheduleTests` tests each cell.
package struct ReadSchedule: Sendable {
  package typealias Instant = AnyClock.Instant

  /// The time of a run that is requested.
  package enum Request: Hashable, Sendable {
    case now
    case after(Duration)
    /// When the rest after the last run is over: eight times its duration, but at most 0.1 seconds.
    case atRest
    /// When there was no other request for a while, but after 50 times this while at the latest.
    case whenQuiet(for: Duration)
    /// After a while, also if the pause after the last run ends before.
    case insteadOfPause(Duration)
  }

  /// A run to come.
  package struct Plan: Hashable, Sendable {
    package var time: Instant
    /// The time up to which other requests delay the run, if it waits for quiet.
    package var latest: Instant
    /// A Boolean value that indicates whether the run also waits for the rest after the present one.
    package var needsRest = false
    /// A Boolean value that indicates whether the run was requested. Otherwise, it comes after a pause.
    package var isRequested = true
    /// A Boolean value that indicates whether the run may begin, and nothing more needs to be scheduled.
    package var isDue = false

    package init(at time: Instant, latest: Instant? = nil) {
      (self.time, self.latest) = (time, latest ?? time)
    }

    /// Returns the plan that does what both ask for. A plan that waits for quiet delays another one that does.
    fileprivate func merged(with new: Plan) -> Plan {
      let isSooner = new.time < time || new.time == time && !new.needsRest
      var plan = isSooner || time < latest && new.time < new.latest ? new : self
      plan.latest = min(latest, new.latest)
      plan.time = min(plan.time, plan.latest)
      plan.isRequested = isRequested || new.isRequested
      return plan
    }
  }

  package enum State: Hashable, Sendable {
    case idle
    case planned(Plan)
    /// The loop runs. `next` merges the requests since then.
    case running(since: Instant, next: Plan?)
  }

  package enum Input: Hashable, Sendable {
    case request(Request)
    /// The run begins.
    case due
    /// The run is over. The next one follows after the pause, if there is one.
    case finished(again: Duration?)
  }

  package enum Action: Hashable, Sendable {
    case none
    /// Run now, and report `finished` afterward.
    case run
    /// Report `due` after a pause, instead of the pause that is pending.
    case schedule(after: Duration)
  }

  /// The rest after a run, as a multiple of the duration of the run.
  private static let restFactor = 8
  /// The longest wait for quiet, as a multiple of the quiet.
  private static let quietFactor = 50

  package private(set) var state: State
  private var restUntil: Instant
  /// The latest time of an input. A thread reads the clock before it waits for its turn.
  private var latest = Instant(offset: .zero)
  private let longestRest: Duration

  package init(
    in state: State = .idle, restUntil: Instant = Instant(offset: .zero),
    longestRest: Duration = .milliseconds(100)
  ) {
    (self.state, self.restUntil, self.longestRest) = (state, restUntil, longestRest)
  }

  /// A Boolean value that indicates whether a requested run has not begun.
  package var isRequested: Bool {
    switch state {
    case .idle: false
    case .planned(let plan): plan.isRequested
    case .running(_, let next): next != nil
    }
  }

  package var isRunning: Bool { if case .running = state { true } else { false } }

  /// Moves to the next state, and returns the action to perform.
  package mutating func handle(_ input: Input, at time: Instant) -> Action {
    latest = max(latest, time)
    let now = latest
    switch (state, input) {
    case (.idle, .request(let request)):
      return schedule(plan(request, at: now), at: now)
    case (.planned(let plan), .request(.insteadOfPause(let wait))) where !plan.isRequested:
      return schedule(self.plan(.after(wait), at: now), at: now)
    case (.planned(let old), .request(let request)):
      return schedule(old.merged(with: plan(request, at: now)), insteadOf: old, at: now)
    case (.running(let start, let next), .request(let request)):
      var new = plan(request == .atRest ? .now : request, at: now)
      new.needsRest = request == .atRest
      state = .running(since: start, next: next?.merged(with: new) ?? new)
      return .none
    case (.planned, .due):
      state = .running(since: now, next: nil)
      return .run
    case (.running(let start, var next), .finished(let pause)):
      restUntil = now.advanced(by: min(start.duration(to: now) * Self.restFactor, longestRest))
      if next?.needsRest == true { next = plan(.atRest, at: now) }
      if let pause {
        var plan = plan(.after(pause), at: now)
        plan.isRequested = false
        next = next?.merged(with: plan) ?? plan
      }
      state = .idle
      return next.map { schedule($0, at: now) } ?? .none
    case (.idle, .due), (.running, .due), (.idle, .finished), (.planned, .finished):
      // The run was replaced.
      return .none
    }
  }

  private mutating func schedule(
    _ plan: Plan, insteadOf old: Plan? = nil, at now: Instant
  ) -> Action {
    var plan = plan
    let pause = max(now.duration(to: plan.time), .zero)
    // A timer may be late, so a run that may begin does not wait for it.
    plan.isDue = old?.isDue ?? false || pause == .zero
    state = .planned(plan)
    let isScheduled = old?.isDue == true || plan.time == old?.time && !plan.isDue
    return isScheduled ? .none : .schedule(after: pause)
  }

  private func plan(_ request: Request, at now: Instant) -> Plan {
    switch request {
    case .now: return Plan(at: now)
    case .atRest: return Plan(at: max(now, restUntil))
    case .after(let wait), .insteadOfPause(let wait):
      return Plan(at: now.advanced(by: Self.limited(wait)))
    case .whenQuiet(let wait):
      let quiet = Self.limited(wait)
      return Plan(at: now.advanced(by: quiet), latest: now.advanced(by: quiet * Self.quietFactor))
    }
  }

  /// Returns a wait with which a program can compute.
  private static func limited(_ wait: Duration) -> Duration {
    min(max(wait, .zero), .seconds(1 << 40))
  }
}
