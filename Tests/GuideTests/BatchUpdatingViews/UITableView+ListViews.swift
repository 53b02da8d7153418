import Diffing
import Foundation
import ListViews

// The same code as in the guide to list views.

extension UITableView: BatchUpdatingSectionedListView {
  public func performBatchUpdates(
    _ updates: () -> Void, completion: @escaping @MainActor (_ isFinished: Bool) -> Void
  ) {
    withoutActuallyEscaping(updates) { updates in
      // The arguments with `.some` select UIKit's method instead of this one.
      performBatchUpdates(
        .some({ updates() }),
        completion: .some({ isFinished in
          MainActor.assumeIsolated { completion(isFinished) }
        }))
    }
  }

  public func deleteSections(at sections: [Int]) {
    deleteSections(IndexSet(sections), with: .automatic)
  }

  public func insertSections(at sections: [Int]) {
    insertSections(IndexSet(sections), with: .automatic)
  }

  public func reloadSections(at sections: [Int]) {
    reloadSections(IndexSet(sections), with: .automatic)
  }

  public func moveSection(at source: Int, to destination: Int) {
    moveSection(source, toSection: destination)
  }

  public func deleteItems(at paths: [SectionedChangeset.Path]) {
    deleteRows(at: paths.map(\.indexPath), with: .automatic)
  }

  public func insertItems(at paths: [SectionedChangeset.Path]) {
    insertRows(at: paths.map(\.indexPath), with: .automatic)
  }

  public func reloadItems(at paths: [SectionedChangeset.Path]) {
    reloadRows(at: paths.map(\.indexPath), with: .automatic)
  }

  public func moveItem(at source: SectionedChangeset.Path, to destination: SectionedChangeset.Path)
  {
    moveRow(at: source.indexPath, to: destination.indexPath)
  }
}

extension SectionedChangeset.Path {
  var indexPath: IndexPath { IndexPath(row: element, section: section) }
}
