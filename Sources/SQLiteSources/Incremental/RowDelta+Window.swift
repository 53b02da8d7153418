extension RowDelta {
  /// What becomes of the first rows of a result, of which no more than `limit` are known.
  ///
  /// - Parameters:
  ///   - index: The rows that are shown.
  ///   - limit: How many are shown at most.
  /// - Returns: `nil` where rows come into sight that nothing is known of.
  func windowed(_ index: RowIndex, limit: Int) -> RowDelta? {
    var delta = self
    if index.count >= limit {
      // All that is not known stands behind the last row; so what comes there is not to be seen.
      guard let last = index.last else { return RowDelta(values: values) }
      delta.added.removeAll { index.precedes(last, $0.row) }
      if index.count - delta.removed.count + delta.added.count < limit { return nil }
    }
    guard index.count - delta.removed.count + delta.added.count > limit else { return delta }
    var next = index
    next.apply(delta)
    var pushedOut: Set<Int64> = []
    while next.count > limit, let last = next.last {
      next.remove(last)
      pushedOut.insert(last.rowid)
    }
    let removed = Set(delta.removed.map(\.rowid))
    delta.added.removeAll { pushedOut.contains($0.row.rowid) }
    for rowid in pushedOut.sorted() where !removed.contains(rowid) {
      if let row = index.row(rowid) { delta.removed.append(row) }
    }
    return delta
  }
}
