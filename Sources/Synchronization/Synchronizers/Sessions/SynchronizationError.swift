/// An error of a synchronization, or of loading or saving the state of a session.
public struct SynchronizationError: Error, Sendable, CustomStringConvertible {
  /// The kind of an error.
  public enum Code: String, Sendable, Hashable {
    /// The store could not be read.
    case load
    /// The remote could not be read.
    case fetch
    /// The remote did not answer a push. The push may have taken effect.
    case push
    /// The remote rejected a push. Repeating the push would not help.
    case rejected
    /// The remote was edited by other clients during each merge.
    case movedOn
    /// The resolver of conflicts threw an error.
    case unresolved
    /// The remote gave an invalid answer.
    case invalidAnswer
    /// The store could not be written.
    case save
    /// The synchronization was canceled.
    case cancelled
  }

  /// A step of a synchronization.
  public enum Step: String, Sendable, Hashable, CaseIterable {
    /// The session fetches the contents of the remote.
    case fetching
    /// The session merges the edits of the client and the remote.
    case merging
    /// The session pushes the merged contents to the remote.
    case pushing
    /// The session writes its state to the store.
    case saving
  }

  /// The kind of the error.
  public let code: Code
  /// The step that failed, or `nil` if no step had begun.
  public let step: Step?
  /// The error that caused this error.
  public let underlying: (any Error)?
  /// A text that says what happened, where, and how to proceed.
  public let description: String

  init(
    _ code: Code, at step: Step?, _ description: String, underlying: (any Error)? = nil
  ) {
    (self.code, self.step, self.underlying, self.description) = (
      code, step, underlying, description
    )
  }

  /// Returns the error that callers of a canceled synchronization receive.
  static func cancelled(
    at step: Step? = nil, underlying: (any Error)? = nil
  ) -> SynchronizationError {
    let place = step.map { " while \($0.rawValue)" } ?? ""
    return SynchronizationError(
      .cancelled, at: step,
      "the synchronization was canceled\(place); no edit is lost: synchronize again",
      underlying: underlying)
  }
}
