import Diffing
import Dispatch
import ListViews
import SwappablePrimitives

/// A view that forwards everything to another view, and checks how that view performs batches.
@MainActor
final class SinkProbe<View: BatchUpdatingListView> {
  let view: View
  /// The first violation.
  private(set) var fault: String?
  private var begun = 0
  private let rested = ChangeNotice()

  init(_ view: View) {
    self.view = view
  }

  /// Waits until all batches that were begun are completed.
  ///
  /// - Returns: `true` if all batches are completed in time.
  func settle(_ timeout: Duration) async -> Bool {
    let deadline = DispatchTime.after(timeout)
    while rested.count < begun {
      let seen = rested.count
      guard await rested.wait(after: seen, until: deadline) else { return rested.count >= begun }
    }
    return true
  }

  private func note(_ fault: String) {
    if self.fault == nil { self.fault = fault }
  }
}

extension SinkProbe: BatchUpdatingListView {
  func reloadData() { view.reloadData() }

  func performBatchUpdates(
    _ updates: () -> Void, completion: @escaping @MainActor (_ isFinished: Bool) -> Void
  ) {
    var runs = 0
    var isCompleted = false
    begun += 1
    view.performBatchUpdates {
      runs += 1
      if runs == 1 { updates() }
    } completion: { [self] isFinished in
      if runs == 0 { note("the completion of a batch is called before its block") }
      if isCompleted { return note("the completion of a batch is called twice") }
      isCompleted = true
      completion(isFinished)
      rested.notify()
    }
    if runs != 1 { note("the block of a batch is run \(runs) times before the call returns") }
  }

  func deleteItems(at offsets: [Int]) { view.deleteItems(at: offsets) }
  func insertItems(at offsets: [Int]) { view.insertItems(at: offsets) }
  func reloadItems(at offsets: [Int]) { view.reloadItems(at: offsets) }
  func moveItem(at source: Int, to destination: Int) {
    view.moveItem(at: source, to: destination)
  }
}

extension SinkProbe: BatchUpdatingSectionedListView where View: BatchUpdatingSectionedListView {
  func deleteSections(at sections: [Int]) { view.deleteSections(at: sections) }
  func insertSections(at sections: [Int]) { view.insertSections(at: sections) }
  func reloadSections(at sections: [Int]) { view.reloadSections(at: sections) }
  func moveSection(at source: Int, to destination: Int) {
    view.moveSection(at: source, to: destination)
  }
  func deleteItems(at paths: [ElementPath]) { view.deleteItems(at: paths) }
  func insertItems(at paths: [ElementPath]) { view.insertItems(at: paths) }
  func reloadItems(at paths: [ElementPath]) { view.reloadItems(at: paths) }
  func moveItem(at source: ElementPath, to destination: ElementPath) {
    view.moveItem(at: source, to: destination)
  }
}
