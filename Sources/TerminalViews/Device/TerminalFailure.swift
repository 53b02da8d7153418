/// What a terminal, or a system that has none, refused.
public struct TerminalFailure: Error, Sendable, Hashable, CustomStringConvertible {
  /// The system's code, an `errno`.
  public let code: Int32
  /// What was tried, and with what.
  public let action: String
  /// What the system says of the code.
  public let reason: String
  /// What would help, if that is known.
  public let advice: String?
  /// Whether the terminal, or whoever read the output, has gone: nothing is left to be shown to.
  public let isReaderGone: Bool

  /// What has failed, why, and what would help.
  public var description: String {
    "cannot \(action): \(reason)" + (advice.map { "; \($0)" } ?? "")
  }
}
