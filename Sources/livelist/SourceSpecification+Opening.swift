import FileSources
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
    case .sqlite(let path, let sql):
      do throws(SQLiteError) {
        return try SQLiteDataSource(path: path, sql: sql, uniqueColumnNames: true) { row in
          try SQLiteElements.element(of: row, key: key)
        }
      } catch {
        throw .input(error.description)
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
      throw .input("\(error)")
    }
  }
}
