package import Diffing
package import ReactiveSignals

/// The node of a root: it has a newest state beside the published one, and a queue between the two.
package class RootNode<Element: Differentiable & Sendable>: CollectionNode<Element>,
  @unchecked Sendable
{
  // Sendable: `committed` and `queue` are guarded by the domain's lock.

  private var committed: CollectionState<Element>
  private var queue = Queue<CollectionUpdate<Element>>()

  package init(domain: Domain, state: CollectionState<Element>) {
    committed = state
    super.init(domain: domain, height: 0, state: state)
  }

  package override var current: CollectionState<Element> {
    domain.withLock { _ in committed }
  }

  /// The newest state, under the lock.
  package func committed(_ state: inout Domain.State) -> CollectionState<Element> { committed }

  /// Commits the next state; the caller drains, once unlocked, if it is told to.
  ///
  /// - Parameters:
  ///   - contents: The new contents and what differs; nil where nothing does.
  ///   - status: The new status; nil leaves it.
  ///   - hasLoaded: Whether good contents are there, whatever the status.
  /// - Returns: Whether the caller must drain, and the state before, to be released unlocked.
  package func commit(
    _ contents: (snapshot: Snapshot<Element>, changeset: Changeset)?, status: SourceStatus?,
    hasLoaded: Bool = false, by thread: ThreadID, _ state: inout Domain.State
  ) -> (mustDrain: Bool, before: CollectionState<Element>) {
    let before = committed
    let update = committed.advance(
      to: contents, status: status ?? before.status, hasLoaded: hasLoaded)
    guard let update else { return (false, before) }
    queue.append(update)
    return (state.enqueued(by: thread), before)
  }

  package override func pop(_ state: inout Domain.State) -> UInt64 {
    guard let next = queue.popFirst() else { return 0 }
    update = next
    return 1
  }
}
