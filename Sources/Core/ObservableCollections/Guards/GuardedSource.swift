import Diffing
public import ReactiveSignals
import SwappablePrimitives

extension DataSource {
  /// Protects the observers from changes that a guard refuses.
  ///
  ///     let prices = JSONFileDataSource<Price>(path: "prices.json").guarded(by: .deletions(atMost: .percent(20)))
  ///
  /// The result has the contents of this source until a change is refused. Then it keeps the last contents that were not
  /// refused. After each further change of this source, the guard is asked about the difference between these contents and
  /// the latest ones. The first contents that this source loads are never refused.
  ///
  /// The status is the status of this source.
  ///
  /// - Parameter changeGuard: The guard. It is called while changes are propagated, and must not change a collection.
  public func guarded(by changeGuard: ChangeGuard<Element>) -> ChangeGuard<Element>.Source {
    ChangeGuard.Source(self, changeGuard)
  }
}

extension ChangeGuard {
  /// A source that keeps its contents when a guard refuses a change of another source.
  ///
  /// ``DataSource/guarded(by:)`` creates a guarded source.
  public final class Source: DataSource {
    public let collection: LiveCollection<Element>
    /// The change that the guard has refused, or `nil` if there is none.
    ///
    /// It is the difference from the contents of this source to the latest contents that were refused.
    public let pendingChange: ReadOnlyProperty<PendingChange?>

    init(_ source: some DataSource<Element>, _ changeGuard: ChangeGuard<Element>) {
      var shared: GuardDecision<Element>?
      let collection = LiveCollection<Element> { inputs in
        let input = inputs.collection(source)
        let decision = GuardDecision<Element>(inputs.updateTrigger())
        shared = decision
        return GuardOperator(input: input, changeGuard: changeGuard, decision: decision)
      }
      self.collection = collection
      guard let decision = shared else { preconditionFailure("a guard has no decision") }
      pendingChange = ReadOnlyProperty { inputs in
        // It is computed after the operator, in the same pass.
        _ = inputs.collection(collection)
        _ = inputs.collection(source)
        inputs.add(decision.updateTrigger)
        return PendingChangeOperator(decision: decision)
      }
    }
  }
}

/// The state that the operator of a guarded source shares with its users.
private final class GuardDecision<Element: Differentiable & Sendable>: Sendable {
  typealias PendingChange = ChangeGuard<Element>.PendingChange

  enum Choice: Sendable {
    case accept, reject
  }

  private struct State: Sendable {
    var pending: PendingChange?
    /// The number of times that a change became pending while none was. A choice counts only for its own number.
    var number = 0
    /// The first choice of the user since the last call of `take()`.
    var choice: Choice?
  }

  let updateTrigger: UpdateTrigger
  private let state = Locked(State())

  init(_ updateTrigger: UpdateTrigger) {
    self.updateTrigger = updateTrigger
  }

  var pending: PendingChange? { state.withLock { $0.pending } }

  /// Returns what the user has decided since the last call.
  func take() -> Choice? {
    state.withLock { state in
      defer { state.choice = nil }
      return state.choice
    }
  }

  /// Sets the change that is pending.
  func hold(_ change: CollectionChange<Element>, _ reason: String) {
    let number = state.withLock { state in
      if state.pending == nil { state.number += 1 }
      return state.number
    }
    let pending = PendingChange(
      change: change, reason: reason,
      onAccept: { [weak self] in self?.decide(.accept, number) },
      onReject: { [weak self] in self?.decide(.reject, number) })
    replace(with: pending)
  }

  func release() { replace(with: nil) }

  private func replace(with pending: PendingChange?) {
    // The contents are released outside the lock.
    let replaced = state.withLock { state in
      defer { state.pending = pending }
      return state.pending
    }
    withExtendedLifetime(replaced) {}
  }

  private func decide(_ choice: Choice, _ number: Int) {
    let isFirst = state.withLock { state in
      guard state.pending != nil, state.number == number, state.choice == nil else { return false }
      state.choice = choice
      return true
    }
    if isFirst { updateTrigger.send() }
  }
}

/// An operator that shows the contents of its input, unless a guard refuses them.
private struct GuardOperator<Element: Differentiable & Sendable>: CollectionOperator {
  let input: CollectionInput<Element>
  let changeGuard: ChangeGuard<Element>
  let decision: GuardDecision<Element>
  /// The changes of the input that are not shown, or `nil` if there is none.
  var hidden: ChangesetAccumulator?
  var hasLoaded = false

  mutating func start(_ output: CollectionDraft<Element>) {
    let contents = input.snapshot
    output.replace(with: contents, by: Changeset(insertions: Array(contents.indices)))
    hasLoaded = input.hasLoaded
  }

  mutating func update(_ output: CollectionDraft<Element>) {
    let choice = decision.take()
    if choice == .reject { decision.release() }
    guard input.change != nil || choice == .accept else { return }
    let isFree = choice == .accept || !hasLoaded
    hasLoaded = input.hasLoaded
    let (shown, contents) = (output.snapshot, input.snapshot)
    let difference = difference(from: shown, to: contents)
    if let difference, !isFree {
      let change = CollectionChange(
        before: shown, after: contents, revisionBefore: 0, revision: 1,
        changeset: difference)
      if let reason = changeGuard.refuses(change) { return hold(change, reason) }
    }
    output.replace(with: contents, by: difference ?? .empty)
    hidden = nil
    decision.release()
  }

  /// Returns the difference from the shown contents, or `nil` if there is none.
  private mutating func difference(
    from shown: Snapshot<Element>, to contents: Snapshot<Element>
  ) -> Changeset? {
    if hidden == nil { return input.change?.changeset }
    if let change = input.change { hidden.append(change) }
    return hidden?.normalForm(from: shown, to: contents)
  }

  private mutating func hold(_ change: CollectionChange<Element>, _ reason: String) {
    if hidden == nil { hidden.append(change) }
    decision.hold(change, reason)
  }
}

extension CollectionInput {
  var hasLoaded: Bool { StateBox<Element>.read(input.state).state.hasLoaded }
}

/// The change that a guard has refused, as a property.
private struct PendingChangeOperator<Element: Differentiable & Sendable>: PropertyOperator {
  typealias Value = ChangeGuard<Element>.PendingChange?

  let decision: GuardDecision<Element>

  func start() -> Value { decision.pending }

  func update() -> Value { decision.pending }

  func areEqual(_ old: Value, _ new: Value) -> Bool { old == nil && new == nil }
}
