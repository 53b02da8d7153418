/// A change does not fit the collection that it is applied to.
public struct ChangeMismatch: Error, Sendable, Hashable {
  /// The offset that the collection does not have.
  public let offset: Int
  /// How many elements there are.
  public let count: Int
  /// Whether the offset and the count are those before the change, and not after it.
  public let isBefore: Bool
}

extension ChangeMismatch: CustomStringConvertible {
  /// What does not fit, and what would help.
  public var description: String {
    "the change names offset \(offset) \(isBefore ? "before" : "after") it, where there are \(count) "
      + "elements; apply it to the version that it was made from"
  }
}
