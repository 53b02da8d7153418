package import Diffing
package import ReactiveSignals
import SwappablePrimitives

/// The node of a collection.
package final class CollectionNode<Element: Differentiable & Sendable>: GraphNode,
  @unchecked Sendable
{
  // Sendable: `published` and `committed` are guarded by the domain's lock. The delivering thread alone
  // writes `published`, and so may read it without the lock. It owns `update`, `previous` and `kernel`.
  // The creator of a derived node owns all of them until the node is live. Access is not checked for
  // exclusivity, as in `NodePlace`.

  package let place: NodePlace
  /// The domain of the place, within easy reach: each commit and each read needs it.
  package let domain: Domain
  /// Boundaries to other domains, which receive updates before all observers.
  private let boundaryObservers: ObserverList
  package let observers: ObserverList
  /// Observers of the status. They are called after the observers of the contents.
  package let statusObservers: ObserverList

  /// Track reads of the contents, of the status, and of both together.
  package let contentsTracking = ObservationTracker()
  package let statusTracking = ObservationTracker()
  package let stateTracking = ObservationTracker()

  /// The state that observers have received, or are receiving.
  @exclusivity(unchecked) private var published: StateBox<Element>
  /// The newest state of a root, delivered or not. It is `nil` for a derived node.
  @exclusivity(unchecked) private var committed: StateBox<Element>?
  /// The update of the current pass.
  @exclusivity(unchecked) package private(set) var update: CollectionUpdate<Element>?
  /// The state before the update, which must not be released under the lock.
  @exclusivity(unchecked) private var previous: StateBox<Element>?
  private let kernel: OperatorKernel<Element>?

  /// Creates a root.
  ///
  /// - Parameters:
  ///   - domain: The domain of the root.
  ///   - state: The first state.
  ///   - entrance: The place where commits of other domains enter.
  package convenience init(
    domain: Domain, state: CollectionState<Element>, entrance: Entrance? = nil
  ) {
    self.init(domain, StateBox(state), entrance)
  }

  private init(_ domain: Domain, _ state: StateBox<Element>, _ entrance: Entrance?) {
    self.domain = domain
    boundaryObservers = ObserverList(domain: domain)
    observers = ObserverList(domain: domain)
    statusObservers = ObserverList(domain: domain)
    published = state
    committed = state
    kernel = nil
    place = NodePlace(domain: domain, composesCommits: true, entrance: entrance)
  }

  /// Creates a derived node and computes its first state.
  init(over inputs: [any OperatorInput], _ wrapped: any CollectionOperator<Element>) {
    domain = inputs[0].node.domain
    boundaryObservers = ObserverList(domain: domain)
    observers = ObserverList(domain: domain)
    statusObservers = ObserverList(domain: domain)
    published = StateBox(CollectionState(unloaded: .idle))
    kernel = OperatorKernel(inputs, wrapped)
    place = NodePlace(domain: domain, inputs: inputs, composesCommits: true)
    join()
  }

  // MARK: States

  /// The state that observers have received, under the lock.
  package func published(_ state: inout Domain.State) -> StateBox<Element> { published }

  /// The published state, for the delivering thread.
  var publishedForPass: StateBox<Element> { published }

  /// The newest state of a root, under the lock.
  package func committed(_ state: inout Domain.State) -> StateBox<Element> {
    committed ?? published
  }

  /// The newest state, delivered or not.
  package var current: CollectionState<Element> { currentBox.state }

  /// The newest state as an object.
  package var currentBox: StateBox<Element> {
    // As an object of any type: code that is not specialized would look the type up.
    let event: Event = domain.lock.withLock { _ in committed ?? published }
    return unsafeDowncast(event, to: StateBox<Element>.self)
  }

  /// Sets the first state of a root that cannot be observed yet.
  package func setFirst(_ state: CollectionState<Element>) {
    let first = StateBox(state)
    let replaced = domain.lock.withLock { _ in
      defer { (published, committed) = (first, first) }
      return (published, committed)
    }
    withExtendedLifetime(replaced) {}
  }

  // MARK: The way of a commit, in the order of the calls

  /// Commits an update of the newest state, under the lock. The caller then calls `deliver()`.
  ///
  /// - Parameters:
  ///   - update: The update. The caller holds the state before it, which is released here.
  ///   - tickets: The tickets of transactions over several domains.
  /// - Returns: An event to be released outside the lock.
  package func commit(
    _ update: CollectionUpdate<Element>, tickets: [Ticket], _ state: inout Domain.State
  ) -> Event? {
    committed = update.box
    return enqueue(
      update, changes: update.changeset.changeCount, limit: update.state.snapshot.count,
      tickets: tickets, &state)
  }

  package func take(_ commit: Event) -> Bool {
    var next = CollectionUpdate<Element>.read(commit)
    if let update {
      next = update.composed(with: next)
    } else if next.revisionBefore != published.state.revision {
      // The commits before it came to nothing.
      next = next.rebased(on: published.state)
    }
    update = next
    return !next.isComposed
  }

  package var isChanged: Bool { update != nil }

  package func compute() {
    if kernel == nil {
      update = update?.resolved()
    } else {
      update = kernel?.update(published)
    }
  }

  package func computeFirst() {
    guard let state = kernel?.start() else { return }
    published = StateBox(state)
  }

  package func settle(_ state: inout Domain.State) {
    guard let update else { return }
    previous = published
    published = update.box
  }

  package func publish(_ state: inout Domain.State) {
    guard let update else { return }
    previous = published
    published = update.box
    boundaryObservers.publish(update, &state)
    if update.hasChange { observers.publish(update, &state) }
    if update.isStatusStep { statusObservers.publish(update, &state) }
  }

  package func deliverToBoundaries(_ pass: UInt64) {
    boundaryObservers.deliver(pass)
  }

  package func deliver(_ pass: UInt64) {
    if contentsTracking.isRead, update?.hasChange == true { contentsTracking.hasChanged() }
    if statusTracking.isRead, update?.isStatusStep == true { statusTracking.hasChanged() }
    if update != nil { stateTracking.hasChanged() }
    observers.deliver(pass)
    statusObservers.deliver(pass)
  }

  package func endPass() {
    boundaryObservers.endPass()
    observers.endPass()
    statusObservers.endPass()
    update = nil
    previous = nil
  }

  // MARK: Boundaries

  package func boundaryObservers(_ state: inout Domain.State) -> ObserverList { boundaryObservers }

  package func makeFollower(
    in domain: Domain, _ entrance: Entrance, _ state: inout Domain.State
  ) -> CollectionNode<Element> {
    CollectionNode(domain, published, entrance)
  }

  package func receive(_ event: Event, tickets: [Ticket]) {
    let released = domain.lock.withLock { state in
      let replaced = committed
      return (replaced, commit(.read(event), tickets: tickets, &state))
    }
    withExtendedLifetime(released) {}
    domain.deliver()
  }

  package func compose(_ commit: Event, with earlier: inout Event) -> Event {
    let replaced = earlier
    earlier = CollectionUpdate<Element>.read(earlier).composed(with: .read(commit))
    return replaced
  }

  /// Calls a closure with each update, before all observers, beginning with the next pass.
  ///
  /// - Returns: The published state, and a handle that does not keep the node alive.
  package func observeAsBoundary(
    _ handler: @escaping @Sendable (CollectionUpdate<Element>, [Ticket]) -> Void
  ) -> (state: StateBox<Element>, observation: Disposable) {
    let (box, observation) = domain.lock.withLock { state in
      let observation = boundaryObservers.attach(
        { [unowned domain] event in handler(.read(event), domain.ticketsOfPass) }, &state)
      return (published, observation)
    }
    return (box, Disposable(observation, keeping: nil))
  }
}

/// An operator with its inputs: it computes the state of a derived node.
private final class OperatorKernel<Output: Differentiable & Sendable> {
  private let inputs: [any OperatorInput]
  @exclusivity(unchecked) private var wrapped: any CollectionOperator<Output>
  /// The draft of all passes, unless the operator has kept it.
  @exclusivity(unchecked) private var draft = CollectionDraft(Snapshot<Output>())

  init(_ inputs: [any OperatorInput], _ wrapped: any CollectionOperator<Output>) {
    self.inputs = inputs
    self.wrapped = wrapped
  }

  func start() -> CollectionState<Output> {
    wrapped.start(draft)
    let snapshot = draft.snapshot
    closeDraft()
    let (status, hasLoaded) = status
    return CollectionState(snapshot, revision: 0, status: status, hasLoaded: hasLoaded)
  }

  /// Computes the update of the output in the current pass.
  func update(_ published: StateBox<Output>) -> CollectionUpdate<Output>? {
    var contents: (snapshot: Snapshot<Output>, changeset: Changeset)?
    if inputs.contains(where: \.isChanged) {
      draft.open(published.state.snapshot)
      wrapped.update(draft)
      contents = draft.outcome()
      closeDraft()
    }
    let state = published.state
    if inputs.contains(where: \.hasStatusStep) {
      let (status, hasLoaded) = status
      return state.advanced(to: contents, status: status, hasLoaded: hasLoaded)
    }
    guard let contents else { return nil }
    return state.advanced(to: contents, status: state.status, hasLoaded: state.hasLoaded)
  }

  private func closeDraft() {
    draft.close()
    if isKnownUniquelyReferenced(&draft) {
      draft.clear()
    } else {
      draft = CollectionDraft(Snapshot())
    }
  }

  /// The worst status of the inputs, and whether all have loaded.
  private var status: (status: SourceStatus, hasLoaded: Bool) {
    let all = inputs.compactMap(\.status)
    guard let first = all.first else { return (.loaded, true) }
    return (
      all.dropFirst().reduce(first.status) { $0.worse($1.status) }, all.allSatisfy(\.hasLoaded)
    )
  }
}
