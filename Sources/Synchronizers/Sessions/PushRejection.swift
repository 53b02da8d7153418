/// What a remote throws where it certainly has not taken a push and will not.
///
/// The contents break its rules, or the user may not write.
/// After any other error a session must assume that the push may have arrived, and repeats the same one.
/// After this one it forgets it, and pushes next time what the client holds by then.
public struct PushRejection: Error, Sendable, CustomStringConvertible {
  /// Why it is not taken.
  public let reason: String
  /// The error that says so.
  public let underlying: (any Error)?

  /// Makes a rejection.
  ///
  /// - Parameters:
  ///   - reason: Why it is not taken.
  ///   - underlying: The error that says so.
  public init(_ reason: String, underlying: (any Error)? = nil) {
    (self.reason, self.underlying) = (reason, underlying)
  }

  public var description: String { reason }
}
