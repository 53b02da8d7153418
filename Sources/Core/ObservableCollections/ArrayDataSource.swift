public import Diffing
public import ReactiveSignals
public import SwappablePrimitives

/// A list in memory that you can edit and observe.
///
///     let names = ArrayDataSource(["Ada", "Grace"])
///     let observation = names.observe { event in … }   // initial
///     names.append("Edsger")                           // change: inserted at 2
///     names.replace(with: ["Edsger", "Ada"])           // change: one deletion and one move
///
/// Observers receive exactly the edits that you make. To deliver several edits as one change, make
/// them in a ``EditableDataSource/transaction(_:)``. All methods can be called from any thread.
// The way of an edit: `edit` enters the gate and edits a new draft; `prepare` closes the draft and computes its net
// change; `Node.commit` queues the change in the domain; after the gate is left, `Domain.deliver` runs a pass.
public final class ArrayDataSource<Element: Differentiable & Sendable>: @unchecked Sendable {
  // Sendable: `openDraft`, `closedDraft`, `index`, `places`, `placeOffsets`, `prepared` and `preparedDraft` are accessed only
  // by the thread inside `gate`. Access to the first five is not checked for exclusivity at run time: they are read and
  // written whole, and a draft that one of them releases is held by its caller.

  public let collection: LiveCollection<Element>
  @usableFromInline let gate = RecursiveGate()
  @exclusivity(unchecked) @usableFromInline var openDraft: CollectionDraft<Element>?
  /// The draft of the last commit, which has the committed contents. The next edit uses it again, unless somebody has
  /// kept it.
  @exclusivity(unchecked) @usableFromInline var closedDraft: CollectionDraft<Element>?
  /// The index of identities, while no draft is open.
  @exclusivity(unchecked) @usableFromInline var index: IdentityIndex<Element>?
  /// The places of elements that are being changed, while no draft is open.
  @exclusivity(unchecked) @usableFromInline var places: [ElementPlace] = []
  /// The offsets of these places before the edits of the open draft.
  @exclusivity(unchecked) @usableFromInline var placeOffsets: [Int?] = []
  /// The net change of a transaction over several roots, between its preparation and its commit.
  @usableFromInline var prepared: CollectionUpdate<Element>?
  /// The draft of the same transaction over several roots, which is released after its commit.
  @usableFromInline var preparedDraft: CollectionDraft<Element>?

  /// Creates a collection.
  ///
  /// - Parameters:
  ///   - elements: The initial elements.
  ///   - status: The initial status. The default, `.loaded`, fits a collection that no other source
  ///     feeds.
  public convenience init(_ elements: some Sequence<Element>, status: SourceStatus = .loaded) {
    self.init(elements, status: status, pauseHook: nil)
  }

  /// Creates an empty collection.
  ///
  /// - Parameter status: The initial status.
  public convenience init(status: SourceStatus = .loaded) {
    self.init(EmptyCollection(), status: status, pauseHook: nil)
  }

  package init(
    _ elements: some Sequence<Element>, status: SourceStatus = .loaded, pauseHook: PauseHook?
  ) {
    let snapshot = Snapshot(elements)
    let state = CollectionState(
      snapshot, revision: 0, status: status,
      hasLoaded: status.state == .loaded || !snapshot.isEmpty)
    collection = LiveCollection(
      Node(
        domain: Domain(pauseHook: pauseHook), state: StateBox(state),
        type: ArrayDataSource<Element>.self))
  }

  /// Like ``EditableDataSource/transaction(_:)``, but for a closure that cannot fail, which needs no savepoint.
  @inlinable
  package func edit<Result>(_ body: (CollectionDraft<Element>) -> Result) -> Result {
    perform(canFail: false, body)
  }

  /// Sets the contents and the status in one step.
  ///
  /// The difference is one change, which is delivered before the status. A failed or missing source that
  /// has elements has loaded before.
  ///
  /// - Parameters:
  ///   - elements: The new contents. Elements of the same identity are kept.
  ///   - status: The new status.
  public func publish(_ elements: some Sequence<Element>, status: SourceStatus) {
    edit { draft in
      draft.replace(with: elements)
      draft.newStatus = status
    }
  }

  /// Sets the status and keeps the contents.
  public func setStatus(_ status: SourceStatus) {
    edit { $0.newStatus = status }
  }

  @inlinable
  func perform<Result, Failure: Error>(
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
    return try performOnNewDraft(canFail: canFail, thread, context, body)
  }

  /// Returns the offset of the first element with an identity: in the transaction of this thread, or else in the
  /// committed contents, without waiting for other threads.
  @inlinable
  func firstOffset(identifiedBy identifier: Element.DifferenceIdentifier) -> Int? {
    let (thread, context) = (ThreadID.current, ThreadContext.current)
    if gate.isOwned(by: thread) {
      // Without a draft, an element searches while it is compared at the end of the transaction.
      if let openDraft { return openDraft.firstIndex(identifiedBy: identifier) }
    } else if context.transaction != nil {
      return edit { $0.firstIndex(identifiedBy: identifier) }
    } else if gate.tryEnter(as: thread) {
      return performOnNewDraft(canFail: false, thread, context) {
        $0.firstIndex(identifiedBy: identifier)
      }
    }
    return collection.snapshot.firstIndex(identifiedBy: identifier)
  }

  /// Edits a new draft, after this thread has entered the gate.
  @inlinable
  func performOnNewDraft<Result, Failure: Error>(
    canFail: Bool, _ thread: ThreadID, _ context: ThreadContext,
    _ body: (CollectionDraft<Element>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let draft = makeDraft()
    (draft.index, index) = (index, nil)
    placeOffsets = places.map { $0.offset }
    (draft.places, places) = (places, [])
    openDraft = draft
    if let transaction = context.transaction {
      // The transaction commits or rolls back at its end, and leaves the gate.
      transaction.add(self)
      return try run(body, on: draft, canFail ? draft.savepoint : nil)
    }
    context.beginTransaction(of: self)
    // Releasing the draft may run code that edits this collection, so this happens after the gate
    // is left.
    defer { withExtendedLifetime(draft) {} }
    let result: Result
    do {
      result = try body(draft)
    } catch {
      context.endTransaction()
      rollBack()
      throw error
    }
    context.endTransaction()
    let update = prepare()
    let released = update.map { collection.node.commit($0, tickets: []) }
    gate.leave(as: thread)
    withExtendedLifetime(released) {}
    if update != nil { domain.deliver() }
    return result
  }

  /// Returns an open draft with the committed contents.
  @inlinable
  func makeDraft() -> CollectionDraft<Element> {
    let contents = collection.current.state.snapshot
    let isFree = isKnownUniquelyReferenced(&closedDraft)
    // Releasing other contents may run code that edits this collection.
    guard isFree, let draft = closedDraft, draft.working.isIdentical(to: contents.storage) else {
      return CollectionDraft(contents)
    }
    closedDraft = nil
    draft.reopen(with: contents)
    return draft
  }

  @inlinable
  func run<Result, Failure: Error>(
    _ body: (CollectionDraft<Element>) throws(Failure) -> Result,
    on draft: CollectionDraft<Element>, _ savepoint: CollectionDraft<Element>.Savepoint?
  ) throws(Failure) -> Result {
    let context = ThreadContext.current
    context.willEdit(self)
    // The body of `transaction(_:)` may edit the draft inside further transactions.
    if savepoint != nil { context.beginTransaction(of: self) }
    defer { if savepoint != nil { context.endTransaction() } }
    do {
      return try body(draft)
    } catch {
      if let savepoint { draft.restore(savepoint) }
      throw error
    }
  }
}

extension ArrayDataSource {
  /// Closes the draft, and returns its net change or `nil`.
  @inlinable
  func prepare() -> CollectionUpdate<Element>? {
    guard let draft = openDraft else { return nil }
    openDraft = nil
    // Only the thread inside the gate commits.
    let state = collection.current.state
    let changeset = draft.finish()
    closedDraft = draft
    index = draft.index?.isStale == false ? draft.index : nil
    (places, draft.places) = (draft.places, [])
    // A failed source that has elements has loaded before.
    let status = draft.newStatus.map {
      ($0, draft.hasLoaded || $0.error != nil && !draft.contents.isEmpty)
    }
    if let error = status?.0.error { collection.record(error) }
    return state.advanced(to: draft.contents, by: changeset, status)
  }

  /// Discards the draft and leaves the gate.
  ///
  /// - Returns: The draft, which the caller releases last.
  @discardableResult
  @usableFromInline
  func rollBack() -> CollectionDraft<Element>? {
    let draft = openDraft
    openDraft = nil
    if let draft {
      draft.close()
      (places, draft.places) = (draft.places, [])
      places.restore(placeOffsets)
      // After edits, the next search creates another index.
      if draft.contents.storage.isIdentical(to: collection.current.state.snapshot.storage) {
        index = draft.index
      } else {
        draft.index?.invalidate()
      }
    }
    gate.leave(as: .current)
    return draft
  }
}

extension ArrayDataSource: TransactionParticipant {
  @usableFromInline package var domain: Domain { collection.node.domain }

  @usableFromInline
  package func prepareCommit() -> Bool {
    preparedDraft = openDraft
    prepared = prepare()
    return prepared != nil
  }

  @usableFromInline
  package func commitTransaction(tickets: [Ticket]) -> Any {
    let (update, draft) = (prepared, preparedDraft)
    (prepared, preparedDraft) = (nil, nil)
    let released = update.map { collection.node.commit($0, tickets: tickets) }
    gate.leave(as: .current)
    return (draft, released)
  }

  @usableFromInline
  package func rollBackTransaction() -> Any {
    let draft = rollBack()
    return draft as Any
  }

  @usableFromInline
  package func saveTransaction() -> () -> Any {
    guard let draft = openDraft else { return { () } }
    let savepoint = draft.savepoint
    return { draft.restore(savepoint) }
  }
}

extension ArrayDataSource: EditableDataSource {
  @inlinable public var list: ArrayDataSource<Element> { self }
}
