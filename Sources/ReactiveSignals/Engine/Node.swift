import SwappablePrimitives
import Synchronization

/// The place of a node in the dependency graph, and everything that the engine keeps for it.
///
/// A node is a root, to which commits are made, or is derived from other nodes of its domain. The
/// nodes themselves, `SignalNode` and `CollectionNode`, add a typed state and a typed update
/// (``GraphNode``). A new observer receives the state. A pass delivers the update.
///
/// All mutable state is guarded by the domain's lock or is owned by the delivering thread. There is
/// one delivering thread at a time, and it hands over to the next one under that lock.
package final class NodePlace: @unchecked Sendable {
  // Sendable: `inputs`, `children`, `vacantChildren`, `followers` and the counts of pending commits
  // are guarded by the domain's lock; `mark` is owned by the delivering thread; `observation` is set once, by the
  // creator or by `onStart`, which only the thread that sets `isStarted` accesses. Access is not checked for exclusivity
  // at run time, which would be a tenth of a commit: no code that reads a property runs while it is
  // written (`EngineBenchmarks commit`).

  package let domain: Domain
  /// 0 for a root. A derived node is higher than each of its inputs.
  package let height: Int
  /// The place where commits of other domains enter through this root.
  package let entrance: Entrance?
  /// Keeps alive the observation or the task that feeds this root.
  var observation: Disposable?
  /// The roots that follow this node, by domain.
  fileprivate var followers: [ObjectIdentifier: Follower] = [:]

  /// The nodes that this node is derived from, empty after it has released them.
  @exclusivity(unchecked) var inputs: [any NodeInput]
  @exclusivity(unchecked) var children: [Child?] = []
  @exclusivity(unchecked) private var vacantChildren = 0

  /// The pass that scheduled this node last.
  @exclusivity(unchecked) var mark: UInt64 = 0

  /// A Boolean value that indicates whether several pending commits or recorded steps may become one.
  let composesCommits: Bool
  /// The number of pending commits of this root, the elements that they change, and the position of the
  /// latest.
  @exclusivity(unchecked) var pendingCommits = 0
  @exclusivity(unchecked) var pendingChanges = 0
  @exclusivity(unchecked) var lastPending = 0

  fileprivate let isStarted = Atomic<Bool>(false)
  /// `nil` after it was called, so its captured values are released.
  fileprivate var onStart: (@Sendable (any GraphNode) -> Void)?

  fileprivate struct Follower {
    weak var node: (any GraphNode)?
    let place: ObjectIdentifier
  }

  /// A derived node, and the input through which it is derived from this one.
  struct Child {
    let node: any GraphNode
    let input: any NodeInput
  }

  /// Creates a place that no other node is connected with yet.
  ///
  /// - Parameters:
  ///   - inputs: The nodes of the same domain that it is derived from. A root has none.
  ///   - composesCommits: A Boolean value that indicates whether several pending commits of a root, or several steps that are recorded
  ///     for a derived node, may become one.
  ///   - entrance: The place where commits of other domains enter through this root.
  ///   - onStart: A closure that is called once, when the node or something derived from it is observed.
  package init(
    domain: Domain, inputs: [any NodeInput] = [], composesCommits: Bool = false,
    entrance: Entrance? = nil, onStart: (@Sendable (any GraphNode) -> Void)? = nil
  ) {
    self.domain = domain
    self.inputs = inputs
    self.composesCommits = composesCommits
    self.entrance = entrance
    self.onStart = onStart
    height = inputs.reduce(0) { max($0, $1.node.place.height + 1) }
  }

  // The domains that waited for this entrance may continue, so observers may be called.
  deinit {
    guard let entrance else { return }
    // The entrance holds nodes: release them outside the lock.
    let removed = domain.lock.withLock { state in
      state.entrances.firstIndex { $0 === entrance }.map { state.entrances.remove(at: $0) }
    }
    withExtendedLifetime(removed) {}
    DependencyGraph.notifyChange(of: domain)
    let place = ObjectIdentifier(self)
    for source in entrance.sources { source.place.removeFollower(place, in: domain) }
  }

  private func removeFollower(_ place: ObjectIdentifier, in other: Domain) {
    let key = ObjectIdentifier(other)
    domain.lock.withLock { _ in
      if followers[key]?.place == place { followers[key] = nil }
    }
  }

  /// The nodes of the same domain that this node is derived from.
  var inputNodes: [any GraphNode] {
    domain.lock.withLock { _ in inputs }.map(\.node)
  }

  // MARK: Under the domain's lock

  var hasChildren: Bool { children.count > vacantChildren }

  /// A Boolean value that indicates whether a node is derived from this one.
  package var hasLiveChildren: Bool { domain.lock.withLock { _ in hasChildren } }

  func add(_ child: any GraphNode, through input: any NodeInput) {
    input.slot = children.count
    children.append(Child(node: child, input: input))
  }

  /// The caller holds the child, so nothing is deinitialized here.
  fileprivate func removeChild(through input: any NodeInput) {
    guard input.slot >= 0 else { return }
    children[input.slot] = nil
    input.slot = -1
    vacantChildren += 1
    guard vacantChildren > 16, vacantChildren > children.count / 2 else { return }
    children.removeAll { $0 == nil }
    vacantChildren = 0
    for (index, child) in children.enumerated() { child?.input.slot = index }
  }

  /// Records the updates of the inputs of this node in the current pass. The node is still joining.
  func recordInputs() {
    guard inputs.contains(where: { $0.node.isChanged }) else { return }
    for input in inputs { input.recordUpdate() }
  }
}

/// The typed part of a node.
package protocol GraphNode: AnyObject, Sendable {
  var place: NodePlace { get }

  /// The observers in other domains, which receive updates before all other observers.
  func boundaryObservers(_ state: inout Domain.State) -> ObserverList

  /// Creates a root of another domain that has the published state of this node.
  func makeFollower(in domain: Domain, _ entrance: Entrance, _ state: inout Domain.State) -> Self

  // MARK: Roots

  /// Takes a commit, under the lock. A second commit of the same pass is composed with the first.
  ///
  /// - Returns: `true` if the update is complete. Otherwise, `compute()` completes it.
  func take(_ commit: Event) -> Bool

  /// Composes a commit with an earlier one that is still pending, under the lock.
  ///
  /// - Returns: The earlier commit, to be released outside the lock.
  func compose(_ commit: Event, with earlier: inout Event) -> Event

  /// Commits an update of the node that this root follows.
  func receive(_ event: Event, tickets: [Ticket])

  // MARK: Passes

  /// A Boolean value that indicates whether the current pass has an update.
  var isChanged: Bool { get }

  /// Computes the update of the current pass. The delivering thread calls this without the lock.
  func compute()

  /// Computes the first state from the inputs' captured states.
  func computeFirst()

  /// Applies the update to the state of a node that cannot be observed yet.
  func settle(_ state: inout Domain.State)

  /// Publishes the update and captures the observers that receive it, under the lock.
  func publish(_ state: inout Domain.State)

  /// Calls the observers in other domains.
  func deliverToBoundaries(_ pass: UInt64)

  /// Calls the observers that were captured when the pass was published.
  func deliver(_ pass: UInt64)

  /// Releases everything that belongs to the pass.
  func endPass()
}

extension GraphNode {
  package var domain: Domain { place.domain }

  /// The nodes that this node is currently made from, in any domain.
  package var upstream: [any GraphNode] { place.inputNodes + (place.entrance?.sources ?? []) }

  /// Starts this node and everything upstream of it that waits for its first observer.
  package func start() {
    if place.isStarted.exchange(true, ordering: .relaxed) { return }
    var open: [any GraphNode] = [self]
    while let node = open.popLast() {
      for source in node.upstream
      where !source.place.isStarted.exchange(true, ordering: .relaxed) {
        open.append(source)
      }
      let onStart = node.place.onStart
      node.place.onStart = nil
      onStart?(node)
    }
  }

  // MARK: Leaving

  /// Removes a derived node from its domain. A pass in progress still holds it.
  package func leave() {
    if place.height == 0 { return }
    domain.lock.withLock { state in
      for input in place.inputs { input.node.place.removeChild(through: input) }
      if let index = state.turnedLive.firstIndex(where: { $0 === self }) {
        state.turnedLive.remove(at: index)
      }
    }
  }

  /// Releases the nodes that a signal was derived from, because it has ended.
  package func releaseInputs() {
    // `self` may be held by its inputs alone, and its inputs by itself.
    let released = domain.lock.withLock { state -> [any NodeInput] in
      for input in place.inputs { input.node.place.removeChild(through: input) }
      defer { place.inputs = [] }
      return place.inputs
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
  ///   - joinsTransactions: A Boolean value that indicates whether updates of one transaction that enter the domain through several
  ///     boundaries arrive in one pass. Otherwise, each has a pass of its own, and the boundary is new.
  package func makeBoundary(in domain: Domain, joinsTransactions: Bool = true) -> Self {
    let entrance = Entrance([self])
    let source = self.domain
    let key = ObjectIdentifier(domain)
    let (follower, observation) = source.lock.withLock { state -> (Self, Observation?) in
      if joinsTransactions, let shared = place.followers[key]?.node as? Self {
        return (shared, nil)
      }
      let follower = makeFollower(in: domain, entrance, &state)
      if joinsTransactions {
        place.followers[key] = NodePlace.Follower(
          node: follower, place: ObjectIdentifier(follower.place))
      }
      let observation = boundaryObservers(&state).attach(
        { [weak follower, unowned source] event in
          follower?.receive(event, tickets: joinsTransactions ? source.pass.tickets : [])
        }, &state)
      return (follower, observation)
    }
    if let observation { follower.place.observation = Disposable(observation, keeping: nil) }
    follower.openEntrance()
    return follower
  }

  /// A Boolean value that indicates whether a root of another domain follows this node.
  package var isFollowed: Bool { domain.lock.withLock { !boundaryObservers(&$0).isEmpty(&$0) } }

  /// Makes the entrance known to the domain. The creator of a root that has one calls this.
  package func openEntrance() {
    guard let entrance = place.entrance else { return }
    let isNew = domain.lock.withLock { state in
      if state.entrances.contains(where: { $0 === entrance }) { return false }
      state.entrances.append(entrance)
      return true
    }
    if isNew { DependencyGraph.notifyChange(of: domain) }
  }
}
