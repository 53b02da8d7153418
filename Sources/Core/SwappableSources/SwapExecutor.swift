package import Diffing
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives

/// Carries out the decisions of a container's ``SwapStateMachine``.
///
/// Each input is handled under the lock of the container's domain. The steps of the decision are taken
/// there as well, so commits happen in the order of the decisions. The actions follow after the lock is
/// released, because they call sources, observers and comparisons of elements. Observers receive the commits in the same
/// order, whichever thread delivers them (T3). The executor decides nothing, except that a group may end before the machine
/// learns of it (action `supersede`).
final class SwapExecutor<Element: Differentiable & Sendable>: SwapGroupMember, @unchecked Sendable {
  // Sendable: the domain's lock guards the variables, and `root` is constant.

  private typealias Machine = SwapStateMachine

  let root: Node
  private var machine = Machine()
  /// The change that a guard has refused, and its property as soon as it is asked for.
  private var pendingChange: SignalValue<ChangeGuard<Element>.PendingChange?>?
  private var pendingSignal: Signal<ChangeGuard<Element>.PendingChange?>?
  /// The swap that waits, as soon as it is asked for.
  private var swappingSignal: Signal<SwapHandle?>?

  init(pauseHook: PauseHook?) {
    root = Node(
      domain: Domain(pauseHook: pauseHook),
      state: StateBox(CollectionState<Element>(unloaded: .idle)), externalInputs: ExternalInputs(),
      type: SwappableContainer<Element>.self)
    root.openExternalInputs()
  }

  deinit {
    // The steps matter, too: others may observe the pending change or wait for a difference.
    var released = [currentSource as Any]
    handle(.close)
    ThreadContext.current.release(&released)
  }

  /// The source that is shown.
  var currentSource: (any DataSource<Element>)? {
    withLock { _ in machine.shown.map { SourceAttachment<Element>.cast($0).source } }
  }

  /// Shows the first source, before the container can be observed.
  func start(with source: any DataSource<Element>) {
    let attachment = makeAttachment(source)
    _ = DependencyGraph.connect(root, to: attachment.node, isNew: true)
    handle(.start(attachment))
  }

  /// The change that a guard has refused. The property changes in the passes that deliver the contents.
  var pendingChangeProperty: ReadOnlyProperty<ChangeGuard<Element>.PendingChange?> {
    let signal = withLock { _ in
      let signal =
        pendingSignal ?? Signal(Node(domain: root.domain, state: pendingChange ?? SignalValue(nil)))
      pendingSignal = signal
      return signal
    }
    return ReadOnlyProperty(derived: signal)
  }

  /// The swap that waits. The property changes in the passes that deliver the contents.
  var swappingProperty: ReadOnlyProperty<SwapHandle?> {
    let signal = withLock { _ in
      let signal =
        swappingSignal
        ?? Signal(Node(domain: root.domain, state: SignalValue(waitingHandle(after: nil))))
      swappingSignal = signal
      return signal
    }
    return ReadOnlyProperty(derived: signal)
  }

  /// Returns the handle of the swap that waits for its source or a decision. As long as it is not known whether a swap
  /// waits, the value stays.
  private func waitingHandle(after shown: SwapHandle?) -> SwapHandle? {
    switch machine.swap?.phase {
    case nil: nil
    case .attaching, .comparing, .agreed: shown
    case .loading, .held: machine.swap.map { SourceAttachment<Element>.cast($0.staged).handle }
    }
  }

  /// The change of a swap that is held.
  func pendingChange(of handle: SwapHandle) -> ChangeGuard<Element>.PendingChange? {
    withLock { _ in
      guard let staged = machine.swap?.staged,
        SourceAttachment<Element>.cast(staged).handle === handle
      else { return nil }
      return pendingChange?.value
    }
  }

  /// Requests a swap.
  func swap(
    to source: any DataSource<Element>, guardedBy changeGuard: ChangeGuard<Element>? = nil
  ) -> SwapHandle {
    let attachment = makeAttachment(source, changeGuard)
    // If the source is derived from this container, the graph does not connect them.
    let isCycle = !DependencyGraph.connect(root, to: attachment.node)
    handle(.swap(attachment, isCycle: isCycle))
    return attachment.handle
  }

  private func makeAttachment(
    _ source: any DataSource<Element>, _ changeGuard: ChangeGuard<Element>? = nil
  ) -> SourceAttachment<Element> {
    let attachment = SourceAttachment(source, changeGuard)
    attachment.handle = SwapHandle { [weak self, weak attachment] in
      if let self, let attachment { handle(.abandon(attachment, .cancelled)) }
    }
    return attachment
  }

  /// Creates and connects an attachment of a group. The group then requests the swap.
  ///
  /// - Returns: The attachment, or `nil` if the source is made from this container, or from one that the group swaps.
  func enter(
    _ group: SwapGroup, with source: any DataSource<Element>,
    guardedBy changeGuard: ChangeGuard<Element>?
  ) -> SwapAttachment? {
    let attachment = SourceAttachment(source, changeGuard, group)
    return DependencyGraph.connect(root, to: attachment.node) ? attachment : nil
  }

  func isGuarded(_ attachment: SwapAttachment, madeFrom roots: Set<ObjectIdentifier>) -> Bool {
    let attachment = SourceAttachment<Element>.cast(attachment)
    return withLock { _ in attachment.changeGuard != nil }
      && (roots.contains(attachment.collection)
        || DependencyGraph.isDerived(attachment.node, from: roots))
  }

  func disconnect(_ attachment: SwapAttachment) {
    DependencyGraph.disconnect(root, from: SourceAttachment<Element>.cast(attachment).node)
  }

  // MARK: Carrying out decisions

  /// The rest of a decision that one thread is carrying out.
  private struct Turn {
    /// The remaining actions, the next one last. An action is released when it is done: delivery
    /// lasts as long as other threads commit, and must not keep a source that was left.
    var actions: [Machine.Action] = []
    var waiters: [Domain.Waiter] = []
    /// The ticket of the commits that are delivered in one pass, until it is closed.
    var ticket: Ticket?

    init(_ decision: Machine.Decision) { actions = decision.actions.reversed() }

    var delivers: Bool { actions.contains { if case .deliver = $0 { true } else { false } } }

    /// A Boolean value that indicates whether nothing is left but to deliver.
    var isDelivery: Bool { if case .deliver = actions.last { actions.count == 1 } else { false } }
  }

  /// Handles an input, and the inputs that answer its actions.
  func handle(_ input: SwapStateMachine.Input) {
    finish(decide(input))
  }

  /// Takes the steps of an input. The caller then calls the closure, which performs the actions.
  func begin(_ input: SwapStateMachine.Input) -> () -> Void {
    let turn = decide(input)
    return { self.finish(turn) }
  }

  /// Counts a swap that is done, for explanations.
  func recordSwap(to attachment: SwapAttachment) {
    let attachment = SourceAttachment<Element>.cast(attachment)
    guard let count = withLock({ _ in attachment.changeCount }) else { return }
    root.record(.swap, since: attachment.begin, changes: count)
  }

  private func finish(_ turn: consuming Turn) {
    var turn = turn
    while let action = turn.actions.popLast() {
      // An action that is answered by an input is the last of its decision.
      if let answer = perform(action, &turn) { turn = decide(answer) }
    }
  }

  /// Lets the machine decide, and carries out the steps of the decision, under the lock.
  private func decide(_ input: Machine.Input) -> Turn {
    // The steps and the replaced states are released at the end, after the lock.
    let (turn, released) = withLock { state in
      let decision = machine.handle(input)
      var turn = Turn(decision)
      var replaced: [NodeState] = []
      for step in decision.steps { carryOut(step, &turn, &replaced, &state) }
      replaced += setSwapping([], &turn, &state)
      return (turn, (decision, replaced))
    }
    withExtendedLifetime(released) {}
    turn.ticket?.close()
    return turn
  }

  private func carryOut(
    _ step: Machine.Step, _ turn: inout Turn, _ replaced: inout [NodeState],
    _ state: inout Domain.State
  ) {
    switch step {
    case .show(let contents, let changeset, var tickets):
      if tickets.isEmpty, pendingChange != nil || swappingHandle(&state) != nil {
        let ticket = Ticket()
        turn.ticket = ticket
        tickets = [ticket]
      }
      let new = StateBox<Element>.read(contents.box).state
      replaced += commit(changeset.map { (new.snapshot, $0) }, new, tickets, &state)
      replaced += setPendingChange(nil, tickets, &state)
      replaced += setSwapping(tickets, &turn, &state)
    case .replay(let updates):
      for erased in updates {
        let update = CollectionUpdate<Element>.read(erased.update)
        replaced += commit(
          update.change.map { ($0.after, $0.changeset) }, update.box.state, erased.tickets, &state)
      }
    case .adopt(let new, let attachment):
      SourceAttachment<Element>.cast(attachment).adopt(.cast(new))
    case .share(let new, let staged):
      SourceAttachment<Element>.cast(new).share(.cast(staged))
    case .setPendingChange(let attachment, let contents, let changeset, let reason):
      let old = StateBox<Element>.read(root.committed(&state)).state
      let new = StateBox<Element>.read(contents.box).state
      let change = CollectionChange(
        before: old.snapshot, after: new.snapshot, revisionBefore: old.revision,
        revision: old.revision + 1, changeset: changeset ?? .empty)
      let attachment = SourceAttachment<Element>.cast(attachment)
      let pending = ChangeGuard.PendingChange(
        change: change, reason: reason,
        onAccept: { [weak self, weak attachment] in
          guard let self, let attachment else { return }
          if let group = attachment.group {
            group.accept(attachment)
          } else {
            handle(.compare(attachment, isAccepted: true))
          }
        }, onReject: attachment.handle.cancel)
      replaced += setPendingChange(pending, [], &state)
    case .clearPendingChange:
      replaced += setPendingChange(nil, [], &state)
    case .beginDifference(let attachment):
      // From now on, a flush waits: changes of the shown source are not committed.
      SourceAttachment<Element>.cast(attachment).catchUp = state.beginCatchUp()
    case .endDifference(let attachment):
      state.endCatchUp(SourceAttachment<Element>.cast(attachment).catchUp)
      turn.waiters += state.takeDueWaiters()
    }
  }

  /// Performs an action, without the lock.
  ///
  /// - Returns: The input that answers the action, if there is one.
  private func perform(_ action: Machine.Action, _ turn: inout Turn) -> Machine.Input? {
    switch action {
    case .attach(let attachment):
      return attach(.cast(attachment), isFirst: false)
    case .attachFirst(let attachment):
      return attach(.cast(attachment), isFirst: true)
    case .start(let attachment):
      source(of: .cast(attachment)).start()
    case .computeDifference(let attachment, let contents):
      return computeDifference(.cast(attachment), .read(contents.box))
    case .leave(let attachment):
      let attachment = SourceAttachment<Element>.cast(attachment)
      endObservation(of: attachment)
      DependencyGraph.disconnect(root, from: attachment.node)
    case .endObservation(let attachment):
      endObservation(of: .cast(attachment))
    case .supersede(let staged, let new):
      let goesOn = SourceAttachment<Element>.cast(staged).group?.end(
        .superseded, inFavorOf: SourceAttachment<Element>.cast(new).group)
      if goesOn == false {
        disconnect(new)
      } else {
        // Another thread may have ended the group, and not have told this machine yet.
        handle(.abandon(staged, .superseded))
        return .swap(new, isCycle: false)
      }
    case .report(let attachment, let report):
      let attachment = SourceAttachment<Element>.cast(attachment)
      if let group = attachment.group {
        group.receive(report, of: attachment)
      } else {
        // Of a swap that is alone, only a refusal is reported.
        attachment.handle.noteRefusal()
      }
    case .resolve(let attachment, let outcome):
      let attachment = SourceAttachment<Element>.cast(attachment)
      if let group = attachment.group {
        group.end(outcome)
      } else {
        if outcome == .swapped || outcome == .unchanged { recordSwap(to: attachment) }
        attachment.handle.resolve(outcome)
      }
    case .deliver:
      root.domain.deliver()
    case .wakeWaiters:
      for waiter in turn.waiters { waiter.wake() }
      turn.waiters = []
    case .discardUpdates, .discardContents:
      // Popping the action has released them.
      break
    }
    return nil
  }

  private func source(of attachment: SourceAttachment<Element>) -> any DataSource<Element> {
    withLock { _ in attachment.source }
  }

  // MARK: Calls of the engine

  private func withLock<Result>(_ body: (inout Domain.State) -> Result) -> Result {
    root.domain.lock.withLock(body)
  }

  /// Starts a source and observes it.
  private func attach(
    _ attachment: SourceAttachment<Element>, isFirst: Bool
  ) -> Machine.Input {
    source(of: attachment).start()
    let node = attachment.node
    let (first, observation) = node.observeAsBoundary {
      [weak self, weak attachment] event, tickets in
      if let self, let attachment {
        let update = CollectionUpdate<Element>.read(event)
        let contents = SwapContents(update.box, tickets)
        let turn = decide(
          .update(attachment, SwapUpdate(update, contents, tickets, in: root.domain)))
        if turn.isDelivery { root.domain.deliverNext() } else { finish(turn) }
      }
    }
    let shown = withLock { _ in
      attachment.observation = observation
      return machine.shown
    }
    let box = StateBox<Element>.read(first)
    if isFirst {
      let first = box.state
      root.setFirst(
        StateBox(
          CollectionState(
            first.snapshot, revision: 0, status: first.status, hasLoaded: first.hasLoaded)))
    }
    let contents = SwapContents(box)
    // If the source has loaded, the machine ignores the answer.
    let isDerived =
      contents.readiness != .loaded
      && shown.map {
        DependencyGraph.isDerived(
          node, from: [ObjectIdentifier(SourceAttachment<Element>.cast($0).node)])
      } ?? false
    root.domain.pause(at: .swapAttached)
    return .attached(attachment, contents, isDerivedFromShown: isDerived)
  }

  private func endObservation(of attachment: SourceAttachment<Element>) {
    let observation = withLock { _ in
      let observation = attachment.observation
      attachment.observation = nil
      return observation
    }
    observation?.dispose()
  }

  /// Commits new contents, if there are any, and the status of a source.
  ///
  /// - Returns: The newest state before the commit, and other objects. The caller releases them
  ///   after it has released the lock.
  private func commit(
    _ contents: (snapshot: Snapshot<Element>, changeset: Changeset)?,
    _ source: CollectionState<Element>, _ tickets: [Ticket], _ state: inout Domain.State
  ) -> [NodeState] {
    let before = StateBox<Element>.read(root.committed(&state))
    guard
      let update = before.state.advanced(
        to: contents?.snapshot ?? before.state.snapshot, by: contents?.changeset,
        (source.status, source.hasLoaded))
    else { return [before] }
    let released = root.commit(update, tickets: tickets, &state)
    return [before, released.1].compactMap(\.self)
  }

  /// Sets the change that is pending, under the lock. It is delivered with the commit that follows or precedes.
  ///
  /// - Returns: Objects that the caller releases after it has released the lock.
  private func setPendingChange(
    _ new: ChangeGuard<Element>.PendingChange?, _ tickets: [Ticket],
    _ state: inout Domain.State
  ) -> [NodeState] {
    let replaced = pendingChange
    if replaced == nil, new == nil { return [] }
    let value = SignalValue(new)
    pendingChange = new == nil ? nil : value
    let released = pendingSignal?.node.commit(value, tickets: tickets, &state)
    return [replaced, released?.0, released?.1].compactMap(\.self)
  }

  /// The swap that is shown as waiting, under the lock.
  private func swappingHandle(_ state: inout Domain.State) -> SwapHandle? {
    swappingSignal?.node.committed(&state).flatMap { SignalValue<SwapHandle?>.read($0) }
  }

  /// Sets the swap that waits, under the lock, if the property was asked for.
  ///
  /// - Returns: Objects that the caller releases after it has released the lock.
  private func setSwapping(
    _ tickets: [Ticket], _ turn: inout Turn, _ state: inout Domain.State
  ) -> [NodeState] {
    guard let node = swappingSignal?.node else { return [] }
    let old = swappingHandle(&state)
    let new = waitingHandle(after: old)
    if new === old { return [] }
    // Last, so the outcome is known before. A decision that waits for an answer changes nothing here.
    if !turn.delivers { turn.actions.insert(.deliver, at: 0) }
    let released = node.commit(SignalValue(new), tickets: tickets, &state)
    return [released.0, released.1].compactMap(\.self)
  }

  /// Computes the difference from the shown contents, and asks the guard. The shown contents do not change meanwhile.
  private func computeDifference(
    _ attachment: SourceAttachment<Element>, _ new: StateBox<Element>
  ) -> Machine.Input {
    let old = StateBox<Element>.read(root.current).state
    let changeGuard = withLock { _ in attachment.changeGuard }
    root.domain.pause(at: .swapFrozen)
    // A flush inside a comparison would wait for itself. It must trap, as inside an observer.
    let context = ThreadContext.current
    let transaction = context.beginDelivery()
    let changeset = old.snapshot.changeset(to: new.state.snapshot)
    withLock { _ in attachment.changeCount = changeset.changeCount }
    let reason = changeGuard?.refuses(
      CollectionChange(
        before: old.snapshot, after: new.state.snapshot, revisionBefore: old.revision,
        revision: old.revision + 1, changeset: changeset))
    context.endDelivery(transaction)
    root.domain.pause(at: .swapComputed)
    return .compared(attachment, changeset.isEmpty ? nil : changeset, refusal: reason)
  }
}

/// A source that is, or may be, attached to a container.
package final class SourceAttachment<Element: Differentiable & Sendable>: SwapAttachment,
  @unchecked Sendable
{
  // `package`, because the compiler warns of a recursion in an internal generic subclass of a package class.

  // Sendable: the lock of the container's domain guards `source`, `changeGuard`, `observation`, `catchUp` and
  // `changeCount`. `handle` changes only before another thread has the attachment: after the initializer, and when a swap
  // that its thread requested joins an earlier one.

  /// The source. If several sources have this collection, it is the last one that was passed.
  private(set) var source: any DataSource<Element>
  /// The guard of the last swap to this collection.
  private(set) var changeGuard: ChangeGuard<Element>?
  let node: Node
  /// The group that the swap is part of, or `nil`.
  let group: SwapGroup?
  fileprivate(set) var handle: SwapHandle
  /// Ends the observation of the source.
  var observation: Disposable?
  /// The number by which flushes wait for the difference.
  var catchUp: UInt64 = 0
  /// The time at which the swap was requested, and the number of elements that it changes, for explanations.
  let begin = Meter.now
  var changeCount: Int?

  init(
    _ source: any DataSource<Element>, _ changeGuard: ChangeGuard<Element>?,
    _ group: SwapGroup? = nil
  ) {
    (self.source, self.changeGuard, self.group) = (source, changeGuard, group)
    node = source.collection.node
    handle = group?.handle ?? SwapHandle()
    super.init(collection: ObjectIdentifier(node), isGrouped: group != nil)
  }

  static func cast(_ attachment: SwapAttachment) -> SourceAttachment<Element> {
    unsafeDowncast(attachment, to: SourceAttachment<Element>.self)
  }

  /// Takes over the source of a new attachment, which keeps the old one until it is released.
  func adopt(_ new: SourceAttachment<Element>) {
    Swift.swap(&source, &new.source)
    Swift.swap(&changeGuard, &new.changeGuard)
  }

  func share(_ staged: SourceAttachment<Element>) {
    handle = staged.handle
  }
}

extension SwapContents {
  init<Element>(_ box: StateBox<Element>, _ tickets: [Ticket] = []) {
    let state = box.state
    let readiness: SwapReadiness =
      if state.hasLoaded {
        .loaded
      } else if let error = state.status.error {
        .failed(error)
      } else {
        .loading
      }
    self.init(box, readiness, tickets)
  }
}
