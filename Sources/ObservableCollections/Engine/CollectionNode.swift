package import Diffing
package import ReactiveSignals

/// The node of a collection: a root's, or that of an operator's result.
package class CollectionNode<Element: Differentiable & Sendable>: DomainNode,
  @unchecked Sendable
{
  // Sendable: the constants are; `published` is guarded by the domain's lock; `update` and `previous` are owned by the
  // drainer; the lists say of themselves.

  package let domain: Domain
  package let height: Int

  /// Boundaries of other domains; told before any observer.
  package let feeders: ObserverList
  package let observers: ObserverList
  /// Those who follow the status; told after the observers of the contents.
  package let statusObservers: ObserverList

  /// Those who have read the contents, the status, and both together; told before the observers.
  package let contentsTracking = Tracking()
  package let statusTracking = Tracking()
  package let stateTracking = Tracking()

  /// What observers have been told last, or are being told.
  private var published: StateBox<Element>
  /// What the round in progress brings; nil where nothing changes.
  package var update: CollectionUpdate<Element>?
  /// Kept until the round is over, so that nothing is released under the lock.
  private var previous: StateBox<Element>?

  package init(domain: Domain, height: Int, state: CollectionState<Element>) {
    feeders = ObserverList(domain: domain)
    observers = ObserverList(domain: domain)
    statusObservers = ObserverList(domain: domain)
    published = StateBox(state)
    self.domain = domain
    self.height = height
  }

  package var upstream: [any DomainNode] { [] }

  /// What observers have been told.
  package func published(_ state: inout Domain.State) -> StateBox<Element> { published }

  /// The newest contents: of a root also what is committed and not yet delivered.
  package final var current: CollectionState<Element> { currentBox.state }

  /// The same as an object.
  package var currentBox: StateBox<Element> {
    // Out of the lock as an object of whatever type: code that is not specialised would look the type up.
    let event: Event = domain.withLock { _ in published }
    return unsafeDowncast(event, to: StateBox<Element>.self)
  }

  /// Sets what a node that nobody can observe yet begins with.
  package func begin(with state: CollectionState<Element>) {
    let first = StateBox(state)
    let replaced = domain.withLock { _ in
      let replaced = published
      published = first
      return replaced
    }
    _ = consume replaced
  }

  // MARK: Rounds

  package func pop(_ state: inout Domain.State) -> UInt64 { 0 }

  package func recordInputs(_ state: inout Domain.State) {}

  package var isComputed: Bool { true }

  package func compute() {}

  package func publish(_ state: inout Domain.State) {
    guard let update else { return }
    previous = published
    published = update.box
    feeders.publish(update, &state)
    if update.change != nil { observers.publish(update, &state) }
    if update.isStatusStep { statusObservers.publish(update, &state) }
  }

  package func feed(_ round: UInt64) {
    feeders.deliver(round)
  }

  package func deliver(_ round: UInt64) {
    if contentsTracking.isRead, update?.change != nil { contentsTracking.hasChanged() }
    if statusTracking.isRead, update?.isStatusStep == true { statusTracking.hasChanged() }
    if update != nil { stateTracking.hasChanged() }
    observers.deliver(round)
    statusObservers.deliver(round)
  }

  package func endRound() {
    feeders.endRound()
    observers.endRound()
    statusObservers.endRound()
    update = nil
    previous = nil
  }
}
