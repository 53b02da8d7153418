import Diffing
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives

/// A source that is plugged into a container.
private final class Plug<Element: Differentiable & Sendable>: @unchecked Sendable {
  // Sendable: the variables are guarded by the lock of the container's domain; `state` and `missed`
  // are not touched by the container before the plug is staged.

  /// Several sources can have one collection: it is the one that the container was told of last.
  var source: any DataSource<Element>
  let node: CollectionNode<Element>
  let handle: SwapHandle
  /// Ends the observation of the source.
  var feed: Disposable?
  var phase = Phase.attaching
  /// What the source holds, as far as it was told; nil while attaching.
  var state: CollectionState<Element>?
  /// What the source has told while it was attached, or while its difference was computed.
  var missed: [CollectionUpdate<Element>] = []

  enum Phase {
    /// Its first state is not known yet.
    case attaching
    /// It has not loaded.
    case waiting
    /// What differs from the old source is being computed; the old source is frozen.
    case computing
    /// It is shown.
    case current
  }

  init(_ source: any DataSource<Element>, _ handle: SwapHandle) {
    self.source = source
    node = source.collection.node
    self.handle = handle
  }
}

/// The plugs of a container, and what becomes of them.
///
/// Each decision is taken under the lock of the container's domain and returns what is to be done; that
/// is done unlocked, by whoever brought it about.
final class ContainerCore<Element: Differentiable & Sendable>: @unchecked Sendable {
  // Sendable: `current`, `staged` and `frozen` are guarded by the domain's lock.

  let root: RootNode<Element>
  private var current: Plug<Element>?
  /// The latest swap that is not done.
  private var staged: Plug<Element>?
  /// What the current source has told while the staged one's difference is computed.
  private var frozen: [CollectionUpdate<Element>] = []

  private struct Computation {
    let plug: Plug<Element>
    let old: Snapshot<Element>
    let new: Snapshot<Element>
    /// What a flush waits for: meanwhile changes of the old source do not pass.
    let join: UInt64
  }

  /// What is to be done once the lock is released.
  private struct Actions {
    /// Whether this thread has become the container's drainer.
    var mustDrain = false
    var hasCommitted = false
    /// The staged plug's difference is to be computed.
    var computation: Computation?
    /// Who has waited for a computation that is over.
    var woken: [Domain.Waiter] = []
    /// Plugs that were let go, with the outcomes of their swaps.
    var left: [(plug: Plug<Element>, outcome: SwapOutcome?)] = []
    /// The swap that is done.
    var done: (handle: SwapHandle, outcome: SwapOutcome)?
    /// Released with this value, unlocked.
    var states: [CollectionState<Element>] = []
    var updates: [[CollectionUpdate<Element>]] = []
  }

  init(pauseHook: PauseHook?) {
    root = RootNode(
      domain: Domain(pauseHook: pauseHook), state: CollectionState(unloaded: .idle))
  }

  deinit {
    if let current { leave(current) }
    if let staged {
      leave(staged)
      staged.handle.resolve(.cancelled)
    }
  }

  var currentSource: (any DataSource<Element>)? {
    root.domain.withLock { _ in current?.source }
  }

  // MARK: What the container is told to do

  /// Shows the first source, before anybody can observe.
  func begin(with source: any DataSource<Element>) {
    let plug = Plug(source, SwapHandle())
    source.start()
    // A new container has no downstream that the source could be made from.
    _ = Topology.connect(root, to: plug.node)
    root.domain.withLock { _ in staged = plug }
    let state = attach(plug)
    root.begin(
      with: CollectionState(
        state.snapshot, revision: 0, status: state.status, hasLoaded: state.hasLoaded))
    perform { state in
      var actions = Actions()
      plug.phase = .current
      current = plug
      staged = nil
      replay(takeMissed(plug), &actions, &state)
      return actions
    }
  }

  func swap(to source: any DataSource<Element>) -> SwapHandle {
    let handle = SwapHandle { [weak self] handle in self?.cancel(handle) }
    let plug = Plug(source, handle)
    guard Topology.connect(root, to: plug.node) else {
      handle.resolve(.cycle)
      return handle
    }
    var shared: SwapHandle?
    perform { state in
      var actions = Actions()
      if let staged, staged.node === plug.node {
        shared = staged.handle
        // Released unlocked, with the new plug.
        Swift.swap(&staged.source, &plug.source)
      } else {
        abandon(.superseded, &actions, &state)
        if let current, current.node === plug.node {
          shared = SwapHandle(.unchanged)
          Swift.swap(&current.source, &plug.source)
        } else {
          staged = plug
        }
      }
      return actions
    }
    source.start()
    if let shared {
      Topology.disconnect(root, from: plug.node)
      return shared
    }
    let attached = attach(plug)
    root.domain.pause(at: .swapAttached)
    perform { state in
      var actions = Actions()
      guard staged === plug else { return actions }
      // The first state, and what came after it.
      plug.state = plug.missed.last?.state ?? attached
      plug.phase = .waiting
      actions.updates.append(takeMissed(plug))
      consider(plug, &actions, &state)
      return actions
    }
    return handle
  }

  private func cancel(_ handle: SwapHandle) {
    perform { state in
      var actions = Actions()
      if staged?.handle === handle { abandon(.cancelled, &actions, &state) }
      return actions
    }
  }

  // MARK: What the sources tell

  /// Begins to observe a source.
  private func attach(_ plug: Plug<Element>) -> CollectionState<Element> {
    let node = plug.node
    let (state, observation) = node.domain.withLock { state in
      let observation = node.feeders.attach(
        { [weak self, weak plug] update in
          if let self, let plug { receive(.read(update), from: plug) }
        }, &state)
      return (node.published(&state).state, observation)
    }
    // The plug keeps the source.
    let feed = Disposable(observation, keeping: nil)
    let isLeft = root.domain.withLock { _ in
      guard current === plug || staged === plug else { return true }
      plug.feed = feed
      return false
    }
    if isLeft { feed.dispose() }
    return state
  }

  private func receive(_ update: CollectionUpdate<Element>, from plug: Plug<Element>) {
    perform { state in
      var actions = Actions()
      if plug === current {
        if staged?.phase == .computing {
          frozen.append(update)
        } else {
          replay([update], &actions, &state)
        }
      } else if plug === staged {
        switch plug.phase {
        case .attaching, .computing:
          plug.missed.append(update)
        case .waiting, .current:
          if let old = plug.state { actions.states.append(old) }
          plug.state = update.state
          consider(plug, &actions, &state)
        }
      }
      return actions
    }
  }

  // MARK: Decisions, under the lock

  /// Looks at what the staged source holds: it may be shown, wait on, or have failed.
  private func consider(
    _ plug: Plug<Element>, _ actions: inout Actions, _ state: inout Domain.State
  ) {
    guard let held = plug.state else { return }
    if held.hasLoaded {
      plug.phase = .computing
      actions.computation = Computation(
        plug: plug, old: root.committed(&state).state.snapshot, new: held.snapshot,
        join: state.beginJoin())
    } else if let error = held.status.error {
      staged = nil
      actions.left.append((plug, .failed(error)))
    }
  }

  /// Lets the staged source go; the current one goes on as if nothing had been.
  private func abandon(
    _ outcome: SwapOutcome, _ actions: inout Actions, _ state: inout Domain.State
  ) {
    guard let plug = staged else { return }
    staged = nil
    actions.left.append((plug, outcome))
    let updates = frozen
    frozen = []
    replay(updates, &actions, &state)
  }

  /// Shows the staged source, unless it was let go meanwhile.
  private func finish(
    _ plug: Plug<Element>, _ new: Snapshot<Element>, _ changeset: Changeset,
    _ actions: inout Actions, _ state: inout Domain.State
  ) {
    guard staged === plug, plug.phase == .computing, let held = plug.state else { return }
    commit(
      changeset.isEmpty ? nil : (new, changeset), held.status, hasLoaded: true, &actions, &state)
    replay(takeMissed(plug), &actions, &state)
    if let old = current { actions.left.append((old, nil)) }
    actions.updates.append(frozen)
    frozen = []
    plug.phase = .current
    plug.state = nil
    actions.states.append(held)
    current = plug
    staged = nil
    actions.done = (plug.handle, changeset.isEmpty ? .unchanged : .swapped)
  }

  /// Passes on what the current source tells.
  private func replay(
    _ updates: [CollectionUpdate<Element>], _ actions: inout Actions, _ state: inout Domain.State
  ) {
    for update in updates {
      commit(
        update.change.map { ($0.after, $0.changeset) }, update.state.status,
        hasLoaded: update.state.hasLoaded, &actions, &state)
    }
    actions.updates.append(updates)
  }

  private func commit(
    _ contents: (snapshot: Snapshot<Element>, changeset: Changeset)?, _ status: SourceStatus,
    hasLoaded: Bool, _ actions: inout Actions, _ state: inout Domain.State
  ) {
    let before = root.committed(&state)
    actions.states.append(before.state)
    guard let update = before.state.advanced(to: contents, status: status, hasLoaded: hasLoaded)
    else { return }
    let drainer = ThreadContext.current.deferred == nil ? ThreadID.current : nil
    if root.commit(update, by: drainer, &state) { actions.mustDrain = true }
    actions.hasCommitted = true
  }

  private func takeMissed(_ plug: Plug<Element>) -> [CollectionUpdate<Element>] {
    let missed = plug.missed
    plug.missed = []
    return missed
  }

  // MARK: Carrying out, unlocked

  private func perform(_ decide: (inout Domain.State) -> Actions) {
    var actions = root.domain.withLock(decide)
    while true {
      for (plug, outcome) in actions.left {
        leave(plug)
        if let outcome { plug.handle.resolve(outcome) }
      }
      // A drain takes as long as others commit: what is left is not kept by it.
      (actions.left, actions.states, actions.updates) = ([], [], [])
      if actions.mustDrain { root.domain.drain(root) }
      if actions.hasCommitted { ThreadContext.current.deferred?.append(root) }
      if let done = actions.done { done.handle.resolve(done.outcome) }
      for waiter in actions.woken { waiter.wake() }
      guard let computation = actions.computation else { return }
      root.domain.pause(at: .swapFrozen)
      // As inside an observer, a flush inside a comparison would wait for itself.
      let context = ThreadContext.current
      context.drainDepth += 1
      let changeset = computation.old.changeset(to: computation.new)
      context.drainDepth -= 1
      root.domain.pause(at: .swapComputed)
      actions = root.domain.withLock { state in
        var actions = Actions()
        finish(computation.plug, computation.new, changeset, &actions, &state)
        state.endJoin(computation.join)
        actions.woken = state.takeDueWaiters()
        return actions
      }
    }
  }

  /// Stops observing a source and lets it go.
  private func leave(_ plug: Plug<Element>) {
    let feed = root.domain.withLock { _ in
      let feed = plug.feed
      plug.feed = nil
      return feed
    }
    feed?.dispose()
    Topology.disconnect(root, from: plug.node)
  }
}
