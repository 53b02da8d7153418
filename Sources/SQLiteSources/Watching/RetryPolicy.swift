/// How long a data source waits before it tries again what another connection's lock prevented.
struct RetryPolicy: Sendable {
  private static let pauses = [1, 2, 5, 10, 20, 50, 100]

  /// How long a lock is nobody's business but the writer's.
  private static let patience = Duration.seconds(1)

  private var attempts = 0
  private var firstFailure: ContinuousClock.Instant?

  /// Whether it has tried in vain for so long that its users should know.
  var isWorthTelling: Bool {
    guard let firstFailure else { return false }
    return firstFailure.duration(to: .now) >= RetryPolicy.patience
  }

  /// Counts a failure and returns the pause before the next attempt.
  mutating func failed() -> Duration {
    defer { attempts += 1 }
    firstFailure = firstFailure ?? .now
    return .milliseconds(attempts < RetryPolicy.pauses.count ? RetryPolicy.pauses[attempts] : 250)
  }

  /// Begins anew after a success.
  mutating func succeeded() {
    attempts = 0
    firstFailure = nil
  }

  /// Whether `error` may pass without any change of the database that a monitor would tell of.
  static func applies(to error: SQLiteError) -> Bool {
    switch error.code {
    case .busy, .inputOutput, .cannotOpen, .readOnly, .full, .other: true
    default: false
    }
  }
}
