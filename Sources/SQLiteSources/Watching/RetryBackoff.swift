import SwappablePrimitives

/// The pauses after which a data source tries again to read, while another connection holds a lock.
struct RetryBackoff: Sendable {
  private static let pauses = [1, 2, 5, 10, 20, 50, 100]

  /// The time for which a lock concerns nobody but its writer.
  private static let patience = Duration.seconds(1)

  private var attempts = 0
  private var firstFailure: AnyClock.Instant?

  /// Returns a Boolean value that indicates whether the attempts have failed for so long that users
  /// should know.
  func isWorthTelling(at now: AnyClock.Instant) -> Bool {
    guard let firstFailure else { return false }
    return firstFailure.duration(to: now) >= RetryBackoff.patience
  }

  /// Counts a failure and returns the pause before the next attempt.
  mutating func failed(at now: AnyClock.Instant) -> Duration {
    defer { attempts += 1 }
    firstFailure = firstFailure ?? now
    return .milliseconds(attempts < RetryBackoff.pauses.count ? RetryBackoff.pauses[attempts] : 250)
  }

  /// Starts over after a success.
  mutating func succeeded() {
    attempts = 0
    firstFailure = nil
  }

  /// Returns a Boolean value that indicates whether an error may pass although a monitor sees no change
  /// of the database.
  static func applies(to error: SQLiteError) -> Bool {
    switch error.code {
    case .busy, .inputOutput, .cannotOpen, .readOnly, .full, .other: true
    default: false
    }
  }
}
