import PostgresSources
import RemoteSources
import SwappablePrimitives
import TerminalViews

/// The command `triggers`: installs, removes or shows the change triggers of tables of a server.
struct Triggers: Command {
  enum Action: String, CaseIterable {
    case install
    case uninstall
    case status
    case sql

    static var words: [String] { allCases.map(\.rawValue) }

    /// The options of the command that the action takes.
    var options: [Option] { Option.all.filter { $0.actions.contains(self) } }

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
  let options: Options

  init(_ words: Arguments) throws(LivelistError) {
    try words.checkCount(1..., "needs an action")
    action = try Triggers.action(words.operands[0])
    for option in CommandName.triggers.options
    where words.has(option) && !option.actions.contains(action) {
      throw .usage(
        "triggers \(action) does not take \(option.name), which is for "
          + "\(option.actions.map(\.rawValue).joined(separator: " and ")); use \(action.usage)")
    }
    guard words.operands.count > 1 else {
      throw .usage("triggers \(action) needs a server; use \(action.usage)")
    }
    connectionString = try PostgresSource.connectionString(
      words.operands[1], usage: action.usage)
    tables = try Triggers.tables(words.operands.dropFirst(2))
    if action.needsTables, tables.isEmpty {
      throw .usage("triggers \(action) needs at least one table; use \(action.usage)")
    }
    options = words.options
  }

  private static func action(_ word: ByteString) throws(LivelistError) -> Action {
    if let action = Action(rawValue: word.description) { return action }
    if PostgresSource.isSource(word) {
      throw .usage("the action is missing; use \(CommandName.triggers.usage)")
    }
    let advice = NearestWord.advice(for: word, among: Action.words)
    throw .usage(
      "unknown action \"\(SourceSpecification.redacted(word.description))\"\(advice); use "
        + CommandName.triggers.usage)
  }

  private static func tables(_ words: ArraySlice<ByteString>) throws(LivelistError) -> [String] {
    var tables: [String] = []
    for word in words {
      let shown = SourceSpecification.redacted(word.description)
      guard let table = word.string else {
        throw .usage("the table \"\(shown)\" is not UTF-8; use another name")
      }
      // The rest of a connection string without quotation marks may be a password.
      if PostgresSource.isSource(word) || table.contains("=") && !table.contains("\"") {
        throw .usage(
          "\"\(shown)\" is no table; write the connection string once, "
            + "as one argument: 'postgres:host=localhost dbname=shop'")
      }
      tables.append(table)
    }
    return tables
  }

  func run(_ output: Output) async throws(LivelistError) {
    do throws(PostgresError) {
      try await perform(PostgresConnection(connectionString), output)
    } catch {
      var error = error
      if error.code == .lockTimeout {
        error.help += "; --attempts and --lock-timeout set how often and how long to wait"
      }
      throw .input(error.description)
    }
  }

  private func perform(
    _ connection: PostgresConnection, _ output: Output
  ) async throws(PostgresError) {
    let named = tables.isEmpty ? nil : tables
    let lines: [String]
    switch action {
    case .install:
      lines = try await connection.installChangeTriggers(
        on: tables, wakesReaders: options.wakesReaders, readers: options.readers,
        lockTimeout: options.lockTimeout, lockAttempts: options.lockAttempts
      ).map(\.description)
    case .uninstall:
      lines = try await connection.uninstallChangeTriggers(
        on: named, lockTimeout: options.lockTimeout, lockAttempts: options.lockAttempts
      ).map(\.description)
    case .status:
      lines = try await connection.changeTriggerStatus(on: named).map(Triggers.status)
    case .sql:
      let sql = try await connection.changeTriggersSQL(
        on: tables, wakesReaders: options.wakesReaders, readers: options.readers)
      if sql.isEmpty {
        Program.report("there is no SQL to run, because the triggers of the tables are installed")
      }
      return print(sql, output)
    }
    if lines.isEmpty {
      Program.report(
        "\(named == nil ? "no table of the database" : "none of the tables") has change triggers")
    }
    output.line { line in
      for text in lines { line.append(text.printableLine + "\n") }
    }
  }

  /// Describes the triggers of a table by what an installation would do.
  private static func status(_ result: ChangeTriggerResult) -> String {
    switch result.action {
    case .unchanged: "\(result.table): installed. \(result.remark)"
    case .repaired: "\(result.table): must be installed again. \(result.remark)"
    // The remark is about the triggers that an installation would create.
    case .installed: "\(result.table): none. After install: \(result.remark)"
    case .removed: result.description
    }
  }

  /// Prints SQL, in which a program must find every character.
  private func print(_ sql: String, _ output: Output) {
    output.line { line in
      guard output.isTerminal else { return line.append(sql) }
      for text in sql.split(separator: "\n") {
        line.append(TerminalText.printable(String(text)) + "\n")
      }
    }
  }
}
