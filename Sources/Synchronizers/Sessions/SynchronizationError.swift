/// Why a synchronisation, or the loading or saving of its state, has failed.
public struct SynchronizationError: Error, Sendable, CustomStringConvertible {
  /// Names the kind of error, for programs.
  public enum Code: String, Sendable, Hashable {
    /// The store could not be read.
    case load
    /// The remote could not be read.
    case fetch
    /// It is not known whether a push has reached the remote.
    case push
    /// The remote will not take a push, however often it is repeated.
    case rejected
    /// The remote was edited by others each time that it was merged.
    case movedOn
    /// The remote has answered something that makes no sense.
    case invalidAnswer
    /// The store could not be written.
    case save
    /// It was cancelled.
    case cancelled
  }

  /// Names the kind of error, for programs.
  public let code: Code
  /// The step at which it happened; nil where a session was being made or had not begun.
  public let step: SynchronizationStep?
  /// The error that caused it.
  public let underlying: (any Error)?
  /// What happened, where, and what would help.
  public let description: String

  init(
    _ code: Code, at step: SynchronizationStep?, _ description: String,
    underlying: (any Error)? = nil
  ) {
    (self.code, self.step, self.underlying, self.description) = (
      code, step, underlying, description
    )
  }

  /// What those are told who waited for a synchronisation that was cancelled.
  static func cancelled(
    at step: SynchronizationStep? = nil, underlying: (any Error)? = nil
  ) -> SynchronizationError {
    let place = step.map { " while \($0.rawValue)" } ?? ""
    return SynchronizationError(
      .cancelled, at: step,
      "the synchronisation was cancelled\(place); nothing is lost: synchronise again",
      underlying: underlying)
  }
}
