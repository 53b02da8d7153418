/// Something that was waited for did not happen in time.
public struct WaitTimeout: Error, Sendable, Hashable, CustomStringConvertible {
  /// What was waited for, for how long, and what has happened instead.
  public let description: String

  /// Makes one.
  ///
  /// - Parameter description: What was waited for, for how long, and what has happened instead.
  public init(_ description: String) {
    self.description = description
  }
}
