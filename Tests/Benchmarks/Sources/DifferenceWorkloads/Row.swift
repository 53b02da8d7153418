public import Swappable

/// A row, as a database or a decoder creates it.
///
/// Equality and hash are the ones that the compiler would synthesize. They are written out because only then can other
/// modules inline them, as in a program that compares its own rows.
@frozen
public struct Row: Identifiable, Hashable, Sendable, Differentiable {
  /// The identity.
  public let id: Int
  /// A string that is too long to be stored inline.
  public var name: String
  /// A field of plain bytes.
  public var value: Double

  /// Creates a row.
  @inlinable
  public init(id: Int, name: String, value: Double) {
    self.id = id
    self.name = name
    self.value = value
  }

  /// Returns whether all fields are equal.
  @inlinable
  public static func == (lhs: Row, rhs: Row) -> Bool {
    lhs.id == rhs.id && lhs.name == rhs.name && lhs.value == rhs.value
  }

  /// Feeds all fields to a hasher.
  @inlinable
  public func hash(into hasher: inout Hasher) {
    hasher.combine(id)
    hasher.combine(name)
    hasher.combine(value)
  }
}
