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
