/// The arguments of a statement, by position or by name.
///
///     try connection.query("SELECT * FROM task WHERE list = ? AND done = ?", [7, false])
///     try connection.query("SELECT * FROM task WHERE list = :list", ["list": 7])
///
/// A name may be given with or without its `:`, `@` or `$`.
public struct SQLiteArguments: Sendable, Hashable {
  enum Storage: Sendable, Hashable {
    case positional([SQLiteValue])
    case named([String: SQLiteValue])
  }

  let storage: Storage

  /// Creates an empty list of arguments.
  public init() {
    storage = .positional([])
  }

  /// Creates arguments by position. The first value belongs to the first `?`.
  public init(_ values: some Sequence<SQLiteValue>) {
    storage = .positional(Array(values))
  }

  /// Creates arguments by name.
  public init(named values: [String: SQLiteValue]) {
    storage = .named(values)
  }
}

extension SQLiteArguments {
  /// Returns the value of an argument that follows all other arguments in its statement.
  ///
  /// - Parameter name: The argument, as it is written in the statement.
  func value(named name: String) -> SQLiteValue? {
    switch storage {
    case .positional(let values):
      if name == "?" { return values.last }
      // A numbered argument counts from 1. The position of a named argument is not known here.
      guard name.first == "?", let number = Int(name.dropFirst()) else { return nil }
      return values.indices.contains(number - 1) ? values[number - 1] : nil
    case .named(let values):
      return values[name] ?? values[String(name.dropFirst())]
    }
  }
}

extension SQLiteArguments: ExpressibleByArrayLiteral {
  /// Creates arguments by position.
  public init(arrayLiteral elements: (any SQLiteValueConvertible)?...) {
    self.init(elements.map { $0?.sqliteValue ?? .null })
  }
}

extension SQLiteArguments: ExpressibleByDictionaryLiteral {
  /// Creates arguments by name. If a name occurs twice, the last value is used.
  public init(dictionaryLiteral elements: (String, (any SQLiteValueConvertible)?)...) {
    self.init(
      named: Dictionary(elements.map { ($0, $1?.sqliteValue ?? .null) }) { _, last in last })
  }
}
