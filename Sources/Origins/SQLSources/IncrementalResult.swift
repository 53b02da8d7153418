package import Diffing
package import ObservableCollections
import SwappablePrimitives

/// A new row of a result, or a changed row as it is now.
package struct AddedRow: Sendable {
  package var row: ResultIndex.Row
  /// The number of the row among the values that were read.
  var number: Int

  package init(row: ResultIndex.Row, number: Int) {
    (self.row, self.number) = (row, number)
  }
}

package struct ResultChange<Row: SQLRow>: Sendable {
  /// Deleted rows, and changed rows as they were.
  package var removed: [ResultIndex.Row] = []
  /// New rows, and changed rows as they are now, by ascending number. Each identity occurs once.
  package var added: [AddedRow] = []
  package var values: RowBatches<Row>

  package init(columns: ResultColumns) {
    values = RowBatches(columns: columns)
  }

  package var count: Int { removed.count + added.count }
}

/// Maintains a result row by row: only rows that have changed are mapped and moved.
///
/// It keeps an index of the rows, but no elements. The collection that shows the elements keeps them.
package final class IncrementalResult<Element: Differentiable & Sendable, Row: SQLRow> {
  /// The known rows. A read adds the keys of new rows to its arena.
  package var index: ResultIndex
  /// The columns of the last result, or `nil` before the first one.
  package private(set) var columns: ResultColumns?
  /// A Boolean value that indicates whether each element has the identity of its row, so no two elements have one.
  package private(set) var areIdentitiesUnique = true

  /// - Parameter isByIdentity: A Boolean value that indicates whether the identities order the result.
  package init(isByIdentity: Bool = false) {
    index = ResultIndex(isByIdentity: isByIdentity)
  }

  /// Applies a change of rows. If a row cannot be mapped, everything stays as it was.
  ///
  /// - Parameters:
  ///   - change: The change. The keys of the added rows are in the arena of `index`.
  ///   - shown: A closure that returns the current elements.
  ///   - map: A closure that makes an element from a row.
  package func apply(
    _ change: ResultChange<Row>, _ shown: () -> Snapshot<Element>, _ map: (Row) throws -> Element
  ) throws(Row.Failure) -> SourceWriter<Element>.Contents {
    let isFirst = columns == nil
    let columns = change.values.columns
    if change.count == 0, !isFirst {
      self.columns = columns
      return .same
    }
    let added = change.added.map { $0.row }
    let order = index.sorted(added)
    let (elements, haveIdentities) = try elements(of: change, added, order, map)
    let areAllNew = change.removed.count == index.count
    areIdentitiesUnique = (areAllNew || areIdentitiesUnique) && haveIdentities
    self.columns = columns
    // The first result replaces the elements of another plan, if there are any.
    let isFew = !isFirst && change.count <= max(256, index.count / 16)
    return isFew
      ? applyFew(change.removed, order.map { added[$0] }, order.map { elements[$0] }, shown())
      : applyMany(change.removed, added, order, elements, shown)
  }

  /// Returns the elements of the added rows, in the order in which these were read and lie in memory, and whether
  /// they have the identities of their rows.
  private func elements(
    of change: ResultChange<Row>, _ added: [ResultIndex.Row], _ order: [Int],
    _ map: (Row) throws -> Element
  ) throws(Row.Failure) -> ([Element], haveIdentities: Bool) {
    var elements: [Element] = []
    elements.reserveCapacity(added.count)
    var haveIdentities = Element.canHaveIdentityOfRow
    var values = change.values
    var number = 0
    try values.consume { row throws(Row.Failure) in
      defer { number += 1 }
      // A row that was read need not be in the result, for example behind its LIMIT.
      guard elements.count < added.count, change.added[elements.count].number == number else {
        return
      }
      do {
        let element = try map(row)
        // Here, and not in a loop of its own, because code that is not specialized copies elements out of an array.
        haveIdentities = haveIdentities && element.hasIdentity(of: added[elements.count])
        elements.append(element)
      } catch {
        let next = index.merging(removed: change.removed, added: added, order: order)
        throw Row.Failure(mapping: error, row: next.offset(of: added[elements.count]))
      }
    }
    return (elements, haveIdentities)
  }

  private func applyFew(
    _ removed: [ResultIndex.Row], _ added: [ResultIndex.Row], _ elements: [Element],
    _ shown: Snapshot<Element>
  ) -> SourceWriter<Element>.Contents {
    let deletions = removed.map { index.offset(of: $0) }.sorted()
    for row in removed { index.remove(row) }
    for row in added { index.insert(row) }
    let insertions = added.map { index.offset(of: $0) }
    // Treat all touched rows as deleted and inserted. The normal form pairs equal identities and finds the fewest moves.
    func new(_ offset: Int) -> Element {
      elements[insertions.partitioningIndex { $0 >= offset }]
    }
    let changeset = Changeset(deletions: deletions, insertions: insertions)
      .normalForm(old: { shown[$0] }, new: new)
    if changeset.isEmpty { return .same }
    return .changed(
      changeset, inserted: changeset.insertions.map(new),
      updated: changeset.updates.map { new($0.to) })
  }

  private func applyMany(
    _ removed: [ResultIndex.Row], _ added: [ResultIndex.Row], _ order: [Int],
    _ elements: [Element], _ shown: () -> Snapshot<Element>
  ) -> SourceWriter<Element>.Contents {
    let isInOrder = order.enumerated().allSatisfy { $0 == $1 }
    var new = (isInOrder ? elements : order.map { elements[$0] })[...]
    if index.count == 0 {
      index = index.merging(removed: [], added: added, order: order)
      return .whole(Array(new))
    }
    let shown = shown().array
    var all: [Element] = []
    all.reserveCapacity(shown.count - removed.count + added.count)
    index = index.merging(removed: removed, added: added, order: order) { offset in
      all.append(offset.map { shown[$0] } ?? new.removeFirst())
    }
    return .whole(all)
  }
}

extension Differentiable {
  fileprivate static var canHaveIdentityOfRow: Bool {
    MemoryLayout<DifferenceIdentifier>.size == 8 && hasBitwiseIdentity
  }

  /// Returns a Boolean value that indicates whether the eight bytes of the identity are those of a row's identity.
  fileprivate func hasIdentity(of row: ResultIndex.Row) -> Bool {
    withUnsafeBytes(of: differenceIdentifier) { $0.loadUnaligned(as: Int64.self) }
      == row.identity.integer
  }
}
