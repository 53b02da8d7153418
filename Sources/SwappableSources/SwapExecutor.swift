import Diffing
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives

/// Carries out the decisions of a container's ``SwapStateMachine``.
///
/// Each input is handled under the lock of the container's domain. The steps of the decision are taken
/// there as well, so commits happen in the order of the decisions. The actions follow after the lock is
/// released, because they call sources, observers and comparisons of elements. The executor itself
/// decides nothing. Its last section is the only place that calls the propagation engine.
final class SwapExecutor<Element: Differentiable & Sendable>: @unchecked Sendable {
  // Sendable: the domain's lock guards `machine`, and `root` is constant.

  private typealias Machine = SwapStateMachine<ErasedSwapPayload>

  let root: CollectionNode<Element>
  private var machine = Machine()

  init(pauseHook: PauseHook?) {
    root = CollectionNode(
      domain: Domain(pauseHook: pauseHook), state: CollectionState(unloaded: .idle),
      entrance: Entrance())
    root.openEntrance()
  }

  deinit {
    // No other thread has a reference, so the lock is not needed.
    var turn = Turn(machine.handle(.close))
    while let action = turn.actions.popLast() { _ = perform(action, &turn) }
  }

  /// The source that is shown.
  var currentSource: (any DataSource<Element>)? {
    withLock { _ in machine.shown.map { SourceAttachment<Element>.cast($0).source } }
  }

  /// Shows the first source, before the container can be observed.
  func start(with source: any DataSource<Element>) {
    let attachment = makeAttachment(source)
    // Nothing is derived from a new container yet, so this is no cycle.
    _ = connect(attachment)
    run { machine in machine.start(with: attachment) }
  }

  /// Requests a swap.
  func swap(to source: any DataSource<Element>) -> SwapHandle {
    let attachment = makeAttachment(source)
    let isCycle = !connect(attachment)
    handle(.swap(attachment, isCycle: isCycle))
    return attachment.handle
  }

  private func makeAttachment(_ source: any DataSource<Element>) -> SourceAttachment<Element> {
    SourceAttachment(source) { [weak self] attachment in self?.handle(.cancel(attachment)) }
  }

  // MARK: Carrying out decisions

  /// The rest of a decision that one thread is carrying out.
  private struct Turn {
    /// The actions that are left, the next one last. An action is released when it is done: delivery,
    /// which lasts as long as other threads commit, must not keep a source that was left.
    var actions: [Machine.Action] = []
    /// A Boolean value that indicates whether this thread must deliver the commits.
    var mustDeliver = false
    var waiters: [Domain.Waiter] = []

    init(_ decision: Machine.Decision) { actions = decision.actions.reversed() }
  }

  private func handle(_ input: Machine.Input) {
    run { machine in machine.handle(input) }
  }

  /// Runs the machine, and then whatever its actions lead to.
  private func run(_ decide: (inout Machine) -> Machine.Decision) {
    var turn = take(decide)
    while let action = turn.actions.popLast() {
      // An action that is answered by an input is the last of its decision.
      if let input = perform(action, &turn) { turn = take { machine in machine.handle(input) } }
    }
  }

  /// Decides and takes the steps of the decision, under the lock.
  private func take(_ decide: (inout Machine) -> Machine.Decision) -> Turn {
    // The steps and the replaced states are released at the end, after the lock.
    let (turn, released) = withLock { state in
      let decision = decide(&machine)
      var turn = Turn(decision)
      var replaced: [Event] = []
      for step in decision.steps { take(step, &turn, &replaced, &state) }
      return (turn, (decision, replaced))
    }
    withExtendedLifetime(released) {}
    return turn
  }

  private func take(
    _ step: Machine.Step, _ turn: inout Turn, _ replaced: inout [Event],
    _ state: inout Domain.State
  ) {
    switch step {
    case .show(let contents, let changeset):
      replaced += show(contents, changeset, &turn, &state)
    case .replay(let updates):
      for update in updates { replaced += replay(update, &turn, &state) }
    case .adopt(let new, let attachment):
      SourceAttachment<Element>.cast(attachment).adopt(.cast(new))
    case .share(let new, let staged):
      SourceAttachment<Element>.cast(new).share(.cast(staged))
    case .beginDifference(let attachment):
      beginDifference(.cast(attachment), &state)
    case .endDifference(let attachment):
      endDifference(.cast(attachment), &turn, &state)
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
      endObservation(of: .cast(attachment))
      disconnect(.cast(attachment))
    case .endObservation(let attachment):
      endObservation(of: .cast(attachment))
    case .resolve(let attachment, let outcome):
      SourceAttachment<Element>.cast(attachment).handle.resolve(outcome)
    case .deliver:
      deliver(&turn)
    case .wakeWaiters:
      wakeWaiters(&turn)
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
    root.domain.withLock(body)
  }

  /// Records that the container is made from a source, unless the source is made from the container.
  private func connect(_ attachment: SourceAttachment<Element>) -> Bool {
    DependencyGraph.connect(root, to: attachment.node)
  }

  private func disconnect(_ attachment: SourceAttachment<Element>) {
    DependencyGraph.disconnect(root, from: attachment.node)
  }

  /// Starts a source and observes it.
  private func attach(
    _ attachment: SourceAttachment<Element>, isFirst: Bool
  ) -> Machine.Input {
    source(of: attachment).start()
    let node = attachment.node
    let (box, observation) = node.attachFeeder { [weak self, weak attachment] update, tickets in
      if let self, let attachment {
        handle(.update(attachment, Machine.Update(update, tickets, in: root.domain)))
      }
    }
    // The attachment keeps the source.
    let feed = Disposable(observation, keeping: nil)
    let shown = withLock { _ in
      attachment.feed = feed
      return machine.shown
    }
    if isFirst {
      let first = box.state
      root.begin(
        with: CollectionState(
          first.snapshot, revision: 0, status: first.status, hasLoaded: first.hasLoaded))
    }
    let contents = Machine.Contents(box)
    // If the source has loaded, the machine ignores the answer.
    let isDerived =
      contents.readiness != .loaded
      && shown.map { isDownstream(attachment, of: .cast($0)) } ?? false
    root.domain.pause(at: .swapAttached)
    return .attached(attachment, contents, isDerivedFromShown: isDerived)
  }

  private func isDownstream(
    _ attachment: SourceAttachment<Element>, of shown: SourceAttachment<Element>
  ) -> Bool {
    DependencyGraph.isDerived(attachment.node, from: shown.node)
  }

  private func endObservation(of attachment: SourceAttachment<Element>) {
    let feed = withLock { _ in
      let feed = attachment.feed
      attachment.feed = nil
      return feed
    }
    feed?.dispose()
  }

  private func show(
    _ contents: Machine.Contents, _ changeset: Changeset?, _ turn: inout Turn,
    _ state: inout Domain.State
  ) -> [Event] {
    let new = StateBox<Element>.read(contents.box).state
    return commit(changeset.map { (new.snapshot, $0) }, new, [], &turn, &state)
  }

  private func replay(
    _ update: Machine.Update, _ turn: inout Turn, _ state: inout Domain.State
  ) -> [Event] {
    let (update, tickets) = (CollectionUpdate<Element>.read(update.update), update.tickets)
    return commit(
      update.change.map { ($0.after, $0.changeset) }, update.state, tickets, &turn, &state)
  }

  /// Commits new contents, if there are any, and the status of a source.
  ///
  /// - Returns: The newest state before it, and other objects to be released after the lock.
  private func commit(
    _ contents: (snapshot: Snapshot<Element>, changeset: Changeset)?,
    _ source: CollectionState<Element>, _ tickets: [Ticket], _ turn: inout Turn,
    _ state: inout Domain.State
  ) -> [Event] {
    let before = root.committed(&state)
    guard
      let update = before.state.advanced(
        to: contents, status: source.status, hasLoaded: source.hasLoaded)
    else { return [before] }
    let (mustDeliver, released) = root.commit(update, tickets: tickets, by: .current, &state)
    if mustDeliver { turn.mustDeliver = true }
    if let released { return [before, released] }
    return [before]
  }

  private func deliver(_ turn: inout Turn) {
    if turn.mustDeliver { root.domain.deliver() }
    turn.mustDeliver = false
  }

  /// From now on, a flush waits: changes of the shown source are not committed.
  private func beginDifference(
    _ attachment: SourceAttachment<Element>, _ state: inout Domain.State
  ) {
    attachment.join = state.beginJoin()
  }

  private func endDifference(
    _ attachment: SourceAttachment<Element>, _ turn: inout Turn, _ state: inout Domain.State
  ) {
    state.endJoin(attachment.join)
    turn.waiters += state.takeDueWaiters()
  }

  private func wakeWaiters(_ turn: inout Turn) {
    for waiter in turn.waiters { waiter.wake() }
    turn.waiters = []
  }

  /// Computes the difference from the shown contents, which stay as they are until it is done.
  private func computeDifference(
    _ attachment: SourceAttachment<Element>, _ new: StateBox<Element>
  ) -> Machine.Input {
    let old = root.currentBox.state.snapshot
    root.domain.pause(at: .swapFrozen)
    // A flush inside a comparison would wait for itself: it traps, as inside an observer.
    let context = ThreadContext.current
    context.deliveryDepth += 1
    let changeset = old.changeset(to: new.state.snapshot)
    context.deliveryDepth -= 1
    root.domain.pause(at: .swapComputed)
    return .compared(attachment, changeset.isEmpty ? nil : changeset)
  }
}
