public import Diffing

/// A view of a list that performs changes in batches, such as a table, a web page or a terminal.
///
/// The view reads the data from its owner, and receives the operations through this protocol. All
/// operations occur inside the block of `performBatchUpdates`, after the data has been replaced:
///
///     view.performBatchUpdates {
///       rows = ["b", "c"]            // was ["a", "b"]
///       view.deleteItems(at: [0])
///       view.insertItems(at: [1])
///     } completion: { _ in }
///
/// Deletions, reloads and origins of moves are offsets in the data before the batch. Insertions and
/// destinations are offsets in the data after it. Reloads have a batch of their own. The method
/// names are the names in UIKit's collection view.
///
/// For a view with sections, see ``BatchUpdatingSectionedListView``.
@MainActor
public protocol BatchUpdatingListView: AnyObject {
  /// Shows all current data again, without animation.
  func reloadData()

  /// Performs a block of operations, and shows the result.
  ///
  /// - Parameters:
  ///   - updates: A closure that replaces the data and calls the operations. Call it exactly once
  ///     before you return.
  ///   - completion: A closure to call once when the animation ends, or immediately if there is no
  ///     animation. Pass `false` if the animation was cut short.
  func performBatchUpdates(
    _ updates: () -> Void, completion: @escaping @MainActor (_ isFinished: Bool) -> Void)

  /// Deletes items.
  ///
  /// - Parameter offsets: Offsets before the batch, ascending.
  func deleteItems(at offsets: [Int])

  /// Inserts items.
  ///
  /// - Parameter offsets: Offsets after the batch, ascending.
  func insertItems(at offsets: [Int])

  /// Reloads items whose content differs.
  ///
  /// - Parameter offsets: Offsets before the batch, ascending.
  func reloadItems(at offsets: [Int])

  /// Moves an item.
  ///
  /// - Parameters:
  ///   - source: The offset before the batch.
  ///   - destination: The offset after the batch.
  func moveItem(at source: Int, to destination: Int)
}

/// A view of sections of items that performs changes in batches.
///
/// It can also show a plain list as its only section. The methods of a plain list have default
/// implementations.
@MainActor
public protocol BatchUpdatingSectionedListView: BatchUpdatingListView {
  /// Deletes sections and their items.
  ///
  /// - Parameter sections: Offsets before the batch, ascending.
  func deleteSections(at sections: [Int])

  /// Inserts sections and their items.
  ///
  /// - Parameter sections: Offsets after the batch, ascending.
  func insertSections(at sections: [Int])

  /// Reloads sections whose own content differs, such as a heading.
  ///
  /// - Parameter sections: Offsets before the batch, ascending.
  func reloadSections(at sections: [Int])

  /// Moves a section and its items.
  ///
  /// - Parameters:
  ///   - source: The offset before the batch.
  ///   - destination: The offset after the batch.
  func moveSection(at source: Int, to destination: Int)

  /// Deletes items.
  ///
  /// - Parameter paths: Paths before the batch, ascending.
  func deleteItems(at paths: [SectionedChangeset.Path])

  /// Inserts items.
  ///
  /// - Parameter paths: Paths after the batch, ascending.
  func insertItems(at paths: [SectionedChangeset.Path])

  /// Reloads items whose content differs.
  ///
  /// - Parameter paths: Paths before the batch, ascending.
  func reloadItems(at paths: [SectionedChangeset.Path])

  /// Moves an item inside its section or to another section.
  ///
  /// - Parameters:
  ///   - source: The path before the batch.
  ///   - destination: The path after the batch.
  func moveItem(at source: SectionedChangeset.Path, to destination: SectionedChangeset.Path)
}

extension BatchUpdatingSectionedListView {
  /// Deletes items of the first section.
  public func deleteItems(at offsets: [Int]) { deleteItems(at: offsets.map(path)) }

  /// Inserts items into the first section.
  public func insertItems(at offsets: [Int]) { insertItems(at: offsets.map(path)) }

  /// Reloads items of the first section.
  public func reloadItems(at offsets: [Int]) { reloadItems(at: offsets.map(path)) }

  /// Moves an item inside the first section.
  public func moveItem(at source: Int, to destination: Int) {
    moveItem(at: path(source), to: path(destination))
  }

  private func path(_ offset: Int) -> SectionedChangeset.Path {
    SectionedChangeset.Path(section: 0, element: offset)
  }
}

extension BatchUpdatingListView {
  /// Calls the operations of one stage.
  func perform(_ change: Changeset) {
    if !change.deletions.isEmpty { deleteItems(at: change.deletions) }
    if !change.insertions.isEmpty { insertItems(at: change.insertions) }
    for move in change.moves { moveItem(at: move.from, to: move.to) }
    if !change.updates.isEmpty { reloadItems(at: change.updates.map(\.from)) }
  }
}

extension BatchUpdatingSectionedListView {
  /// Calls the operations of one stage.
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
