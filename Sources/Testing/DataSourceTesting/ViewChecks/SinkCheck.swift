import Diffing
import Dispatch
import ListViews
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives

/// The common part of `checkSink` and `checkSectionedSink`.
@MainActor
struct SinkCheck<View: BatchUpdatingListView, Item, Change: Hashable & Sendable, Shown: Equatable> {
  typealias Probe = SinkProbe<View>

  let timeout: Duration
  let makeView: @MainActor () throws -> View
  let setData: @MainActor (View, [Item]) -> Void
  let shown: @MainActor (View) -> Shown
  /// Returns the expected display of some items.
  let expected: @MainActor ([Item]) -> Shown
  /// Returns the items for the contents of a source.
  let items: @MainActor (Snapshot<TestElement>) -> [Item]
  let stages: ([Item], [Item]) -> StagedChangeset<Item, Change>
  let reload:
    @MainActor (
      Probe, StagedChangeset<Item, Change>, _ interrupt: @escaping @MainActor (Change) -> Bool
    ) -> Void
  let bind:
    @MainActor (
      ArrayDataSource<TestElement>, Probe, _ interrupt: @escaping @MainActor (Change) -> Bool
    ) -> Disposable

  /// Reloads one view with the change between the lists of each pair.
  ///
  /// In every fourth change, `interrupt` returns `true` for the last batch, so the view reloads all
  /// its data instead.
  func check(pairs: [(old: [Item], new: [Item])]) async throws {
    let probe = Probe(try makeView())
    for (number, (old, new)) in pairs.enumerated() {
      let stages = stages(old, new)
      let interruption = number.isMultiple(of: 4) ? stages.count : nil
      func check(_ items: [Item]) throws(ContractError) {
        guard let fault = fault(of: probe, showing: items) else { return }
        throw ContractError(
          rule: fault.rule,
          message: "\(fault.message), from \(Contents.text(old)) to \(Contents.text(new))")
      }
      setData(probe.view, old)
      probe.reloadData()
      if interruption != nil { try check(old) }
      var asked = 0
      reload(probe, stages) { _ in
        asked += 1
        return asked == interruption
      }
      try check(new)
    }
    guard await probe.settle(timeout) else { throw completionViolation() }
  }

  /// Binds a view to a source for each editor, and edits the source at random.
  func check(_ editors: [RandomEditor<TestElement>], steps: Int) async throws {
    var coverage = EditorCoverage()
    for var editor in editors {
      let operations = try await check(&editor, steps: steps)
      coverage.add(operations, steps: editor.step)
    }
    try coverage.check()
  }

  /// Binds a view to a source, edits the source at random, and returns the operations of the source.
  private func check(
    _ editor: inout RandomEditor<TestElement>, steps: Int
  ) async throws -> Coverage.Operations {
    let probe = Probe(try makeView())
    let source = ArrayDataSource(editor.makeElements())
    let edits = RecordingObserver(counting: source)
    var random = SeededGenerator(seed: editor.seed)
    let binding = bind(source, probe) { _ in random.oneIn(6) }
    defer { binding.dispose() }
    try compare(probe, with: source, editor)
    for _ in 0..<steps {
      for _ in 0...editor.random.below(3) { try editor.step(source) }
      await source.flush()
      try compare(probe, with: source, editor)
      // Otherwise, the next batch begins during this one.
      if editor.random.oneIn(2), await !probe.settle(timeout) {
        throw completionViolation(editor)
      }
    }
    guard await probe.settle(timeout) else { throw completionViolation(editor) }
    try compare(probe, with: source, editor)
    return edits.operations
  }

  private func compare(
    _ probe: Probe, with source: ArrayDataSource<TestElement>,
    _ editor: RandomEditor<TestElement>
  ) throws(ContractError) {
    guard let fault = fault(of: probe, showing: items(source.snapshot)) else { return }
    throw ContractError(
      rule: fault.rule, message: fault.message, seed: editor.seed, step: editor.step)
  }

  private func fault(
    of probe: Probe, showing items: [Item]
  ) -> (rule: String, message: String)? {
    if let fault = probe.fault { return ("B8", fault) }
    let (shown, expected) = (shown(probe.view), expected(items))
    return shown == expected ? nil : ("B7", "the view shows \(shown), not \(expected)")
  }

  private func completionViolation(
    _ editor: RandomEditor<TestElement>? = nil
  ) -> ContractError {
    ContractError(
      rule: "B8", message: "after \(timeout), the completion of a batch has not been called",
      seed: editor?.seed, step: editor?.step)
  }
}

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
  func deleteItems(at paths: [SectionedChangeset.Path]) { view.deleteItems(at: paths) }
  func insertItems(at paths: [SectionedChangeset.Path]) { view.insertItems(at: paths) }
  func reloadItems(at paths: [SectionedChangeset.Path]) { view.reloadItems(at: paths) }
  func moveItem(at source: SectionedChangeset.Path, to destination: SectionedChangeset.Path) {
    view.moveItem(at: source, to: destination)
  }
}
