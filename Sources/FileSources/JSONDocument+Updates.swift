import Diffing
import FileWatching
import ObservableCollections

extension JSONDocument {
  /// A change from one version to the next, by texts.
  ///
  /// If the text of an element differs, the old element is deleted and a new one is inserted.
  struct Change<Element> {
    var changeset: Changeset
    /// The new elements, in the order of the insertions.
    var inserted: [Element]
    /// The new versions of the updated elements.
    var updated: [Element] = []
  }

  /// Decodes all elements.
  func elements<Element>(_ decoding: ElementDecoding<Element>) throws(JSONError) -> [Element] {
    do throws(UndecodableElement) {
      return try decoding.decode(values)
    } catch {
      throw self.error(error)
    }
  }

  /// Reads the next version, and decodes only elements whose text is new.
  ///
  /// - Returns: The change, or `nil` if no byte differs.
  /// - Throws: The error of the next version. The document does not change.
  mutating func update<Element>(
    for difference: FileDifference.Bytes, decoding: ElementDecoding<Element>
  ) throws(JSONError) -> Change<Element>? {
    guard let edit = try self.edit(for: difference) else { return nil }
    let changeset = edit.changeset
    let start = edit.elements.lowerBound
    let values = JSONValues(
      text: edit.text, spans: changeset.insertions.map { edit.spans[$0 - start] }, key: key)
    let inserted: [Element]
    do throws(UndecodableElement) {
      inserted = try decoding.decode(values)
    } catch {
      var next = self
      next.apply(edit)
      var fault = error
      fault.offset = changeset.insertions[error.offset]
      throw next.error(fault)
    }
    apply(edit)
    return Change(changeset: changeset, inserted: inserted)
  }
}

extension JSONDocument.Change where Element: Differentiable & Sendable {
  /// Replaces a deletion and an insertion in one place with an update if both have one identity.
  ///
  /// Most elements change this way, and an update costs less.
  ///
  /// - Parameter old: The elements before the change.
  mutating func pairUpdates(of old: Snapshot<Element>) {
    // If other elements move, the places are not comparable.
    guard changeset.moves.isEmpty, changeset.updates.isEmpty else { return }
    let (oldDeletions, oldInsertions, oldInserted) =
      (changeset.deletions, changeset.insertions, inserted)
    var (deletions, insertions): ([Int], [Int]) = ([], [])
    var updates: [Changeset.Update] = []
    inserted = []
    var (deletion, insertion) = (0, 0)
    while deletion < oldDeletions.count, insertion < oldInsertions.count {
      let (from, to, element) =
        (oldDeletions[deletion], oldInsertions[insertion], oldInserted[insertion])
      // The number of kept elements before the element, in both versions.
      let (oldPlace, newPlace) = (from - deletion, to - insertion)
      let isUpdate =
        oldPlace == newPlace && old[from].differenceIdentifier == element.differenceIdentifier
      if isUpdate {
        updates.append(.init(from: from, to: to))
        updated.append(element)
      }
      if oldPlace <= newPlace {
        if !isUpdate { deletions.append(from) }
        deletion += 1
      }
      if oldPlace >= newPlace {
        if !isUpdate {
          insertions.append(to)
          inserted.append(element)
        }
        insertion += 1
      }
    }
    deletions += oldDeletions[deletion...]
    insertions += oldInsertions[insertion...]
    inserted += oldInserted[insertion...]
    changeset = Changeset(deletions: deletions, insertions: insertions, updates: updates)
  }
}

extension JSONDocumentEdit {
  /// The change of the elements.
  fileprivate var changeset: Changeset {
    let limit = min(origins.count, elements.count)
    var first = 0
    while first < limit, origins[first] == elements.lowerBound + first { first += 1 }
    let start = elements.lowerBound + first
    let changeset = Changeset(
      origins: origins[first...].map { $0 < 0 ? -1 : $0 - start },
      oldCount: elements.count - first, isUpdated: { _, _ in false })
    if start == 0 { return changeset }
    return Changeset(
      deletions: changeset.deletions.map { $0 + start },
      insertions: changeset.insertions.map { $0 + start },
      moves: changeset.moves.map { .init(from: $0.from + start, to: $0.to + start) })
  }
}
