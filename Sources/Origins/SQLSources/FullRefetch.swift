package import Diffing
package import ObservableCollections

/// The rows of a whole result, compared with the rows of the result before.
package struct RefetchedRows<Row: SQLRow>: Sendable {
  /// The rows with new values, in order.
  package var newRows: RowBatches<Row>
  fileprivate var fingerprints: [RowFingerprint] = []
  /// For each row, its offset in the previous result, or `nil` if it is the next of `newRows`.
  fileprivate var origins: [Int?] = []
  private var matcher: RowMatcher

  fileprivate init(columns: ResultColumns, known: [RowFingerprint]) {
    newRows = RowBatches(columns: columns)
    matcher = RowMatcher(known)
    fingerprints.reserveCapacity(known.count)
    origins.reserveCapacity(known.count)
  }

  /// Adds the next row.
  ///
  /// - Returns: A Boolean value that indicates whether the row has new values, and must be copied to `newRows`.
  package mutating func add(_ fingerprint: RowFingerprint) -> Bool {
    let origin = matcher.match(fingerprint)
    origins.append(origin)
    fingerprints.append(fingerprint)
    return origin == nil
  }

  /// The number of bytes that the rows take.
  package var byteCount: Int {
    newRows.byteCount
      + origins.count * (MemoryLayout<RowFingerprint>.stride + MemoryLayout<Int?>.stride)
  }

  fileprivate var areAllKnown: Bool {
    newRows.count == 0 && origins.enumerated().allSatisfy { $0.offset == $0.element }
  }
}

/// Maintains a result by reading the whole result after each change.
///
/// Rows are compared by a hash of their stored values. Only rows with new values are mapped. The collection finds the
/// difference of the elements.
package struct FullRefetch<Element: Differentiable & Sendable, Row: SQLRow> {
  private var columns: ResultColumns?
  private var fingerprints: [RowFingerprint] = []
  private var elements: [Element] = []

  package init() {}

  /// Begins a read of a result.
  package func begin(_ columns: ResultColumns) -> RefetchedRows<Row> {
    RefetchedRows(columns: columns, known: columns == self.columns ? fingerprints : [])
  }

  /// Maps the new rows of a result, and returns the change. If a row cannot be mapped, everything stays as it was.
  package mutating func apply(
    _ rows: RefetchedRows<Row>, _ map: (Row) throws -> Element
  ) throws(Row.Failure) -> SourceWriter<Element>.Contents {
    let isSame =
      columns != nil && rows.origins.count == elements.count && rows.areAllKnown
    let new = isSame ? elements : try decode(rows, map)
    (columns, fingerprints, elements) = (rows.newRows.columns, rows.fingerprints, new)
    return isSame ? .same : .whole(new)
  }

  private func decode(
    _ rows: RefetchedRows<Row>, _ map: (Row) throws -> Element
  ) throws(Row.Failure) -> [Element] {
    var new: [Element] = []
    new.reserveCapacity(rows.origins.count)
    func addKnown() {
      while new.count < rows.origins.count, let origin = rows.origins[new.count] {
        new.append(elements[origin])
      }
    }
    var newRows = rows.newRows
    try newRows.consume { row throws(Row.Failure) in
      addKnown()
      do {
        new.append(try map(row))
      } catch {
        throw Row.Failure(mapping: error, row: new.count)
      }
    }
    addKnown()
    return new
  }
}
