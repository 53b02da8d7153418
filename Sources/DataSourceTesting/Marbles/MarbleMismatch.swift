/// A signal has brought something else than was expected.
public struct MarbleMismatch: Error, Hashable, CustomStringConvertible {
  /// What was to come, as a marble line.
  public let expected: String
  /// What came instead.
  public let received: String

  /// Both lines, one below the other.
  public var description: String {
    """
    the signal has brought something else
      expected \(expected)
      received \(received)
    """
  }
}
