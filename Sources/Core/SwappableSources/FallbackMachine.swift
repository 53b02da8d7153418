/// The decisions of a ``FallbackSource``: which of its sources it shows.
///
/// The machine is a pure value. It receives what a source reports, or that time has passed, and returns a ``Decision``.
/// It knows nothing of clocks, locks or containers. All times count from one moment, and a time that is earlier than the
/// previous one counts as the previous one.
package struct FallbackMachine: Sendable {
  /// The meaning of the status of a source.
  package enum Report: Sendable, Hashable, CaseIterable {
    /// The source is idle, or reads for the first time.
    case loading
    /// The source has loaded, and reads again. That is neither a failure nor a recovery.
    case reloading
    case loaded
    /// The source failed or is missing. It may have good contents.
    case failed
  }

  /// The answer to an input.
  package struct Decision: Sendable, Hashable {
    /// The source to show, or `nil` if the shown one stays.
    var shown: Int?
    /// The time at which the machine must be asked again, unless there is an input before, or `nil` if there is none.
    package var deadline: Duration?

    package init(shown: Int? = nil, deadline: Duration? = nil) {
      (self.shown, self.deadline) = (shown, deadline)
    }
  }

  private enum Health: Sendable {
    /// The source has neither loaded nor failed.
    case unknown
    /// The source has loaded, and has not failed since. From a time on, it may take over from a worse source that is
    /// healthy, too.
    case healthy(trustedFrom: Duration)
    case failed(since: Duration)
  }

  /// The source that is shown, or `nil` if none has been healthy yet.
  package private(set) var shown: Int?
  /// The latest time.
  package private(set) var now = Duration.zero
  private var sources: [Health]
  private let fallingBackAfter: Duration
  private let returningAfter: Duration

  /// Creates a machine that shows nothing.
  ///
  /// - Parameters:
  ///   - count: The number of sources. The first one is the best.
  ///   - fallingBackAfter: The time that a failure lasts before another source is shown.
  ///   - returningAfter: The time that a better source must be healthy after a failure before it is shown.
  package init(count: Int, fallingBackAfter: Duration, returningAfter: Duration) {
    sources = Array(repeating: .unknown, count: count)
    (self.fallingBackAfter, self.returningAfter) = (fallingBackAfter, returningAfter)
  }

  /// Handles a report of a source.
  package mutating func handle(
    _ report: Report, of source: Int, at time: Duration
  ) -> Decision {
    now = max(now, time)
    switch (report, sources[source]) {
    case (.loaded, .unknown), (.reloading, .unknown):
      // It has never failed, so there is nothing to prove.
      sources[source] = .healthy(trustedFrom: now)
    case (.loaded, .failed):
      sources[source] = .healthy(trustedFrom: now + returningAfter)
    case (.failed, .unknown), (.failed, .healthy):
      sources[source] = .failed(since: now)
    case (.loading, _), (.reloading, _), (.loaded, .healthy), (.failed, .failed):
      break
    }
    return decide()
  }

  /// Handles that time has passed.
  package mutating func handle(timeIs time: Duration) -> Decision {
    now = max(now, time)
    return decide()
  }

  private mutating func decide() -> Decision {
    let next = next
    if let next { shown = next }
    return Decision(shown: next, deadline: deadline)
  }

  /// The source that takes over now, or `nil` if the shown one stays.
  private var next: Int? {
    let firstHealthy = sources.firstIndex {
      if case .healthy = $0 { true } else { false }
    }
    guard let shown else { return firstHealthy }
    if case .failed(let since) = sources[shown], since + fallingBackAfter <= now, let firstHealthy {
      return firstHealthy
    }
    return sources[..<shown].firstIndex {
      if case .healthy(let trustedFrom) = $0 { trustedFrom <= now } else { false }
    }
  }

  /// The next time at which another source may take over although no source reports anything.
  private var deadline: Duration? {
    guard let shown else { return nil }
    var deadlines = sources[..<shown].compactMap {
      if case .healthy(let trustedFrom) = $0 { trustedFrom } else { nil }
    }
    if case .failed(let since) = sources[shown] { deadlines.append(since + fallingBackAfter) }
    return deadlines.filter { $0 > now }.min()
  }
}
