import SwappablePrimitives
import Synchronization

/// Computes the update of a derived node, or returns `nil` if there is none.
///
/// The first call computes the first state. The delivering thread calls it without a lock.
@usableFromInline
package typealias Kernel = (Node) -> (any NodeUpdate)?

/// A node of the dependency graph: the engine's part of a property, a signal or a collection.
///
/// A node is a root, to which commits are made, or is derived from other nodes of its domain by a kernel.
/// It has a *state*, which a new observer receives, and during a pass an *update*. A node of a signal may
/// end.
///
/// Its mutable state has three owners, each with a type: `Guarded`, `Published` and `Pass`.
@usableFromInline
package final class Node: @unchecked Sendable {
  // Sendable: see the three types. Only the thread that sets `isStarted` accesses `onStart`. `observation` is set once, by
  // the creator or by `onStart`. Access is not checked for exclusivity at run time, which would be a tenth of a commit: no
  // code that reads a property runs while it is written (`EngineBenchmarks commit`).

  @usableFromInline package let domain: Domain
  /// 0 for a root. A derived node is higher than each of its inputs.
  let height: Int
  /// A Boolean value that indicates whether the node has a state. A signal without a memory has none.
  @usableFromInline let remembers: Bool
  /// A Boolean value that indicates whether several pending commits, or several steps that are recorded for a
  /// node that joins, may become one.
  let composesCommits: Bool
  /// Observers of the value or the contents.
  package let observers: ObserverList
  /// Observers of the status. They are called after the observers of the contents.
  package let statusObservers: ObserverList
  /// Tracks reads of the value or the contents together with the status. The lists of observers track reads of
  /// one of them.
  package let tracking = ObservationTracker()
  /// The parts of this node that change by themselves, if it has some.
  let parts: PartitionedDependents?
  /// The place where commits of other domains enter through this root.
  let externalInputs: ExternalInputs?
  private let isStarted = Atomic<Bool>(false)
  /// `nil` after it was called, so its captured values are released.
  private var onStart: (@Sendable (Node) -> Void)?
  /// Keeps alive the observation or the task that feeds this root.
  var observation: Disposable?

  /// The state that the domain's lock guards.
  struct Guarded {
    /// The newest state of a root, delivered or not.
    var committed: NodeState?
    /// A Boolean value that indicates whether the end of a signal is committed. Nothing follows it.
    var isFinished = false
    /// The number of pending commits of this root, the elements that they change, and the position of the
    /// latest.
    var pendingCommits = 0
    var pendingChanges = 0
    var lastPending = 0
    /// The nodes that are derived from this one, if there were any.
    var children: Dependents?
    /// The roots that follow this node, by domain.
    fileprivate var followers: [ObjectIdentifier: BoundaryRoot] = [:]
    /// The type that has created the node, for explanations.
    var type: Any.Type?
    /// Further facts for explanations.
    var notes: NodeNotes?
  }

  /// The state that only the delivering thread writes, under the domain's lock. That thread reads it without the lock,
  /// and others with it.
  @usableFromInline
  struct Published {
    /// The state that observers have received, or are receiving.
    @usableFromInline var state: NodeState?
    /// A Boolean value that indicates whether the end of a signal is published.
    var hasEnded = false
    /// The connections to the nodes that this node is derived from. They are released after the end.
    var inputs: [NodeInput]
    /// The counts since the domain counts, or older ones.
    var work: NodeWork?
  }

  /// The state that the delivering thread owns, of which there is one at a time. It hands over to the next one under the
  /// lock. The creator of a derived node owns this state until the node is live.
  @usableFromInline
  struct Pass {
    /// The update of the current pass.
    @usableFromInline var update: (any NodeUpdate)?
    /// The properties of the update with these names, or `false` if there is none. They are read several times in a
    /// pass, and reading them from the update would retain it.
    @usableFromInline var hasChange = false
    @usableFromInline var isStatusStep = false
    /// A Boolean value that indicates whether the signal ends in the current pass. A kernel sets it.
    @usableFromInline var ends = false
    /// The state before the update, which must not be released under the lock.
    var previous: NodeState?
    var kernel: Kernel?
    /// A Boolean value that indicates whether commits with changes had no effect in the end. A reader may have read
    /// what one of them committed.
    var hasDroppedChange = false
    /// Who receives the update of the current pass.
    var receivers: Receivers = []
    /// The pass that scheduled this node last.
    var mark: UInt64 = 0
    /// The node of the same height that is computed after this one.
    var nextScheduled: Node?

    mutating func set(_ new: consuming (any NodeUpdate)?) {
      hasChange = new?.hasChange == true
      isStatusStep = new?.isStatusStep == true
      update = new
    }
  }

  @exclusivity(unchecked) private var guarded: Guarded
  @exclusivity(unchecked) @usableFromInline private(set) var publication: Published
  @exclusivity(unchecked) @usableFromInline var pass = Pass()
  /// Observers in other domains, if there were any. They receive each update, before all other observers. It is set once,
  /// under the domain's lock. The delivering thread reads it without the lock if `receivers` says that it was set before.
  @exclusivity(unchecked) private(set) var boundaryObservers: ObserverList?

  /// The state that the domain's lock guards. Only a thread that holds the lock has a key.
  subscript(_ key: Domain.Key) -> Guarded {
    _read { yield guarded }
    _modify { yield &guarded }
  }

  /// The state that observers have received, or are receiving.
  @inlinable package var published: NodeState? { publication.state }
  /// A Boolean value that indicates whether the end of a signal is published.
  var hasEnded: Bool { publication.hasEnded }
  /// The connections to the nodes that this node is derived from.
  var inputs: [NodeInput] { publication.inputs }
  /// The update of the current pass.
  @inlinable var update: (any NodeUpdate)? { pass.update }
  /// A Boolean value that indicates whether the update of the current pass changes the value or the contents.
  @inlinable var hasChange: Bool { pass.hasChange }
  /// A Boolean value that indicates whether the update of the current pass changes the status.
  @inlinable var isStatusStep: Bool { pass.isStatusStep }
  /// A Boolean value that indicates whether the signal ends in the current pass. A kernel sets it.
  @inlinable var ends: Bool {
    get { pass.ends }
    set { pass.ends = newValue }
  }

  /// A root that follows this node.
  // A class. As a struct in the dictionary, a missing entry was read as one with a weak reference to nowhere
  // (Swift 6.3, debug builds).
  fileprivate final class BoundaryRoot {
    private(set) weak var node: Node?
    private let identifier: ObjectIdentifier

    init(_ node: Node) {
      self.node = node
      identifier = ObjectIdentifier(node)
    }

    /// Returns whether this is a node, which may be deinitializing.
    func isNode(_ other: ObjectIdentifier) -> Bool { identifier == other }
  }

  /// Creates a root.
  ///
  /// - Parameters:
  ///   - domain: The domain of the root.
  ///   - state: The first state, or `nil` if there is none yet.
  ///   - remembers: A Boolean value that indicates whether the root has a state.
  ///   - external inputs: The place where commits of other domains enter through this root.
  ///   - type: The type that creates the root, for explanations.
  ///   - onStart: A closure that is called once, when the node or something derived from it is observed.
  package init(
    domain: Domain, state: NodeState?, remembers: Bool = true,
    externalInputs: ExternalInputs? = nil,
    type: Any.Type? = nil,
    onStart: (@Sendable (Node) -> Void)? = nil
  ) {
    self.domain = domain
    self.remembers = remembers
    self.externalInputs = externalInputs
    self.onStart = onStart
    composesCommits = remembers
    (height, parts) = (0, nil)
    guarded = Guarded(committed: state, type: type)
    publication = Published(state: state, inputs: [])
    observers = ObserverList(domain: domain)
    statusObservers = ObserverList(domain: domain)
  }

  /// Creates a derived node and computes its first state.
  ///
  /// - Parameters:
  ///   - inputs: The inputs of the node. There is at least one, and all are in one domain.
  ///   - remembers: A Boolean value that indicates whether the node has a state.
  ///   - composesSteps: A Boolean value that indicates whether updates of the inputs that are published while
  ///     the node joins may become one.
  ///   - type: The type of the operator, for explanations.
  ///   - parts: The parts of the node that change by themselves, or `nil`.
  ///   - kernel: The computation of the node.
  @usableFromInline
  package init(
    over inputs: [NodeInput], remembers: Bool, composesSteps: Bool, type: Any.Type? = nil,
    parts: PartitionedDependents? = nil, _ kernel: @escaping Kernel
  ) {
    domain = inputs[0].node.domain
    height = inputs.reduce(0) { max($0, $1.node.height + 1) }
    self.remembers = remembers
    self.parts = parts
    guarded = Guarded(type: type)
    publication = Published(inputs: inputs)
    pass.kernel = kernel
    composesCommits = composesSteps
    externalInputs = nil
    observers = ObserverList(domain: domain)
    statusObservers = ObserverList(domain: domain)
    catchUp()
  }

  // The domains that waited for these external inputs may continue, so observers may be called.
  deinit {
    if height == 0, externalInputs == nil { return }
    var released: [Any] = [pass.kernel as Any, inputs, externalInputs?.sources ?? []]
    (pass.kernel, publication.inputs) = (nil, [])
    ThreadContext.current.release(&released)
    guard let externalInputs else { return }
    // The external inputs hold nodes, and this node holds them: nothing is released under the lock.
    domain.lock.withLock { $0.externalInputs.removeAll { $0 === externalInputs } }
    DependencyGraph.notifyChange(of: domain)
    let (domain, identifier) = (ObjectIdentifier(domain), ObjectIdentifier(self))
    for source in externalInputs.sources {
      source.domain.lock.withLock { state in
        let isNewest = source[state.key].followers[domain]?.isNode(identifier) == true
        if isNewest { source[state.key].followers[domain] = nil }
      }
    }
  }

  // MARK: States

  /// The newest state of a root, delivered or not, or the published state of a derived node.
  @usableFromInline package var current: NodeState? {
    domain.lock.withLock { self[$0.key].committed ?? published }
  }

  /// The newest state of a root, under the lock.
  package func committed(_ state: inout Domain.State) -> NodeState? { self[state.key].committed }

  /// The published state, if no commit is pending that may replace it.
  var settled: NodeState? { domain.lock.withLock { $0.isSettled ? published : nil } }

  /// Sets the first state of a root that cannot be observed yet.
  package func setFirst(_ first: NodeState) {
    let replaced = domain.lock.withLock { state in
      defer { (publication.state, self[state.key].committed) = (first, first) }
      return (publication.state, self[state.key].committed)
    }
    withExtendedLifetime(replaced) {}
  }

  // MARK: The way of a commit, in the order of the calls

  /// Commits an update and delivers it.
  ///
  /// - Parameters:
  ///   - update: The update, or `nil` for the end of a signal, which follows all pending values.
  ///   - tickets: The transactions over several domains that it is part of.
  ///   - isFollowing: A Boolean value that indicates whether a boundary observer calls this. Then the domain delivers
  ///     when it has returned.
  @usableFromInline
  package func send(
    _ update: (any NodeUpdate)?, tickets: [Ticket] = [], isFollowing: Bool = false
  ) {
    let released = commit(update, tickets: tickets)
    withExtendedLifetime(released) {}
    if isFollowing { domain.deliverNext() } else { domain.deliver() }
  }

  /// Ends a signal after all pending values.
  package func finish() { send(nil) }

  /// Commits an update or the end of a signal. The caller then calls `deliver()`.
  ///
  /// - Returns: Objects to be released after the commit.
  @usableFromInline
  package func commit(_ update: (any NodeUpdate)?, tickets: [Ticket]) -> (NodeState?, NodeState?) {
    domain.lock.withLock { commit(update, tickets: tickets, &$0) }
  }

  /// Commits an update or the end of a signal, under the lock. After the end, nothing is committed.
  ///
  /// If too many commits are pending, it becomes part of the latest.
  ///
  /// - Parameters:
  ///   - update: The update, which continues from the newest state, or `nil` for the end.
  ///   - tickets: The transactions over several domains that it is part of.
  /// - Returns: Objects to be released outside the lock.
  package func commit(
    _ update: (any NodeUpdate)?, tickets: [Ticket], _ state: inout Domain.State
  ) -> (NodeState?, NodeState?) {
    if self[state.key].isFinished { return (nil, nil) }
    let replaced = self[state.key].committed
    if let update {
      if remembers { self[state.key].committed = update.state }
    } else {
      self[state.key].isFinished = true
    }
    let merged = state.pending.append(update, to: self, tickets: tickets)
    if merged == nil { state.committed += 1 }
    // The first commit to a root may go ahead of commits that wait, unless it waits as well.
    if self[state.key].pendingCommits == 1,
      !tickets.contains(where: { state.waitsFor.contains(ObjectIdentifier($0)) })
    {
      state.waitsFor = []
    }
    return (replaced, merged)
  }

  /// Takes a commit of the pass that begins, under the lock. A second one is composed with the first.
  ///
  /// - Parameter commit: The update, or `nil` for the end.
  /// - Returns: `true` if the update is complete. Otherwise, `compute()` completes it.
  func take(_ commit: (any NodeUpdate)?) -> Bool {
    guard let commit else {
      ends = true
      return true
    }
    if let update {
      pass.set(update.composed(with: commit))
    } else if let published {
      pass.set(commit.continues(published) ? commit : commit.continued(from: published))
    } else {
      pass.set(commit)
    }
    return update?.isComposed == false
  }

  /// A Boolean value that indicates whether the current pass has an update or the end.
  var isChanged: Bool { update != nil || ends }

  /// Returns whether parts of the node have changed in a pass.
  func hasChangedParts(in pass: UInt64) -> Bool {
    self.pass.mark == pass && parts?.areChanged == true
  }

  /// Computes the update of the current pass, without the lock.
  func compute() {
    if let kernel = pass.kernel {
      parts?.beginUpdate()
      let update = kernel(self)
      pass.set(update)
      if ends { pass.kernel = nil }
    } else if let composed = update {
      let hadChange = hasChange
      let update = composed.resolved()
      pass.set(update)
      pass.hasDroppedChange = hadChange && !hasChange
    }
  }

  /// Applies the update to the state, under the lock.
  func settle(_ state: inout Domain.State) {
    if remembers, update != nil {
      // `previous` is nil.
      swap(&pass.previous, &publication.state)
      publication.state = update?.state
    }
    if ends { publishEnd(&state) }
  }

  /// Applies the update to the state, and captures the observers that receive it, under the lock.
  func publish(_ state: inout Domain.State) {
    if update != nil {
      // A list is touched only if it may receive something: each is at another place of the memory.
      if tracking.isRead { pass.receivers.insert(.readers) }
      if let boundaryObservers, boundaryObservers.isInUse, let update {
        boundaryObservers.capture(for: update, &state)
        pass.receivers.insert(.otherDomains)
        domain.pass.exits += boundaryObservers.count
      }
      if hasChange, observers.isInUse, let update {
        observers.capture(for: update, &state)
        pass.receivers.insert(.observers)
      }
      if isStatusStep, statusObservers.isInUse, let update {
        statusObservers.capture(for: update, &state)
        pass.receivers.insert(.statusObservers)
      }
    }
    settle(&state)
  }

  private func publishEnd(_ state: inout Domain.State) {
    publication.hasEnded = true
    pass.receivers.insert(.observers)
    if let boundaryObservers {
      pass.receivers.insert(.otherDomains)
      boundaryObservers.finish(SignalEnd.shared, &state)
    }
    observers.finish(SignalEnd.shared, &state)
  }

  /// Reports commits that had no effect in the end to those who have read what one of them committed.
  func reportDroppedChange() {
    if !pass.hasDroppedChange { return }
    pass.hasDroppedChange = false
    observers.tracking.hasChanged()
    // Otherwise, `reportChange()` reports it.
    if update == nil { tracking.hasChanged() }
  }

  /// Reports the update to those who have read what it changes.
  func reportChange() {
    if update == nil { return }
    if observers.tracking.isRead, hasChange { observers.tracking.hasChanged() }
    if isStatusStep, statusObservers.tracking.isRead { statusObservers.tracking.hasChanged() }
    tracking.hasChanged()
  }

  /// Releases everything that belongs to the pass.
  func endPass() {
    if pass.receivers.contains(.otherDomains) { boundaryObservers?.endPass() }
    if pass.receivers.contains(.observers) { observers.endPass() }
    if pass.receivers.contains(.statusObservers) { statusObservers.endPass() }
    pass.receivers = []
    if ends {
      if height > 0 { releaseInputs() }
      ends = false
    }
    pass.set(nil)
    pass.previous = nil
  }

  /// Returns the counts of this node, for the delivering thread.
  ///
  /// - Parameter epoch: The number of times that counting has begun in the domain.
  func work(in epoch: UInt64) -> NodeWork {
    if let work = publication.work, work.epoch == epoch { return work }
    let new = NodeWork(epoch: epoch)
    let replaced = domain.lock.withLock { _ in
      defer { publication.work = new }
      return publication.work
    }
    withExtendedLifetime(replaced) {}
    return new
  }

  // MARK: Connections

  /// Starts this node and everything upstream of it that waits for its first observer.
  package func start() {
    schedulePoint()
    if isStarted.exchange(true, ordering: .relaxed) { return }
    var open = [self]
    while let node = open.popLast() {
      for source in node.upstream {
        schedulePoint()
        if !source.isStarted.exchange(true, ordering: .relaxed) { open.append(source) }
      }
      let onStart = node.onStart.take()
      onStart?(node)
    }
  }

  /// The nodes that this node is currently made from, in any domain.
  package var upstream: [Node] { inputNodes + (externalInputs?.sources ?? []) }

  /// The nodes of the same domain that this node is derived from.
  var inputNodes: [Node] { domain.lock.withLock { _ in inputs }.map(\.node) }

  /// A Boolean value that indicates whether a node is derived from this one, under the lock.
  func hasChildren(_ key: Domain.Key) -> Bool {
    // Not by the key, because that allocates the frame of a coroutine.
    guarded.children?.isEmpty == false || parts?.inUse.isEmpty == false
  }

  /// A Boolean value that indicates whether a node is derived from this one.
  package var hasLiveChildren: Bool { domain.lock.withLock { hasChildren($0.key) } }

  /// A Boolean value that indicates whether a root of another domain follows this node.
  package var isFollowed: Bool { domain.lock.withLock { _ in boundaryObservers?.isInUse == true } }

  /// The list in which nodes that are derived from this one are children, under the lock.
  func childList(_ key: Domain.Key) -> Dependents {
    if let children = self[key].children { return children }
    let list = Dependents()
    self[key].children = list
    return list
  }

  /// Removes a derived node from its domain. A pass in progress still holds it.
  package func leave() {
    if height == 0 { return }
    domain.lock.withLock { state in
      for input in inputs { input.children(state.key).remove(input) }
      state.turnedLive.removeAll { $0 === self }
    }
  }

  /// Releases the nodes that a signal was derived from, because it has ended.
  private func releaseInputs() {
    // `self` may be held by its inputs alone, and its inputs by itself.
    let released = domain.lock.withLock { state -> [NodeInput] in
      for input in inputs { input.children(state.key).remove(input) }
      defer { publication.inputs = [] }
      return inputs
    }
    withExtendedLifetime(released) {}
    DependencyGraph.notifyChange(of: domain)
  }

  // MARK: Boundaries

  /// Returns a root in another domain that follows this node: the boundary between the two domains.
  ///
  /// All nodes of that domain share one, so a commit of this node is one commit there.
  ///
  /// - Parameters:
  ///   - domain: The other domain.
  ///   - sharesTransactions: A Boolean value that indicates whether updates of one transaction that enter the
  ///     domain through several boundaries arrive in one pass. Otherwise, each has its own, and the boundary is new.
  func makeBoundary(in domain: Domain, sharesTransactions: Bool = true) -> Node {
    let externalInputs = ExternalInputs([self])
    let key = ObjectIdentifier(domain)
    let (follower, observation) = self.domain.lock.withLock { state -> (Node, Observation?) in
      if sharesTransactions, let shared = self[state.key].followers[key]?.node {
        return (shared, nil)
      }
      let follower = Node(
        domain: domain, state: published, remembers: remembers, externalInputs: externalInputs)
      follower.publication.hasEnded = hasEnded
      if sharesTransactions {
        self[state.key].followers[key] = BoundaryRoot(follower)
      }
      let observation = attachBoundary(
        { [weak follower, unowned self] event in
          let isEnd = event === SignalEnd.shared
          // A signal without a memory cannot compose two values, so each has a pass of its own.
          let isShared = sharesTransactions && self.remembers && !isEnd
          follower?.send(
            isEnd ? nil : self.update, tickets: isShared ? self.domain.pass.tickets : [],
            isFollowing: true)
        }, &state)
      return (follower, observation)
    }
    if let observation { follower.observation = Disposable(observation, keeping: nil) }
    follower.openExternalInputs()
    return follower
  }

  /// Calls a closure with each update, before all observers, beginning with the next pass.
  ///
  /// - Returns: The published state, and a handle that does not keep the node alive.
  package func observeAsBoundary(
    _ handler: @escaping @Sendable (NodeState, [Ticket]) -> Void
  ) -> (state: NodeState?, observation: Disposable) {
    let (state, observation) = domain.lock.withLock { state in
      let observation = attachBoundary(
        { [unowned domain] event in handler(event, domain.pass.tickets) }, &state)
      return (published, observation)
    }
    return (state, Disposable(observation, keeping: nil))
  }

  private func attachBoundary(
    _ handler: @escaping @Sendable (NodeState) -> Void, _ state: inout Domain.State
  ) -> Observation {
    if let boundaryObservers { return boundaryObservers.attach(handler, &state) }
    let list = ObserverList(domain: domain)
    if hasEnded { list.finish(SignalEnd.shared, &state) }
    boundaryObservers = list
    return list.attach(handler, &state)
  }

  /// Registers these external inputs with the domain. The creator of a root that has one calls this.
  package func openExternalInputs() {
    guard let externalInputs else { return }
    let isNew = domain.lock.withLock { state in
      if state.externalInputs.contains(where: { $0 === externalInputs }) { return false }
      state.externalInputs.append(externalInputs)
      return true
    }
    if isNew { DependencyGraph.notifyChange(of: domain) }
  }
}
