/// How long a data source waits before it tries again what another connection's lock prevented.
struct RetryPolicy: Sendable {
  private static let pauses = [1, 2, 5, 10, 20, 50, 100]

  private var attempts = 0

  /// Whether it has tried for so long, about a fifth of a second, that its users should know.
  var isWorthTelling: Bool { attempts > RetryPolicy.pauses.count }

  /// Counts a failure and returns the pause before the next attempt.
  mutating func failed() -> Duration {
    defer { attempts += 1 }
    return .milliseconds(attempts < RetryPolicy.pauses.count ? RetryPolicy.pauses[attempts] : 250)
  }

  /// Begins anew after a success.
  mutating func succeeded() {
    attempts = 0
  }

  /// Whether `error` may pass without any change of the database that a monitor would tell of.
  static func applies(to error: SQLiteError) -> Bool {
    switch error.code {
    case .busy, .inputOutput, .cannotOpen, .readOnly, .full, .other: true
    default: false
    }
  }
}
