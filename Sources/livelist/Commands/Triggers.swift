import PostgresSources
import RemoteSources
import TerminalViews

/// The command `triggers`: installs, removes or shows the change triggers of tables of a server.
struct Triggers {
  let options: TriggersOptions
  let output: Output

  func run() async throws(LivelistError) {
    do throws(PostgresError) {
      try await perform(PostgresConnection(options.connectionString))
    } catch {
      var error = error
      if error.code == .lockTimeout {
        error.help += "; --attempts and --lock-timeout set how often and how long to wait"
      }
      throw .input(error.description)
    }
  }

  private func perform(_ connection: PostgresConnection) async throws(PostgresError) {
    let tables = options.tables
    switch options.action {
    case .install:
      let results = try await connection.installChangeTriggers(
        on: tables, wakesReaders: options.wakesReaders, readers: options.readers,
        locking: options.locking)
      print(results.map(\.description))
    case .uninstall:
      let results = try await connection.uninstallChangeTriggers(
        on: tables.isEmpty ? nil : tables, locking: options.locking)
      print(results.map(\.description))
      if results.isEmpty { reportNoTriggers() }
    case .status:
      let results = try await connection.changeTriggerStatus(on: tables.isEmpty ? nil : tables)
      print(results.map(Triggers.status))
      if results.isEmpty { reportNoTriggers() }
    case .sql:
      let sql = try await connection.changeTriggersSQL(
        on: tables, wakesReaders: options.wakesReaders, readers: options.readers)
      if sql.isEmpty {
        Program.report("there is no SQL to run, because the triggers of the tables are installed")
      } else {
        print(sql: sql)
      }
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

  private func reportNoTriggers() {
    Program.report(
      options.tables.isEmpty
        ? "no table of the database has change triggers"
        : "none of the tables has change triggers")
  }

  private func print(_ texts: [String]) {
    output.line { line in
      for text in texts { line.append(text.printableLine + "\n") }
    }
  }

  /// Prints SQL, in which a program must find every character.
  private func print(sql: String) {
    output.line { line in
      guard output.isTerminal else { return line.append(sql) }
      for text in sql.split(separator: "\n") {
        line.append(TerminalText.printable(String(text)) + "\n")
      }
    }
  }
}
