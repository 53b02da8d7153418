/// A JSON value that is neither an array nor an object.
public enum JSONScalar: Sendable, Hashable {
  /// `null`.
  case null
  /// `true` or `false`.
  case bool(Bool)
  /// A number as JSON writes it, for example `-1.5e3`: all its digits survive.
  case number(String)
  /// A string, decoded.
  case string(String)

  /// An integer.
  public static func integer(_ value: some BinaryInteger) -> JSONScalar {
    .number(String(value))
  }
}
