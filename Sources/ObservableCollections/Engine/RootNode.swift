package import Diffing
package import ReactiveSignals
package import SwappablePrimitives

/// The node of a root: it has a newest state beside the published one, and a queue between the two.
package class RootNode<Element: Differentiable & Sendable>: CollectionNode<Element>,
  @unchecked Sendable
{
  // Sendable: `committed` and `queue` are guarded by the domain's lock.

  private var committed: StateBox<Element>
  private var queue = EventQueue()

  package init(domain: Domain, state: CollectionState<Element>) {
    committed = StateBox(state)
    super.init(domain: domain, height: 0, state: state)
  }

  package override var currentBox: StateBox<Element> {
    let event: Event = domain.withLock { _ in committed }
    return unsafeDowncast(event, to: StateBox<Element>.self)
  }

  /// The newest state, under the lock.
  package func committed(_ state: inout Domain.State) -> StateBox<Element> { committed }

  /// Commits what follows on the newest state.
  ///
  /// - Parameters:
  ///   - update: What to commit. The caller holds the one committed before, which is let go here.
  ///   - thread: Who is to deliver it, if nobody does already; nil puts delivery off.
  /// - Returns: Whether the caller must drain, once unlocked.
  package func commit(
    _ update: CollectionUpdate<Element>, by thread: ThreadID?, _ state: inout Domain.State
  ) -> Bool {
    committed = update.box
    queue.append(update)
    return state.enqueued(by: thread)
  }

  package override func begin(with state: CollectionState<Element>) {
    let first = StateBox(state)
    let replaced = domain.withLock { _ in
      let replaced = committed
      committed = first
      return replaced
    }
    withExtendedLifetime(replaced) { super.begin(with: state) }
  }

  package override func pop(_ state: inout Domain.State) -> UInt64 {
    guard let next = queue.popFirst() else { return 0 }
    update = .read(next)
    return 1
  }
}
