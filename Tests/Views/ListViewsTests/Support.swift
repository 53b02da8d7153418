import DataSourceTesting
import Diffing
import Foundation
import ListViews
import TestSupport

/// Sections, and a strict view that shows them.
@MainActor
final class SectionedScreen<Section: DifferentiableSection> {
  var sections: [Section]
  /// A Boolean value that indicates whether moves of items are dropped.
  var forgetsMoves = false
  private(set) lazy var view = StrictListView(sections: { [unowned self] in sections })

  init(_ sections: [Section]) {
    self.sections = sections
    view.reloadData()
  }
}

/// Rows, and a strict view that shows them.
@MainActor
final class Screen<Row: Differentiable> {
  var rows: [Row]
  private(set) lazy var view = StrictListView(rows: { [unowned self] in rows })

  init(_ rows: [Row] = []) {
    self.rows = rows
    view.reloadData()
  }

  /// The rows that the view shows; none where a rule was broken, for what was is drawn anew.
  var shown: [Row] { view.violations.isEmpty ? view.cells.first ?? [] : [] }
}

/// Returns the first rule that the stages between two lists of sections break, or `nil`.
@MainActor
func violation<Section: DifferentiableSection & Equatable>(
  from old: [Section], to new: [Section]
) -> String? {
  let screen = SectionedScreen(old)
  var isFinished: Bool?
  screen.view.reload(using: StagedChangeset(from: old, to: new)) {
    screen.sections = $0
  } completion: {
    isFinished = $0
  }
  do {
    try screen.view.check()
  } catch {
    return "\(old) to \(new): \(error)"
  }
  return screen.sections == new && isFinished == true ? nil : "\(old) to \(new): \(screen.sections)"
}
