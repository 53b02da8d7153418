import FileSources
import Foundation
import ObservableCollections
import SQLiteSources

extension SourceSpecification {
  /// Makes the data source; what it reads need not be there yet.
  ///
  /// - Parameter key: the field by which elements are known; nil for a query's first column, or the
  ///   whole element of a file.
  func open(key: String?) throws(Failure) -> any DataSource<JSONElement> {
    switch kind {
    case .json(let path):
      return JSONFileDataSource<JSONElement>(path: path, key: key)
    case .jsonLines(let path):
      return JSONLinesDataSource<JSONElement>(path: path, key: key)
    case .lines: return LinesDataSource(descriptor: STDIN_FILENO, key: key)
    case .sqlite(let path, let sql):
      do throws(SQLiteError) {
        return try SQLiteDataSource(path: path, sql: sql, uniqueColumnNames: true) { row in
          try SQLiteElements.element(of: row, key: key)
        }
      } catch {
        throw Failure(error)
      }
    }
  }
}

extension DataSource<JSONElement> {
  /// Waits until it has loaded.
  func loadedOrFailure() async throws(Failure) -> Snapshot<JSONElement> {
    do {
      return try await loaded()
    } catch {
      throw Failure(cannotLoad: error)
    }
  }
}

extension Failure {
  /// Why a source could not be loaded.
  init(cannotLoad error: any Error) {
    switch (error as? SourceError)?.underlying {
    case let underlying as SQLiteError: self.init(underlying)
    case let underlying? where (error as? SourceError)?.code == "file-missing":
      // The source itself goes on looking; here nobody does.
      self = .input("\(underlying); check the path, or create the file first")
    default: self = .input("\(error)")
    }
  }

  /// A source's advice is meant for those who write programs; here it is for those who call this one.
  fileprivate init(_ error: SQLiteError) {
    var error = error
    switch error.code {
    case .writes: error.help = "only queries are run here: give a SELECT"
    case .severalStatements: error.help = "give one SELECT alone"
    case .arguments: error.help = "write the values into the SQL, since no arguments are given here"
    case .decoding: error.help = "change the query, or the field of --key"
    default: break
    }
    self = .input(error.description)
  }
}
