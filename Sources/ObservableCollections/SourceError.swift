/// Why a data source cannot show what it should.
///
/// Two are equal if code and message are.
public struct SourceError: Error, Sendable {
  /// Names the kind of error, for programs.
  public let code: String
  /// What happened, to which file or query, and what would help.
  public let message: String
  /// The error that caused it.
  public let underlying: (any Error)?

  /// Makes an error.
  ///
  /// - Parameters:
  ///   - code: Names the kind of error, for programs.
  ///   - message: What happened, to which file or query, and what would help.
  ///   - underlying: The error that caused it.
  public init(code: String, message: String, underlying: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.underlying = underlying
  }
}

extension SourceError: Hashable {
  public static func == (one: SourceError, other: SourceError) -> Bool {
    one.code == other.code && one.message == other.message
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(code)
    hasher.combine(message)
  }
}

extension SourceError: CustomStringConvertible {
  public var description: String { message }
}
