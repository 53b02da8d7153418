import Diffing
import ObservableCollections

extension JSONFileContents.Change where Element: Differentiable & Sendable {
  /// Makes an update of what is deleted and inserted in one place under one identity.
  ///
  /// That is how most elements change, and less is to be done for an update.
  ///
  /// - Parameter old: The elements before.
  mutating func pairUpdates(of old: Snapshot<Element>) {
    // Where others move, places are not so easily told.
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
      // How many elements before it are kept.
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
