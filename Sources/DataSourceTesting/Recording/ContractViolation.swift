/// A rule that was broken, of the event contract or of those for views of lists (B).
public struct ContractViolation: Error, Sendable, Hashable {
  /// The rule's number, for example `E2`.
  public let rule: String
  /// What happened instead.
  public let message: String
  /// What the random edits began with, to play it again; nil where none took part.
  public var seed: UInt64?
  /// The number of the event or of the edit, from zero.
  public var step: Int?

  /// Makes a violation.
  ///
  /// - Parameters:
  ///   - rule: The rule's number.
  ///   - message: What happened instead.
  ///   - seed: What the random edits began with.
  ///   - step: The number of the event or of the edit.
  public init(rule: String, message: String, seed: UInt64? = nil, step: Int? = nil) {
    self.rule = rule
    self.message = message
    self.seed = seed
    self.step = step
  }
}

extension ContractViolation: CustomStringConvertible {
  /// The rule, what happened, and how to play it again.
  public var description: String {
    var place: [String] = []
    if let seed { place.append("seed \(seed)") }
    if let step { place.append("step \(step)") }
    return "\(rule): \(message)" + (place.isEmpty ? "" : " (\(place.joined(separator: ", ")))")
  }
}
