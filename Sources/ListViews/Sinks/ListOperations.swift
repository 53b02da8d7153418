import Diffing

extension BatchUpdatingListView {
  /// Tells the changes of one stage.
  func perform(_ change: Changeset) {
    if !change.deletions.isEmpty { deleteItems(at: change.deletions) }
    if !change.insertions.isEmpty { insertItems(at: change.insertions) }
    for move in change.moves { moveItem(at: move.from, to: move.to) }
    if !change.updates.isEmpty { reloadItems(at: change.updates.map(\.from)) }
  }
}

extension BatchUpdatingSectionedListView {
  /// Tells the changes of one stage.
  func perform(_ change: SectionedChangeset) {
    let sections = change.sections
    if !sections.deletions.isEmpty { deleteSections(at: sections.deletions) }
    if !sections.insertions.isEmpty { insertSections(at: sections.insertions) }
    for move in sections.moves { moveSection(at: move.from, to: move.to) }
    if !sections.updates.isEmpty { reloadSections(at: sections.updates.map(\.from)) }
    if !change.elementDeletions.isEmpty { deleteItems(at: change.elementDeletions) }
    if !change.elementInsertions.isEmpty { insertItems(at: change.elementInsertions) }
    for move in change.elementMoves { moveItem(at: move.from, to: move.to) }
    if !change.elementUpdates.isEmpty { reloadItems(at: change.elementUpdates.map(\.from)) }
  }
}
