import Diffing
import ObservableCollections
import ReactiveSignals

/// Runs a query again and says what became of it: the part of a data source that knows SQLite.
///
/// It is used by one thread at a time, on the data source's queue.
final class QueryRefetch<Element: Differentiable & Sendable> {
  /// What a data source has to do after a run.
  enum Outcome {
    /// The contents are what they were.
    case unchanged
    /// These are the contents now.
    case loaded([Element])
    /// They could not be read; with a pause, try again after it.
    case failed(SQLiteError, retryAfter: Duration?, isWorthTelling: Bool)
  }

  private let reader: DatabaseReader
  private let query: SQLiteQuery
  private let map: @Sendable (SQLiteRow) throws -> Element
  private var known: SQLiteQuery.Result?
  private var elements: [Element] = []
  private var identities = IdentityCounts<Element>()
  private var retry = RetryPolicy()
  /// Names two elements of one identity, where there are any.
  private(set) var duplicate: SourceDiagnostic?
  /// The version that was read last, and why nothing could be made of it.
  private var seen: (version: DatabaseReader.Version, error: SQLiteError?)?

  init(
    reader: DatabaseReader, query: SQLiteQuery,
    map: @escaping @Sendable (SQLiteRow) throws -> Element
  ) {
    self.reader = reader
    self.query = query
    self.map = map
  }

  /// Runs the query where the database has changed since the last run. No transaction is open, and
  /// nothing is locked, when rows are mapped and when it returns.
  func run() -> Outcome {
    let version: DatabaseReader.Version
    let result: Result<SQLiteQuery.Result, SQLiteError>?
    do throws(SQLiteError) {
      (version, result) = try read()
    } catch {
      return failure(error)
    }
    guard let result else {
      retry.succeeded()
      return seen?.error.map { .failed($0, retryAfter: nil, isWorthTelling: true) } ?? .unchanged
    }
    do {
      let found = try result.get()
      let new = try decode(found)
      let isFirst = known == nil
      known = found
      // The version counts as read only now: where decoding failed, `known` stayed behind.
      seen = (version, nil)
      retry.succeeded()
      guard let new else { return isFirst ? .loaded([]) : .unchanged }
      let old = elements
      elements = new
      count(found, old: old, new: new)
      withExtendedLifetime(old) {}
      return .loaded(new)
    } catch let error as SQLiteError where RetryPolicy.applies(to: error) {
      return failure(error)
    } catch {
      let error = described(error)
      seen = (version, error)
      retry.succeeded()
      return .failed(error, retryAfter: nil, isWorthTelling: true)
    }
  }

  /// The version that the database has, and what the query gives where that is a new one.
  private func read() throws(SQLiteError) -> (
    DatabaseReader.Version, Result<SQLiteQuery.Result, SQLiteError>?
  ) {
    let (query, known, seen) = (query, known, seen)
    return try reader.read { database, version throws(SQLiteError) in
      guard version != seen?.version else { return (version, nil) }
      let result = Result { () throws(SQLiteError) in
        try query.run(on: database, known: known)
      }
      return (version, result)
    }
  }

  /// The elements of a result, those of known rows as they were; `nil` where all stayed in place.
  private func decode(_ result: SQLiteQuery.Result) throws -> [Element]? {
    if result.newRows.isEmpty, result.origins.count == elements.count,
      result.origins.enumerated().allSatisfy({ $0.offset == $0.element })
    {
      return nil
    }
    var new: [Element] = []
    new.reserveCapacity(result.origins.count)
    var newRows = result.newRows.makeIterator()
    for (offset, origin) in result.origins.enumerated() {
      if let origin {
        new.append(elements[origin])
        continue
      }
      guard let row = newRows.next() else {
        preconditionFailure("a result has a row for each place that is not known")
      }
      do {
        new.append(try map(row))
      } catch {
        var error = described(error)
        error.row = offset
        throw error
      }
    }
    return new
  }

  /// Counts the identities of what went and what came.
  private func count(_ result: SQLiteQuery.Result, old: [Element], new: [Element]) {
    var uses = [Int](repeating: 0, count: old.count)
    var added: [Element] = []
    for (offset, origin) in result.origins.enumerated() {
      // Rows of the same values, such as a query may give, can have one origin.
      if let origin { uses[origin] += 1 }
      if origin.map({ uses[$0] > 1 }) ?? true { added.append(new[offset]) }
    }
    let removed = uses.indices.filter { uses[$0] == 0 }.map { old[$0] }
    identities.update(removed: removed, added: added)
    duplicate = identities.diagnostic(for: new)
  }

  private func failure(_ error: SQLiteError) -> Outcome {
    let error = error.located(path: reader.path, sql: nil)
    guard RetryPolicy.applies(to: error) else {
      return .failed(error, retryAfter: nil, isWorthTelling: true)
    }
    let pause = retry.failed()
    return .failed(error, retryAfter: pause, isWorthTelling: retry.isWorthTelling)
  }

  private func described(_ error: any Error) -> SQLiteError {
    let own =
      error as? SQLiteError
      ?? SQLiteError(
        .decoding, "a row cannot be turned into an element: \(error)",
        help: "change the query, or what maps its rows")
    return own.located(path: reader.path, sql: query.sql)
  }
}
