public import Diffing
package import ReactiveSignals
import SwappablePrimitives

/// A collection that can be edited and observed.
///
///     let names = CollectionProperty(["Ada", "Grace"])
///     let observation = names.observe { event in … }   // initial
///     names.append("Edsger")                           // change: inserted at 2
///
/// Edits tell exactly what was done; several in one `transaction` are told as one change. Everything may
/// be called from any thread.
public final class CollectionProperty<Element: Differentiable & Sendable>: @unchecked Sendable {
  // Sendable: `openDraft` and `prepared` are accessed only by the thread inside `gate`.

  public let collection: LiveCollection<Element>
  private let root: CollectionNode<Element>
  private let gate = RecursiveGate()
  private var openDraft: CollectionDraft<Element>?
  /// The net change of a transaction over several roots, between its preparation and its commit.
  private var prepared: (draft: CollectionDraft<Element>?, update: CollectionUpdate<Element>?)?

  /// Makes a collection.
  ///
  /// - Parameters:
  ///   - elements: What it holds at first.
  ///   - status: How the source that feeds it is doing; `.loaded` for one that is its own source.
  public convenience init(_ elements: some Sequence<Element>, status: SourceStatus = .loaded) {
    self.init(elements, status: status, pauseHook: nil)
  }

  /// Makes an empty collection.
  ///
  /// - Parameter status: How the source that feeds it is doing.
  public convenience init(status: SourceStatus = .loaded) {
    self.init(EmptyCollection(), status: status, pauseHook: nil)
  }

  package init(
    _ elements: some Sequence<Element>, status: SourceStatus = .loaded, pauseHook: PauseHook?
  ) {
    let snapshot = Snapshot(elements)
    root = CollectionNode(
      domain: Domain(pauseHook: pauseHook),
      state: CollectionState(
        snapshot, revision: 0, status: status,
        hasLoaded: status.state == .loaded || !snapshot.isEmpty))
    collection = LiveCollection(root)
  }

  /// Edits the collection in one step: one revision and one event for all that `body` does.
  ///
  /// The body is synchronous and works on a draft that nobody else sees. Inside it, edits of this
  /// collection on the same thread join the same draft; other threads' edits wait. If it throws, its
  /// own part is rolled back and nothing is sent.
  ///
  /// - Parameter body: Edits the draft.
  /// - Returns: What `body` returns.
  @discardableResult
  public func transaction<Result, Failure: Error>(
    _ body: (CollectionDraft<Element>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try perform(canFail: true, body)
  }

  /// Like `transaction`, for a body that cannot fail: it needs no savepoint.
  package func edit<Result>(_ body: (CollectionDraft<Element>) -> Result) -> Result {
    perform(canFail: false, body)
  }

  /// Sets contents and status in one step: what differs is one change, and the status step follows it.
  ///
  /// - Parameters:
  ///   - elements: The new contents; elements of the same identity are kept.
  ///   - status: How the source is doing now.
  public func publish(_ elements: some Sequence<Element>, status: SourceStatus) {
    edit { draft in
      draft.replace(with: elements)
      draft.newStatus = status
    }
  }

  /// Does what a changeset says and sets the status, in one step.
  ///
  /// - Parameters:
  ///   - changeset: What to do. Its offsets fit the newest committed contents, or the open draft's.
  ///   - inserted: What comes at its insertions, in their order.
  ///   - updated: What its updated elements become, in their order.
  ///   - status: How the source is doing now.
  /// - Complexity: O(k log n) for k operations on n elements.
  package func publish(
    _ changeset: Changeset, inserted: some Collection<Element>,
    updated: some Collection<Element>, status: SourceStatus
  ) {
    edit { draft in
      draft.apply(changeset, inserted: inserted, updated: updated)
      draft.newStatus = status
    }
  }

  /// Sets the status, leaving the contents as they are.
  public func setStatus(_ status: SourceStatus) {
    edit { $0.newStatus = status }
  }

  private func perform<Result, Failure: Error>(
    canFail: Bool, _ body: (CollectionDraft<Element>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let thread = ThreadID.current
    let context = ThreadContext.current
    if gate.isOwned(by: thread) {
      guard let draft = openDraft else {
        preconditionFailure("a collection is edited inside an element's own comparison")
      }
      return try run(body, on: draft, canFail ? draft.savepoint : nil)
    }
    gate.enter(as: thread)
    let draft = CollectionDraft(root.current.snapshot)
    openDraft = draft
    context.transactionDepth += 1
    if let transaction = context.transaction {
      // The transaction commits or rolls back at its end, and leaves the gate.
      transaction.add(self)
      context.transactionDepth -= 1
      return try run(body, on: draft, canFail ? draft.savepoint : nil)
    }
    context.openTransactions.append(self)
    // What the draft lets go of last may run code that edits this collection: the gate is left then.
    defer { withExtendedLifetime(draft) {} }
    let result: Result
    do {
      result = try body(draft)
    } catch {
      context.openTransactions.removeLast()
      context.transactionDepth -= 1
      rollBack()
      throw error
    }
    context.openTransactions.removeLast()
    context.transactionDepth -= 1
    let (mustDeliver, released) = commit(prepare(), tickets: [])
    withExtendedLifetime(released) {}
    if mustDeliver { root.domain.deliver() }
    return result
  }

  private func run<Result, Failure: Error>(
    _ body: (CollectionDraft<Element>) throws(Failure) -> Result,
    on draft: CollectionDraft<Element>, _ savepoint: CollectionDraft<Element>.Savepoint?
  ) throws(Failure) -> Result {
    do {
      return try body(draft)
    } catch {
      if let savepoint { draft.restore(savepoint) }
      throw error
    }
  }
}

extension CollectionProperty {
  /// Closes the draft, and returns its net change or `nil`.
  private func prepare() -> CollectionUpdate<Element>? {
    guard let draft = openDraft else { return nil }
    openDraft = nil
    let contents = draft.outcome()
    let status = draft.newStatus
    draft.close()
    if contents == nil, status == nil { return nil }
    // Only the thread inside the gate commits.
    let state = root.current
    return state.advanced(to: contents, status: status ?? state.status)
  }

  /// Commits an update and leaves the gate.
  ///
  /// - Returns: Whether this thread must deliver, and objects to be released.
  private func commit(
    _ update: CollectionUpdate<Element>?, tickets: [Ticket]
  ) -> (mustDeliver: Bool, released: (StateBox<Element>, Event?)?) {
    let thread = ThreadID.current
    guard let update else {
      gate.leave(as: thread)
      return (false, nil)
    }
    // The update holds the snapshot before it. The status before it is held here.
    let before = root.currentBox
    let (mustDeliver, released) = root.domain.withLock { state in
      root.commit(update, tickets: tickets, by: thread, &state)
    }
    gate.leave(as: thread)
    return (mustDeliver, (before, released))
  }

  /// Discards the draft and leaves the gate.
  ///
  /// - Returns: The draft, which the caller releases last.
  @discardableResult
  private func rollBack() -> CollectionDraft<Element>? {
    let draft = openDraft
    openDraft = nil
    draft?.close()
    gate.leave(as: .current)
    return draft
  }
}

extension CollectionProperty: TransactionParticipant {
  package var domain: Domain { root.domain }

  package func prepareCommit() -> Bool {
    let draft = openDraft
    let update = prepare()
    prepared = (draft, update)
    return update != nil
  }

  package func commitTransaction(tickets: [Ticket]) -> (mustDeliver: Bool, released: Any) {
    let prepared = prepared
    self.prepared = nil
    let (mustDeliver, released) = commit(prepared?.update, tickets: tickets)
    return (mustDeliver, (prepared, released))
  }

  package func rollBackTransaction() -> Any {
    rollBack() as Any
  }

  package func saveTransaction() -> () -> Any {
    guard let draft = openDraft else { return { () } }
    let savepoint = draft.savepoint
    return { draft.restore(savepoint) }
  }
}
