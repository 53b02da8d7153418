/// The arguments of a statement: by position, or by name.
///
///     try connection.query("SELECT * FROM task WHERE list = ? AND done = ?", [7, false])
///     try connection.query("SELECT * FROM task WHERE list = :list", ["list": 7])
///
/// Names are given with or without their `:`, `@` or `$`.
public struct SQLiteArguments: Sendable, Hashable {
  enum Storage: Sendable, Hashable {
    case positional([SQLiteValue])
    case named([String: SQLiteValue])
  }

  let storage: Storage

  /// No arguments.
  public init() {
    storage = .positional([])
  }

  /// Arguments by position, the first for the first `?`.
  public init(_ values: some Sequence<SQLiteValue>) {
    storage = .positional(Array(values))
  }

  /// Arguments by name.
  public init(named values: [String: SQLiteValue]) {
    storage = .named(values)
  }
}

extension SQLiteArguments {
  /// The value of an argument that stands behind all others in its statement.
  ///
  /// - Parameter name: The argument as it is written there.
  func value(named name: String) -> SQLiteValue? {
    switch storage {
    case .positional(let values):
      if name == "?" { return values.last }
      // A number counts from 1; a name without its value by name has a place that is not known here.
      guard name.first == "?", let number = Int(name.dropFirst()) else { return nil }
      return values.indices.contains(number - 1) ? values[number - 1] : nil
    case .named(let values):
      return values[name] ?? values[String(name.dropFirst())]
    }
  }
}

extension SQLiteArguments: ExpressibleByArrayLiteral {
  /// Arguments by position.
  public init(arrayLiteral elements: (any SQLiteValueConvertible)?...) {
    self.init(elements.map { $0?.sqliteValue ?? .null })
  }
}

extension SQLiteArguments: ExpressibleByDictionaryLiteral {
  /// Arguments by name; where a name is given twice, the last one counts.
  public init(dictionaryLiteral elements: (String, (any SQLiteValueConvertible)?)...) {
    self.init(
      named: Dictionary(elements.map { ($0, $1?.sqliteValue ?? .null) }) { _, last in last })
  }
}
