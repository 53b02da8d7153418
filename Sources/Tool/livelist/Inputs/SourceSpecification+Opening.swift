import FileSources
import FileWatching
import Foundation
import HTTPSources
import ObservableCollections
import PostgresSources
import ReactiveSignals
import RemoteSources
import SQLiteSources
import SwappablePrimitives
import SwappableSources

extension SourceSpecification {
  /// Creates the data source, behind a guard if there is one.
  func open(
    _ options: SourceOptions, guardedBy changeGuard: ChangeGuard<JSONElement>?
  ) throws(LivelistError) -> any DataSource<JSONElement> {
    let source = try open(options)
    guard let changeGuard else { return source }
    return source.guarded(by: changeGuard)
  }

  /// Creates the data source, and waits until it can be created, if the options say so.
  func openWhenThere(
    _ options: SourceOptions, guardedBy changeGuard: ChangeGuard<JSONElement>? = nil
  ) async throws(LivelistError) -> any DataSource<JSONElement> {
    guard let wait = options.wait else { return try open(options, guardedBy: changeGuard) }
    let end = ContinuousClock.now.advanced(by: wait)
    while true {
      do throws(LivelistError) {
        return try open(options, guardedBy: changeGuard)
      } catch {
        guard kind.isDatabaseUnfinished(error), .now < end else { throw error }
        try? await Task.sleep(for: .milliseconds(100))
      }
    }
  }

  /// Creates the data source. A file need not exist yet.
  func open(_ options: SourceOptions) throws(LivelistError) -> any DataSource<JSONElement> {
    do {
      return try source(options)
    } catch {
      throw LivelistError(cannotLoad: error)
    }
  }

  private func source(_ options: SourceOptions) throws -> any DataSource<JSONElement> {
    switch kind {
    case .file(let path, let format): return format.open(path, options)
    case .files(let pattern, let format):
      return format.open(pattern, options)
    case .live(let path, let list):
      return RemoteDataSource<JSONElement>(.unixSocket(path: path, list: list), key: options.key)
    case .web(let url):
      return RemoteDataSource<JSONElement>(.http(url, headers: options.headers), key: options.key)
    case .pipe(let path, let format):
      return PipeDataSource(path: path, format: format, options)
    case .command(let command, let interval, let format):
      return CommandSource(command: command, interval: interval, format: format, options: options)
        .dataSource()
    case .events: return LinesDataSource(key: options.key)
    case .query(let path, let sql):
      return try SourceSpecification.query(path, sql, key: options.key, options)
    case .table(let path, let name):
      let table = try DatabaseTables(path: path).query(for: name)
      return try SourceSpecification.query(path, table.sql, key: options.key ?? table.key, options)
    case .serverQuery(let connectionString, let sql):
      return try PostgresSource.open(connectionString, sql, options)
    case .several(let parts):
      let sources = try parts.map { try $0.source(options) }
      return sources[0].concatenated(with: Array(sources.dropFirst()))
    }
  }

  private static func query(
    _ path: ByteString, _ sql: String, key: String?, _ options: SourceOptions
  ) throws(SQLiteError) -> any DataSource<JSONElement> {
    let map: @Sendable (SQLiteRow) throws -> JSONElement = { row in
      try RowElements.element(of: row, key: key)
    }
    guard DatabaseTables.immutableFile(path) != nil else {
      return try SQLiteDataSource(
        path: path, sql: sql, arguments: [], uniqueColumnNames: true, timeout: options.timeout,
        map: map)
    }
    return try SQLiteDataSource(
      connection: SQLiteConnection(reading: path), sql: sql, uniqueColumnNames: true,
      timeout: options.timeout, map: map)
  }
}

extension SourceSpecification.Kind {
  /// Returns a Boolean value that indicates whether a database, or its tables, may still be created.
  fileprivate func isDatabaseUnfinished(_ error: LivelistError) -> Bool {
    switch self {
    case .table(let path, _), .query(let path, _):
      // It may have appeared since.
      return path.fileStatus() == nil
        || ["there is no database", "there is no table", "no such table", "database is locked"]
          .contains { error.message.contains($0) }
    default: return false
    }
  }

  /// The columns of each query, also if it has no rows. Files and lists of other processes have no schema.
  var columns: [[String]] {
    get async {
      switch self {
      case .query(let path, let sql):
        let connection = try? SQLiteConnection(reading: path)
        return (try? connection?.query(Self.rowOfNulls(sql)).map(\.columnNames)) ?? []
      case .table(let path, let name):
        guard let sql = try? DatabaseTables(path: path).query(for: name).sql else { return [] }
        return await Self.query(path: path, sql: sql).columns
      case .serverQuery(let server, let sql):
        let rows = try? await PostgresConnection(server).query(Self.rowOfNulls(sql))
        return rows?.map(\.columnNames) ?? []
      case .several(let parts):
        var columns: [[String]] = []
        for part in parts { columns += await part.kind.columns }
        return columns
      case .file, .files, .live, .web, .pipe, .events, .command: return []
      }
    }
  }

  /// Returns a query for one row of nulls with the columns of another query.
  private static func rowOfNulls(_ sql: String) -> String {
    let end = CharacterSet(charactersIn: ";").union(.whitespacesAndNewlines)
    return "SELECT q.* FROM (SELECT 1) AS o LEFT JOIN "
      + "(SELECT * FROM (\(sql.trimmingCharacters(in: end))\n) AS r LIMIT 0) AS q ON true"
  }
}

extension SourceSpecification.Format {
  fileprivate func open(
    _ pattern: PathPattern, _ options: SourceOptions
  ) -> any DataSource<JSONElement> {
    // A query of a server, which may contain a password, may be taken for a pattern.
    let shown = SourceSpecification.redacted(pattern.text.description)
    return MatchingFiles.elements(of: pattern, shownAs: shown) { open($0, options, in: $1) }
  }

  fileprivate func open(
    _ path: ByteString, _ options: SourceOptions, in group: ReadGroup? = nil
  ) -> any DataSource<JSONElement> {
    switch self {
    case .json:
      JSONFileDataSource<JSONElement>(path: path, key: options.key, group: group)
    case .document(let pointer):
      JSONFileDataSource<JSONElement>(
        path: path, key: options.key, at: pointer, spreadingMembers: options.spreadsMembers,
        group: group)
    case .jsonLines:
      JSONLinesDataSource<JSONElement>(
        path: path, key: options.key, isStrict: options.hasStrictLines,
        rotation: group == nil ? options.rotation : .replace, group: group)
    }
  }
}

extension SourceSpecification {
  /// Returns a Boolean value that indicates whether a source of this specification, which is loaded, is known to
  /// have unique keys.
  ///
  /// Each source looks for duplicate keys itself, but not among the keys of several sources.
  func hasUniqueKeys(_ source: any DataSource<JSONElement>) -> Bool {
    switch kind {
    case .several, .files: return false
    case .file, .pipe, .events, .query, .table, .serverQuery, .live, .web, .command:
      guard case .loaded = source.status.state else { return false }
      return !source.status.diagnostics.contains { $0.code == "duplicate-identity" }
    }
  }
}

extension DataSource<JSONElement> {
  /// Waits until the source is loaded as a whole, and returns its contents.
  ///
  /// A source that fails later keeps its contents. A served list may have failed long before, and is loaded nevertheless.
  ///
  /// - Parameters:
  ///   - wait: The time for which a file, a server or an address that is not there is waited for.
  ///   - mustBeComplete: A Boolean value that indicates whether an incomplete last line is an error.
  func loadedSnapshot(
    waiting wait: Duration? = nil, isComplete mustBeComplete: Bool = false
  ) async throws(LivelistError) -> Snapshot<JSONElement> {
    let end = wait.map { ContinuousClock.now.advanced(by: $0) }
    let timer = Task {
      if let end { try? await Task.sleep(until: end) }
    }
    defer { timer.cancel() }
    let (states, send) = AsyncStream.makeStream(
      of: CollectionState<JSONElement>.self, bufferingPolicy: .bufferingNewest(1))
    let observation = observeState { send.yield($0) }
    defer { observation.dispose() }
    if end != nil {
      // At the end of the time, the failure is looked at again.
      Task { [collection] in
        await timer.value
        send.yield(collection.current.state)
      }
    }
    for await state in states where state.hasLoaded || state.status.error != nil {
      if let end, .now < end, !state.hasLoaded, state.status.isAwaitable { continue }
      let failed = explain().nodes.filter { $0.inputs.isEmpty && $0.status?.error != nil }
      // A list of several sources counts as loaded if some of them have failed.
      if let error = failed.first(where: { $0.hasLoaded == false })?.status?.error {
        throw LivelistError(cannotLoad: error)
      }
      if state.hasLoaded {
        let remark = status.diagnostics.first { $0.code == "incomplete-line" }
        if mustBeComplete, let remark { throw .input(remark.message) }
        return state.snapshot
      }
      // Parts that have failed only after they were loaded are used. Wait for the other parts.
      if !failed.contains(where: { $0.hasLoaded == true }), let error = state.status.error {
        throw LivelistError(cannotLoad: error)
      }
    }
    throw LivelistError(cannotLoad: CancellationError())
  }

  /// Reports that the source has failed since it was loaded. A command that reads only once has no status line for it.
  func reportFailure(status exitStatus: Int32 = 1) {
    guard let error = status.error else { return }
    Program.fail(
      "the source has failed, and its last contents are used: "
        + LivelistError(cannotLoad: error).message, status: exitStatus)
  }

  /// Reports lines that were skipped. A command that reads only once has no status line for it.
  func reportSkippedLines() {
    let codes = ["malformed-lines", "incomplete-line", "no-match"]
    for remark in status.diagnostics where codes.contains(remark.code) {
      Program.report(remark.message)
    }
    reportUnreadableText()
  }

  /// A Boolean value that indicates whether lines were skipped, also a last line whose end may follow later.
  var hasSkippedLines: Bool {
    status.diagnostics.contains { ["malformed-lines", "incomplete-line"].contains($0.code) }
  }

  /// Reports what helps if a text was read as JSON Lines, and no line was a JSON value.
  func reportUnreadableText() {
    guard snapshot.isEmpty, status.diagnostics.contains(where: { $0.code == "malformed-lines" }),
      // A line without the key is a value. The remark on it says what helps.
      !status.diagnostics.contains(where: {
        $0.message.contains(", which is the key; ") || $0.message.contains(" as the key.")
      })
    else { return }
    Program.report(
      "no line is a JSON value; for plain text, pipe the output of jq -Rc . FILE into this command "
        + "and use the source -; for values on several lines, use jq -c . FILE; for an array, use "
        + "jq -c '.[]' FILE")
  }
}

extension SourceStatus {
  /// A Boolean value that indicates whether a file, a server or an address is not there yet.
  fileprivate var isAwaitable: Bool {
    if case .missing = state { return true }
    switch error?.underlying {
    case let error as TransportError: return error.retry != .never
    case let error as PostgresError: return error.code == .cannotConnect
    default: return error?.code == "disconnected"
    }
  }

  /// The message of the error, and what the source does next as long as it is shown, or `nil` if there is no
  /// error.
  var shownMessage: String? {
    guard let error else { return nil }
    let next =
      switch error.code {
      case "file-missing": "; it is read as soon as it appears"
      case "file-unstable": "; it is read again when its writer pauses"
      case "file-limit", "file-unreadable": "; it is read again every second"
      case "disconnected" where (error.underlying as? TransportError)?.retry == .never:
        "; the last contents stay"
      case "disconnected": "; the last contents stay, and the connection is made again"
      default: ""
      }
    return error.message + next
  }
}

extension LivelistError {
  /// Creates the error for a source that cannot be loaded.
  ///
  /// If the scheme of a source is wrong, the path of a file or a database may contain a password.
  init(cannotLoad error: any Error) {
    let failure = error as? SourceError
    switch failure?.underlying ?? error {
    case let error as LivelistError: self = error
    case let error as SQLiteError: self.init(error)
    case let error as PostgresError: self.init(error)
    case let error as TransportError:
      // The messages of web services have the advice.
      let isLocal = error.description.hasPrefix("live:unix:")
      let hint = "; start the server, or check the path"
      self = .input("\(error)\(error.isAtConnecting && isLocal ? hint : "")")
    case _ where failure?.code == "json-notAnArray":
      self = .input("\(error); if each line is a value, use jsonl:PATH")
    default: self = .input(redactingPasswords(in: "\(error)"))
    }
  }

  /// Creates the error for a SQLite error.
  ///
  /// The advice of a `SQLiteError` is for programmers. This error has advice for users of the
  /// program.
  init(_ error: SQLiteError) {
    var error = error
    switch error.code {
    case .writes: error.help = "use a SELECT statement"
    case .severalStatements: error.help = "use a single SELECT statement"
    case .arguments:
      error.help = "write the values into the SQL, because livelist binds no arguments"
    case .logFiles:
      error.help =
        "read it as its owner, or while a program of the owner has it open, or as a file that nobody writes: "
        + "PATH?immutable#TABLE or PATH?immutable?SQL"
    case .decoding: error.help = "change the query, or the field of --key"
    default: break
    }
    self = .input(redactingPasswords(in: error.description))
  }
}
