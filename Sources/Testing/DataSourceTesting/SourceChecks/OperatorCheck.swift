import Diffing
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives

/// One run of `checkOperator`.
struct OperatorCheck<Input: Differentiable & Sendable, Output: Differentiable & Sendable> {
  let makeOutput: @Sendable (any DataSource<Input>) -> LiveCollection<Output>
  let reference: @Sendable ([Input]) -> [Output]
  let calls: (() -> Int)?
  var editor: RandomEditor<Input>

  /// An output that was created during the run, and the events that it has delivered.
  private struct Attached: Sendable {
    let output: LiveCollection<Output>
    let recorder: RecordingObserver<Output>
  }

  /// Performs some steps, and returns the operations of the input.
  mutating func perform(_ steps: Int) throws(ContractError) -> Coverage.Operations {
    let source = ArrayDataSource(editor.makeElements())
    let input = RecordingObserver(source, seed: editor.seed)
    let before = calls?() ?? 0
    var attached = [attach(to: source)]
    try check(calls: before, due: source.count, attached.count)
    for _ in 0..<steps {
      let (before, seen) = (calls?() ?? 0, input.eventCount)
      let counts = attached.map(\.recorder.eventCount)
      try editor.step(source)
      for (one, count) in zip(attached, counts) { try checkIdentity(one, since: count) }
      let due = input.changes.dropFirst(seen - 1).reduce(0) {
        $0 + $1.changeset.insertions.count + $1.changeset.updates.count
      }
      try check(calls: before, due: due, attached.count)
      for one in attached { try check(one, source.snapshot) }
      switch editor.random.below(8) {
      case 0: attached.append(attach(to: source))
      case 1: attached.append(try attachInsideTransaction(source))
      case 2: attached.append(try attachInsideObserver(source))
      case 3 where attached.count > 1: attached.remove(at: editor.random.below(attached.count))
      default: break
      }
      for one in attached { try check(one, source.snapshot) }
    }
    try input.check(against: source)
    for one in attached { Coverage.note(one.recorder) }
    return input.operations
  }

  // MARK: Attaching

  private func attach(to source: any DataSource<Input>) -> Attached {
    Self.attach(makeOutput, to: source, editor.seed)
  }

  private static func attach(
    _ makeOutput: (any DataSource<Input>) -> LiveCollection<Output>,
    to source: any DataSource<Input>, _ seed: UInt64
  ) -> Attached {
    let output = makeOutput(source)
    return Attached(output: output, recorder: RecordingObserver(output, seed: seed))
  }

  /// Creates an output inside a transaction, whose edits it must not show yet.
  private mutating func attachInsideTransaction(
    _ source: ArrayDataSource<Input>
  ) throws(ContractError) -> Attached {
    let element = editor.makeElement()
    let expected = reference(source.snapshot.array)
    let (attached, shown) = source.transaction { draft in
      draft.append(element)
      let attached = attach(to: source)
      return (attached, attached.recorder.snapshot)
    }
    guard shown.hasSameContents(as: Snapshot(expected)) else {
      throw violation(
        "T1",
        "created inside a transaction, the operator has "
          + Contents.difference(of: shown, from: Snapshot(expected)))
    }
    return attached
  }

  /// Creates an output while a change is being delivered.
  private mutating func attachInsideObserver(
    _ source: ArrayDataSource<Input>
  ) throws(ContractError) -> Attached {
    let slot = Locked<Attached?>(nil)
    let observation = source.observe { [makeOutput, weak source, seed = editor.seed] event in
      guard case .change = event, let source else { return }
      let attached = Self.attach(makeOutput, to: source, seed)
      slot.withLock { $0 = attached }
    }
    defer { observation.dispose() }
    source.append(editor.makeElement())
    guard let attached = slot.withLock({ $0 }) else {
      throw violation("T5", "no observer was called when an edit returned")
    }
    return attached
  }

  // MARK: Checking

  private func check(
    _ attached: Attached, _ input: Snapshot<Input>
  ) throws(ContractError) {
    let expected = reference(input.array)
    let held = attached.output.snapshot
    guard held.hasSameContents(as: Snapshot(expected)) else {
      throw violation(
        "O1",
        "for the input \(Contents.text(input)), the operator has "
          + Contents.difference(of: held, from: Snapshot(expected)))
    }
    do {
      try attached.recorder.check(against: attached.output)
    } catch {
      // An operator that deletes and inserts an element instead of keeping it breaks the rule of
      // identity.
      var error = error.rule == "C7" ? violation("O2", error.message) : error
      error.step = editor.step
      throw error
    }
  }

  /// Checks that no element is deleted by one event and inserted by another because of one change.
  private func checkIdentity(_ attached: Attached, since count: Int) throws(ContractError) {
    let changes = attached.recorder.changes.dropFirst(count - 1)
    guard changes.count > 1 else { return }
    var gone: Set<Output.DifferenceIdentifier> = []
    for change in changes {
      let edits = change.byIdentity
      for element in edits.inserted where gone.contains(element.differenceIdentifier) {
        throw violation(
          "O2", "\(Contents.text(of: element)) is deleted, and a later event inserts it")
      }
      gone.formUnion(edits.deleted.map(\.differenceIdentifier))
    }
  }

  private func check(
    calls before: Int, due: Int, _ outputs: Int
  ) throws(ContractError) {
    guard let calls else { return }
    let made = calls() - before
    guard made > due * outputs else { return }
    throw violation(
      "O4", "\(outputs) outputs made \(made) calls for \(due) inserted or updated elements")
  }

  private func violation(_ rule: String, _ message: String) -> ContractError {
    ContractError(rule: rule, message: message, seed: editor.seed, step: editor.step)
  }
}
