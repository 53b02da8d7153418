public import Diffing

/// An index of the identities of a list, which finds the first element with an identity in O(log *n*).
///
/// It is created when an element is first looked up in a long list, and follows the edits from then on. After as many
/// edits without a search as take the time of creating another one, it gives up and becomes *stale*. So does the index
/// of a list that has become short.
///
/// Hashing and comparing identities may call code that edits or searches the list again. The index is stale then, too.
/// The owner of a stale index creates another one for the next search.
@usableFromInline
final class IdentityIndex<Element: Differentiable & Sendable>: @unchecked Sendable {
  // Sendable: only the thread inside the gate of a collection, or the thread that delivers, uses it.

  @usableFromInline typealias Identifier = Element.DifferenceIdentifier

  /// The number of elements from which on an index takes less time than a search.
  @inlinable static var minimumCount: Int { 256 }

  /// The rows in the order of the list. An element keeps its row as long as it is in the list.
  private var rows: RowTree
  private var freeRows: [UInt32] = []
  /// The number of rows that were ever used at once.
  private var rowCount: UInt32 = 0
  /// A row of each identity.
  private var rowsByIdentifier: [Identifier: UInt32]
  /// The further rows of identities that occur more than once.
  private var duplicates: [Identifier: Set<UInt32>] = [:]
  /// The number of elements that were edited since the last search.
  private var editCount = 0
  /// A Boolean value that indicates whether the index is being used now.
  private var isBusy = false
  /// A Boolean value that indicates whether the index no longer describes the list.
  @usableFromInline private(set) var isStale = false

  /// Creates the index of a list.
  ///
  /// - Complexity: O(*n*)
  @usableFromInline
  init(_ elements: Snapshot<Element>) {
    rows = RowTree(0..<UInt32(elements.count))
    rowsByIdentifier = Dictionary(minimumCapacity: elements.count)
    for element in elements {
      add(element.differenceIdentifier, rowCount)
      rowCount += 1
    }
  }

  /// Returns the offset of the first element with an identity.
  ///
  /// - Complexity: O(log *n*) for an identity that occurs once.
  @usableFromInline
  func firstIndex(identifiedBy identifier: Identifier) -> Int? {
    var offset: Int?
    editCount = 0
    use(edits: 0) {
      guard let row = rowsByIdentifier[identifier] else { return }
      let others = duplicates.isEmpty ? nil : duplicates[identifier]
      offset =
        others?.reduce(rows.offset(of: row)) { min($0, rows.offset(of: $1)) }
        ?? rows.offset(of: row)
    }
    return offset
  }

  // MARK: Following edits

  /// Follows an edit.
  ///
  /// - Parameters:
  ///   - changeset: The edit.
  ///   - elements: Its elements.
  /// - Complexity: O(*k* log *n*) in the *k* operations.
  @usableFromInline
  func follow(_ changeset: Changeset, _ elements: EditedElements<Element>) {
    use(edits: changeset.changeCount) {
      var moved = Array(repeating: UInt32(0), count: changeset.moves.count)
      var leaving = elements.removed.reversed().makeIterator()
      var entering = elements.inserted.makeIterator()
      changeset.rearrange { offset, move in
        let row = rows.remove(at: offset)
        if let move {
          moved[move] = row
        } else if let element = leaving.next() {
          remove(element.differenceIdentifier, row)
        }
      } arrive: { offset, move in
        if let move {
          rows.insert(moved[move], at: offset)
        } else if let element = entering.next() {
          insert(element.differenceIdentifier, at: offset)
        }
      }
      for (position, update) in changeset.updates.enumerated() {
        replace(
          elements.replaced[position].differenceIdentifier,
          by: elements.updated[position].differenceIdentifier, at: update.to)
      }
    }
  }

  /// Follows an edit between two snapshots.
  ///
  /// - Complexity: O(*k* log *n*) in the *k* operations.
  @usableFromInline
  func follow(_ changeset: Changeset, from old: Snapshot<Element>, to new: Snapshot<Element>) {
    var elements = EditedElements(
      inserted: changeset.insertions.map { new[$0] },
      updated: changeset.updates.map { new[$0.to] },
      removed: changeset.deletions.map { old[$0] })
    elements.replaced = changeset.updates.map { old[$0.from] }
    follow(changeset, elements)
  }

  /// Marks the index as stale, because the list is edited without it.
  @usableFromInline
  func invalidate() { isStale = true }

  private func use(edits: Int, _ body: () -> Void) {
    editCount += edits
    let isShort = edits > 0 && rows.count < rowCount / 4
    if isBusy || isShort || editCount > (Self.minimumCount + rows.count) / 8 { isStale = true }
    if isStale { return }
    isBusy = true
    body()
    isBusy = false
  }

  // MARK: Single elements

  private func insert(_ identifier: Identifier, at offset: Int) {
    let row = freeRows.popLast() ?? rowCount
    if row == rowCount { rowCount += 1 }
    rows.insert(row, at: offset)
    add(identifier, row)
  }

  private func add(_ identifier: Identifier, _ row: UInt32) {
    if let first = rowsByIdentifier.updateValue(row, forKey: identifier) {
      duplicates[identifier, default: []].insert(first)
    }
  }

  /// Removes an identity, after its row was removed from the list.
  private func remove(_ identifier: Identifier, _ row: UInt32) {
    freeRows.append(row)
    let isRepeated = !duplicates.isEmpty && duplicates[identifier] != nil
    if !isRepeated {
      rowsByIdentifier[identifier] = nil
    } else {
      var others = duplicates[identifier] ?? []
      if others.remove(row) == nil, let other = others.popFirst() {
        rowsByIdentifier[identifier] = other
      }
      duplicates[identifier] = others.isEmpty ? nil : others
    }
  }

  private func replace(_ old: Identifier, by new: Identifier, at offset: Int) {
    if old == new { return }
    let row = rows.remove(at: offset)
    remove(old, row)
    insert(new, at: offset)
  }
}
