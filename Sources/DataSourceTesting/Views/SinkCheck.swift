import Diffing
import ListViews
import ObservableCollections
import ReactiveSignals

/// What `checkSink` does with a view, of a plain list or of sections.
@MainActor
struct SinkCheck<View: BatchUpdatingListView, Item, Change: Hashable & Sendable, Shown: Equatable> {
  typealias Probe = SinkProbe<View>

  let timeout: Duration
  let makeView: @MainActor () throws -> View
  let setData: @MainActor (View, [Item]) -> Void
  let shown: @MainActor (View) -> Shown
  /// What is to be shown of some items.
  let expected: @MainActor ([Item]) -> Shown
  /// The items that are made of a source's contents.
  let items: @MainActor (Snapshot<TestElement>) -> [Item]
  let stages: ([Item], [Item]) -> StagedChangeset<Item, Change>
  let reload:
    @MainActor (
      Probe, StagedChangeset<Item, Change>, _ interrupt: @escaping @MainActor (Change) -> Bool
    ) -> Void
  let bind:
    @MainActor (
      CollectionProperty<TestElement>, Probe, _ interrupt: @escaping @MainActor (Change) -> Bool
    ) -> Disposable

  /// From each of some lists to others, by all batches, and with the last one interrupted.
  func check(pairs: [(old: [Item], new: [Item])]) async throws {
    let probe = Probe(try makeView())
    for (old, new) in pairs {
      let stages = stages(old, new)
      for isInterrupted in stages.count > 1 ? [false, true] : [false] {
        func check(_ items: [Item], _ rule: String) throws(ContractViolation) {
          guard let fault = fault(of: probe, rule, showing: items) else { return }
          throw ContractViolation(
            rule: fault.rule,
            message: "\(fault.message), from \(Contents.text(old)) to \(Contents.text(new))")
        }
        setData(probe.view, old)
        probe.reloadData()
        try check(old, "B7")
        var asked = 0
        reload(probe, stages) { _ in
          asked += 1
          return isInterrupted && asked == stages.count
        }
        try check(new, "B7")
      }
    }
    guard await probe.settle(timeout) else { throw completionViolation() }
  }

  /// Follows a source that is edited at random.
  func check(_ editor: RandomEditor<TestElement>, steps: Int) async throws {
    var editor = editor
    let probe = Probe(try makeView())
    let source = CollectionProperty(editor.makeElements())
    var random = SeededGenerator(seed: editor.seed)
    let binding = bind(source, probe) { _ in random.oneIn(6) }
    defer { binding.dispose() }
    for _ in 0..<steps {
      if let fault = fault(of: probe, "B7", showing: items(source.snapshot)) {
        throw ContractViolation(
          rule: fault.rule, message: fault.message, seed: editor.seed, step: editor.step)
      }
      for _ in 0...editor.random.below(3) { try editor.step(source) }
      await source.flush()
      // Otherwise the next batch begins while this one is under way.
      if editor.random.oneIn(2), await !probe.settle(timeout) {
        throw completionViolation(editor)
      }
    }
    guard await probe.settle(timeout) else { throw completionViolation(editor) }
    if let fault = fault(of: probe, "B7", showing: items(source.snapshot)) {
      throw ContractViolation(
        rule: fault.rule, message: fault.message, seed: editor.seed, step: editor.step)
    }
  }

  private func fault(
    of probe: Probe, _ rule: String, showing items: [Item]
  ) -> (rule: String, message: String)? {
    if let fault = probe.fault { return ("B8", fault) }
    let (shown, expected) = (shown(probe.view), expected(items))
    return shown == expected ? nil : (rule, "the view shows \(shown), not \(expected)")
  }

  private func completionViolation(
    _ editor: RandomEditor<TestElement>? = nil
  ) -> ContractViolation {
    ContractViolation(
      rule: "B8", message: "after \(timeout) the completion of a batch has not been called",
      seed: editor?.seed, step: editor?.step)
  }
}
