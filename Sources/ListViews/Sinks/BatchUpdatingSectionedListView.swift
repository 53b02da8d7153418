public import Diffing

/// A view of sections of items that takes changes in batches.
///
/// It can show a plain list as well, as its only section: the methods for that are there by default.
@MainActor
public protocol BatchUpdatingSectionedListView: BatchUpdatingListView {
  /// Takes sections away, with their items.
  ///
  /// - Parameter sections: Offsets before the batch, ascending.
  func deleteSections(at sections: [Int])

  /// Puts sections in, with their items.
  ///
  /// - Parameter sections: Offsets after the batch, ascending.
  func insertSections(at sections: [Int])

  /// Shows sections anew whose own content differs, such as a heading.
  ///
  /// - Parameter sections: Offsets before the batch, ascending.
  func reloadSections(at sections: [Int])

  /// Moves a section, with its items.
  ///
  /// - Parameters:
  ///   - source: Its offset before the batch.
  ///   - destination: Its offset after the batch.
  func moveSection(at source: Int, to destination: Int)

  /// Takes items away.
  ///
  /// - Parameter paths: Paths before the batch, ascending.
  func deleteItems(at paths: [ElementPath])

  /// Puts items in.
  ///
  /// - Parameter paths: Paths after the batch, ascending.
  func insertItems(at paths: [ElementPath])

  /// Shows items anew whose content differs.
  ///
  /// - Parameter paths: Paths before the batch, ascending.
  func reloadItems(at paths: [ElementPath])

  /// Moves an item, within its section or to another one.
  ///
  /// - Parameters:
  ///   - source: Its path before the batch.
  ///   - destination: Its path after the batch.
  func moveItem(at source: ElementPath, to destination: ElementPath)
}

extension BatchUpdatingSectionedListView {
  /// Takes items of the first section away.
  public func deleteItems(at offsets: [Int]) { deleteItems(at: offsets.map(path)) }

  /// Puts items into the first section.
  public func insertItems(at offsets: [Int]) { insertItems(at: offsets.map(path)) }

  /// Shows items of the first section anew.
  public func reloadItems(at offsets: [Int]) { reloadItems(at: offsets.map(path)) }

  /// Moves an item within the first section.
  public func moveItem(at source: Int, to destination: Int) {
    moveItem(at: path(source), to: path(destination))
  }

  private func path(_ offset: Int) -> ElementPath { ElementPath(section: 0, element: offset) }
}
