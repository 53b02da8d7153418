package import SwappablePrimitives

/// Decides when a ``ReadLoop`` runs.
///
/// This is a pure state machine without a clock or a timer. Its owner guards it with a lock, passes in the time, and
/// performs the actions. `handle(_:at:)` is the table of states and inputs, and `ReadScheduleTests` tests each cell.
package struct ReadSchedule: Sendable {
  package typealias Instant = AnyClock.Instant

  /// The time of a run that is requested, from the soonest to the latest.
  package enum Request: Hashable, Sendable {
    case now
    case after(Duration)
    /// When the rest after the last run is over: eight times its duration, but at most 0.1 seconds.
    case atRest
    /// When there was no other request for a while, but after 50 times this while at the latest.
    case whenQuiet(for: Duration)
  }

  package enum State: Hashable, Sendable {
    /// No run was requested. A pause may be pending, after which there is one.
    case idle(until: Instant?)
    /// A run was requested. If it waits for quiet, another request may delay it, but not beyond `latest`.
    case planned(at: Instant, latest: Instant)
    /// The loop runs. `next` is the soonest of the requests since then.
    case running(since: Instant, next: Request?)
  }

  package enum Input: Hashable, Sendable {
    case request(Request)
    /// The pause is over, so the run begins.
    case due
    /// The run is over. Without a request, the next one follows after the pause, if there is one.
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
  private let longestRest: Duration

  package init(
    in state: State = .idle(until: nil), restUntil: Instant = Instant(offset: .zero),
    longestRest: Duration = .milliseconds(100)
  ) {
    (self.state, self.restUntil, self.longestRest) = (state, restUntil, longestRest)
  }

  /// Moves to the next state, and returns the action to perform.
  package mutating func handle(_ input: Input, at now: Instant) -> Action {
    switch (state, input) {
    case (.idle, .request(let time)):
      return plan(time, at: now)
    case (.planned(let planned, let latest), .request(let time)):
      return plan(time, insteadOf: planned, latest: latest, at: now)
    case (.running(let start, let next), .request(let time)):
      state = .running(since: start, next: next.map { $0.sooner(time) } ?? time)
      return .none
    case (.planned, .due), (.idle(.some), .due):
      state = .running(since: now, next: nil)
      return .run
    case (.running(let start, let next), .finished(let pause)):
      restUntil = now.advanced(by: min(start.duration(to: now) * Self.restFactor, longestRest))
      if let next { return plan(next, at: now) }
      state = .idle(until: pause.map { now.advanced(by: $0) })
      return pause.map { .schedule(after: $0) } ?? .none
    case (.idle, .due), (.running, .due), (.idle, .finished), (.planned, .finished):
      // The run was replaced.
      return .none
    }
  }

  private mutating func plan(_ time: Request, at now: Instant) -> Action {
    let (requested, latest) = bounds(of: time, at: now)
    state = .planned(at: requested, latest: latest)
    return .schedule(after: now.duration(to: requested))
  }

  /// Makes a planned run sooner, or delays it if both wait for quiet.
  private mutating func plan(
    _ time: Request, insteadOf planned: Instant, latest: Instant, at now: Instant
  ) -> Action {
    let (requested, last) = bounds(of: time, at: now)
    let latest = min(latest, last)
    let new = requested < last ? min(requested, latest) : min(requested, planned)
    state = .planned(at: new, latest: max(latest, new))
    return new == planned ? .none : .schedule(after: max(now.duration(to: new), .zero))
  }

  /// Returns the time of a run, and the time up to which other changes can delay it.
  private func bounds(of time: Request, at now: Instant) -> (Instant, latest: Instant) {
    let requested =
      switch time {
      case .now: now
      case .after(let wait), .whenQuiet(let wait): now.advanced(by: max(wait, .zero))
      case .atRest: max(now, restUntil)
      }
    guard case .whenQuiet(let quiet) = time else { return (requested, requested) }
    return (requested, now.advanced(by: quiet * Self.quietFactor))
  }
}

extension ReadSchedule.Request {
  /// Returns the sooner of two requests.
  fileprivate func sooner(_ other: Self) -> Self { other.rank < rank ? other : self }

  private var rank: Int {
    switch self {
    case .now: 0
    case .after: 1
    case .atRest: 2
    case .whenQuiet: 3
    }
  }
}
