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

  /// From each of some lists to others, by all batches; now and then with the last one interrupted.
  func check(pairs: [(old: [Item], new: [Item])]) async throws {
    let probe = Probe(try makeView())
    for (number, (old, new)) in pairs.enumerated() {
      let stages = stages(old, new)
      let interruption = number.isMultiple(of: 4) ? stages.count : nil
      func check(_ items: [Item]) throws(ContractViolation) {
        guard let fault = fault(of: probe, showing: items) else { return }
        throw ContractViolation(
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

  /// Follows a source that is edited at random.
  func check(_ editor: RandomEditor<TestElement>, steps: Int) async throws {
    var editor = editor
    let probe = Probe(try makeView())
    let source = CollectionProperty(editor.makeElements())
    var random = SeededGenerator(seed: editor.seed)
    let binding = bind(source, probe) { _ in random.oneIn(6) }
    defer { binding.dispose() }
    try compare(probe, with: source, editor)
    for _ in 0..<steps {
      for _ in 0...editor.random.below(3) { try editor.step(source) }
      await source.flush()
      try compare(probe, with: source, editor)
      // Otherwise the next batch begins while this one is under way.
      if editor.random.oneIn(2), await !probe.settle(timeout) {
        throw completionViolation(editor)
      }
    }
    guard await probe.settle(timeout) else { throw completionViolation(editor) }
    try compare(probe, with: source, editor)
  }

  private func compare(
    _ probe: Probe, with source: CollectionProperty<TestElement>,
    _ editor: RandomEditor<TestElement>
  ) throws(ContractViolation) {
    guard let fault = fault(of: probe, showing: items(source.snapshot)) else { return }
    throw ContractViolation(
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
  ) -> ContractViolation {
    ContractViolation(
      rule: "B8", message: "after \(timeout) the completion of a batch has not been called",
      seed: editor?.seed, step: editor?.step)
  }
}
