import PostgresSources
import SwappablePrimitives

/// The arguments of the command `triggers`.
struct TriggersOptions {
  /// What the command does with the triggers.
  enum Action: String, CaseIterable {
    case install
    case uninstall
    case status
    case sql

    /// The options of the command that the action takes.
    var options: [Option] {
      switch self {
      case .install: [.wakeReaders, .reader, .lockTimeout, .attempts]
      case .uninstall: [.lockTimeout, .attempts]
      case .status: []
      case .sql: [.wakeReaders, .reader]
      }
    }

    /// A Boolean value that indicates whether the action needs the names of tables.
    var needsTables: Bool { self == .install || self == .sql }

    /// What the action does, in a few words for the help.
    var help: String {
      switch self {
      case .install:
        "creates the triggers of the tables, of their partitions and of their children, and replaces "
          + "triggers that do not fit; prints a line for each table"
      case .uninstall:
        "removes the triggers of the tables; without a TABLE, removes all triggers and the schema "
          + "swappable, which holds the records"
      case .status:
        "prints whether the triggers of the tables are installed; without a TABLE, prints all tables "
          + "with triggers"
      case .sql: "prints the SQL of install for psql, and changes nothing"
      }
    }

    /// The command line in short, for errors.
    var usage: String {
      "livelist triggers \(rawValue) " + (options.isEmpty ? "" : "[OPTION …] ")
        + "postgres:CONNINFO " + (needsTables ? "TABLE …" : "[TABLE …]")
    }
  }

  let action: Action
  /// The connection string, which may contain a password.
  let connectionString: String
  /// The names of the tables, as in SQL.
  let tables: [String]
  /// A Boolean value that indicates whether each commit notifies the readers.
  let wakesReaders: Bool
  /// The roles that may read the records.
  let readers: [String]
  let locking: ChangeTriggerLocking

  init(_ words: Arguments) throws(LivelistError) {
    try words.checkCount(1..., "needs an action")
    action = try TriggersOptions.action(words.operands[0])
    for option in CommandName.triggers.options
    where words.has(option) && !action.options.contains(option) {
      let others = Action.allCases.filter { $0.options.contains(option) }.map(\.rawValue)
      throw .usage(
        "triggers \(action) does not take \(option.name), which is for "
          + "\(others.joined(separator: " and ")); use \(action.usage)")
    }
    guard words.operands.count > 1 else {
      throw .usage("triggers \(action) needs a server; use \(action.usage)")
    }
    connectionString = try PostgresSource.connectionString(
      words.operands[1], usage: action.usage)
    tables = try TriggersOptions.tables(words.operands.dropFirst(2))
    if action.needsTables, tables.isEmpty {
      throw .usage("triggers \(action) needs at least one table; use \(action.usage)")
    }
    wakesReaders = words.has(.wakeReaders)
    readers = words.values(.reader)
    locking = try TriggersOptions.locking(words)
  }

  private static func action(_ word: ByteString) throws(LivelistError) -> Action {
    if let action = Action(rawValue: word.description) { return action }
    if PostgresSource.isSource(word) {
      throw .usage("the action is missing; use \(CommandName.triggers.usage)")
    }
    let advice = NearestWord.advice(for: word, among: Action.allCases.map(\.rawValue))
    throw .usage(
      "unknown action \"\(PostgresSource.redacted(any: word.description))\"\(advice); use "
        + CommandName.triggers.usage)
  }

  private static func tables(_ words: ArraySlice<ByteString>) throws(LivelistError) -> [String] {
    var tables: [String] = []
    for word in words {
      guard let table = word.string else {
        throw .usage("the table \"\(word)\" is not UTF-8; use another name")
      }
      // The rest of a connection string without quotation marks may be a password.
      if PostgresSource.isSource(word) || table.contains("=") && !table.contains("\"") {
        throw .usage(
          "\"\(PostgresSource.redacted(any: table))\" is no table; write the connection string once, "
            + "as one argument: 'postgres:host=localhost dbname=shop'")
      }
      tables.append(table)
    }
    return tables
  }

  private static func locking(_ words: Arguments) throws(LivelistError) -> ChangeTriggerLocking {
    var locking = ChangeTriggerLocking()
    if let number = try words.number(.lockTimeout, in: 1...3_600_000) {
      locking.timeout = .milliseconds(number)
    }
    if let number = try words.number(.attempts, in: 1...1_000_000) { locking.attempts = number }
    return locking
  }
}

extension Arguments {
  /// The value of an option as a number, or `nil` if the option is not given.
  fileprivate func number(
    _ option: Option, in range: ClosedRange<Int>
  ) throws(LivelistError) -> Int? {
    guard let text = value(option) else { return nil }
    guard let number = Int(text), range.contains(number) else {
      throw .usage(
        "\(option.name) cannot be \"\(text)\"; use a number from \(range.lowerBound) to "
          + "\(range.upperBound)" + (option.example.map { ", such as \(option.name) \($0)" } ?? ""))
    }
    return number
  }
}
