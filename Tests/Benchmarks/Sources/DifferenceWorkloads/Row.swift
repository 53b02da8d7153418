public import Swappable

/// A row as a database or a decoder makes it.
///
/// Equality and hash are those that the compiler would write, field by field. They are spelled out
/// because only then they can be inlined into other modules, as they are where a program's own row is
/// compared.
@frozen
public struct Row: Identifiable, Hashable, Sendable, Differentiable {
  /// The identity.
  public let id: Int
  /// Too long to be kept without storage of its own.
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

  /// Tells whether all fields are equal.
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
