/// An error that describes a broken rule of the event contract, or of the rules for list views (B).
public struct ContractError: Error, Sendable, Hashable {
  /// The number of the rule, for example `E2`.
  public let rule: String
  /// A description of the violation.
  public let message: String
  /// The seed of the random edits, which reproduces the error, or `nil` if there were none.
  public package(set) var seed: UInt64?
  /// The number of the event or of the edit, counted from zero.
  public package(set) var step: Int?

  /// Creates an error.
  ///
  /// - Parameters:
  ///   - rule: The number of the rule.
  ///   - message: A description of the violation.
  ///   - seed: The seed of the random edits.
  ///   - step: The number of the event or of the edit.
  package init(rule: String, message: String, seed: UInt64? = nil, step: Int? = nil) {
    self.rule = rule
    self.message = message
    self.seed = seed
    self.step = step
  }
}

extension ContractError: CustomStringConvertible {
  /// The rule, the message, the seed and the step.
  public var description: String {
    var place: [String] = []
    if let seed { place.append("seed \(seed)") }
    if let step { place.append("step \(step)") }
    return "\(rule): \(message)" + (place.isEmpty ? "" : " (\(place.joined(separator: ", ")))")
  }
}

/// An error that occurs if a condition does not hold in time.
public struct TimeoutError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The condition, the timeout, and the state at the end.
  public let description: String

  /// Creates an error.
  ///
  /// - Parameter description: The condition, the timeout, and the state at the end.
  package init(_ description: String) {
    self.description = description
  }
}
