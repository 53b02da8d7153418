import DataSourceTesting
import Diffing
import Foundation

/// A model of UIKit's table view for the guide to list views, based on a strict view.
@MainActor
class UITableView {
  enum RowAnimation { case automatic }

  var sections: [TestSection] = []
  private(set) lazy var strict = StrictListView(sections: { [unowned self] in sections })

  /// The headings and cells, or nothing if the view has found a violation.
  var shown: [[TestElement]] {
    strict.violations.isEmpty ? zip(strict.headings, strict.cells).map { [$0.model] + $1 } : []
  }

  func reloadData() { strict.reloadData() }

  func performBatchUpdates(_ updates: (() -> Void)?, completion: ((Bool) -> Void)? = nil) {
    strict.performBatchUpdates {
      updates?()
    } completion: {
      completion?($0)
    }
  }

  func deleteSections(_ sections: IndexSet, with animation: RowAnimation) {
    strict.deleteSections(at: Array(sections))
  }

  func insertSections(_ sections: IndexSet, with animation: RowAnimation) {
    strict.insertSections(at: Array(sections))
  }

  func reloadSections(_ sections: IndexSet, with animation: RowAnimation) {
    strict.reloadSections(at: Array(sections))
  }

  func moveSection(_ section: Int, toSection newSection: Int) {
    strict.moveSection(at: section, to: newSection)
  }

  func deleteRows(at indexPaths: [IndexPath], with animation: RowAnimation) {
    strict.deleteItems(at: indexPaths.map(\.path))
  }

  func insertRows(at indexPaths: [IndexPath], with animation: RowAnimation) {
    strict.insertItems(at: indexPaths.map(\.path))
  }

  func reloadRows(at indexPaths: [IndexPath], with animation: RowAnimation) {
    strict.reloadItems(at: indexPaths.map(\.path))
  }

  func moveRow(at indexPath: IndexPath, to newIndexPath: IndexPath) {
    strict.moveItem(at: indexPath.path, to: newIndexPath.path)
  }
}

extension IndexPath {
  init(row: Int, section: Int) {
    self.init(indexes: [section, row])
  }

  fileprivate var path: SectionedChangeset.Path {
    SectionedChangeset.Path(section: self[0], element: self[1])
  }
}
