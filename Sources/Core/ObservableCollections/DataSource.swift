public import Diffing
public import ReactiveSignals

/// A live, ordered, read-only collection that can be observed, and its status.
///
/// A data source has one requirement: a live collection, which it feeds.
///
///     final class ClockSource: DataSource {
///       private let contents = ArrayDataSource<Int>()
///       var collection: LiveCollection<Int> { contents.collection }
///       func tick(_ now: Int) { contents.append(now) }
///     }
///
/// A source that reads something else publishes it through a ``SourceWriter``. To see what a source has, print it.
public protocol DataSource<Element>: AnyObject, Sendable, CustomStringConvertible, CustomReflectable
{
  /// The type of the elements. Identity and content of an element determine how changes are described.
  associatedtype Element: Differentiable & Sendable

  /// The collection that this source feeds. It is always the same object.
  var collection: LiveCollection<Element> { get }

  /// Starts an idle source.
  ///
  /// Each observer calls this method before it subscribes, on any thread. A source that has started
  /// ignores the call. The default implementation does nothing.
  func start()
}

extension DataSource {
  public func start() {}

  /// The contents, the revision and the status at one moment.
  public var state: CollectionState<Element> {
    collection.node.tracking.willRead()
    return collection.current.state
  }

  /// The newest contents: those committed last, or for a derived collection, those that it has published last.
  public var snapshot: Snapshot<Element> { contents.state.snapshot }

  /// The number of committed elements.
  public var count: Int { contents.state.snapshot.count }

  /// A Boolean value that indicates whether the committed contents are empty.
  public var isEmpty: Bool { contents.state.snapshot.isEmpty }

  /// The newest committed element at an offset.
  ///
  /// - Parameter index: The offset of an element.
  public subscript(index: Int) -> Element { snapshot[index] }

  /// The revision of ``snapshot``.
  public var revision: Int { contents.state.revision }

  /// The status of the source.
  public var status: SourceStatus {
    collection.node.statusObservers.tracking.willRead()
    return collection.current.state.status
  }

  /// The state, of which the caller does not read the status.
  private var contents: StateBox<Element> {
    collection.node.observers.tracking.willRead()
    return collection.current
  }

  /// Observes the contents.
  ///
  /// The observer receives one `initial` event with the current contents, and then each change. An
  /// immediate observer receives the `initial` event before this method returns. The observer may edit,
  /// swap, subscribe and dispose. Its edits are delivered after all observers have received the
  /// current event.
  ///
  /// - Parameters:
  ///   - scheduler: Where to call the observer. The default, `.immediate`, calls it on the thread that edits.
  ///   - policy: How to buffer changes for an observer that is not called immediately. By default, all
  ///     changes that wait become one.
  ///   - handler: The observer. It is never called concurrently with itself.
  /// - Returns: A handle that keeps the observation and everything upstream alive. Releasing it ends the
  ///   observation.
  /// - Complexity: O(1), for any number of elements and observers.
  public func observe(
    on scheduler: DeliveryScheduler = .immediate, policy: DeliveryPolicy = .coalesce,
    _ handler: @escaping @Sendable (CollectionEvent<Element>) -> Void
  ) -> Disposable {
    start()
    let node = collection.node
    let observation: Observation
    if let schedule = scheduler.schedule {
      let resolver = PendingEventResolver<Element>()
      let mailbox = Mailbox<PendingEvent<Element>>(on: schedule, policy: policy) { event, mailbox in
        // The observation may be disposed while merged changes are compared.
        if let event = resolver.resolve(event), !mailbox.isOver { handler(event) }
      }
      observation = collection.observePending(mailbox: mailbox) { mailbox.post($0) }
    } else {
      observation = node.observers.subscribe(
        // This list receives only updates that have a change.
        { event in handler(.change(CollectionChange(.read(event)))) },
        capture: { _ in node.published },
        first: { event in
          let state = StateBox<Element>.read(event).state
          handler(.initial(state.snapshot, revision: state.revision))
        })
    }
    return Disposable(observation, keeping: self)
  }

  /// Observes the contents on the main actor.
  ///
  /// - Parameters:
  ///   - policy: How to buffer changes for the observer. By default, all changes that wait become one.
  ///   - handler: The observer.
  /// - Returns: A handle that keeps the observation and everything upstream alive. Releasing it ends the
  ///   observation.
  public func observeOnMainActor(
    policy: DeliveryPolicy = .coalesce,
    _ handler: @escaping @MainActor @Sendable (CollectionEvent<Element>) -> Void
  ) -> Disposable {
    observe(on: .mainActor, policy: policy) { event in
      MainActor.assumeIsolated { handler(event) }
    }
  }

  /// Observes the contents without their changes.
  ///
  /// The observer receives the current contents first, and then the latest contents after each
  /// change. If it is not called immediately, at most one snapshot is pending, and no difference is
  /// computed. Two successive snapshots may be equal, if the changes between them cancel each other
  /// out.
  ///
  /// - Parameters:
  ///   - scheduler: Where to call the observer. The default, `.immediate`, calls it on the thread that edits.
  ///   - handler: The observer. It is never called concurrently with itself.
  /// - Returns: A handle that keeps the observation and everything upstream alive. Releasing it ends the
  ///   observation.
  /// - Complexity: O(1) for each event.
  public func observeSnapshots(
    on scheduler: DeliveryScheduler = .immediate,
    _ handler: @escaping @Sendable (Snapshot<Element>) -> Void
  ) -> Disposable {
    guard let schedule = scheduler.schedule else {
      return observe { event in handler(event.snapshot) }
    }
    start()
    let mailbox = Mailbox<LatestValue<Snapshot<Element>>>(on: schedule, policy: .coalesce) {
      latest, _ in
      handler(latest.value)
    }
    let observation = collection.observePending(mailbox: mailbox) {
      mailbox.post(LatestValue(value: $0.end.snapshot))
    }
    return Disposable(observation, keeping: self)
  }

  /// Observes the status: the current status first, and then each step.
  ///
  /// This method starts an idle source. If a commit has a change and a status step, immediate observers of
  /// the contents receive the change first. The change can also be a later commit: after an interruption, a
  /// remote list is `loaded` before it receives the missed change.
  ///
  /// - Parameters:
  ///   - scheduler: Where to call the observer. The default, `.immediate`, calls it on the thread that edits.
  ///     Elsewhere, only the latest pending status is delivered.
  ///   - handler: The observer. It is never called concurrently with itself.
  /// - Returns: A handle that keeps the observation and everything upstream alive. Releasing it ends the
  ///   observation.
  public func observeStatus(
    on scheduler: DeliveryScheduler = .immediate,
    _ handler: @escaping @Sendable (SourceStatus) -> Void
  ) -> Disposable {
    guard let schedule = scheduler.schedule else {
      return observeState { handler($0.status) }
    }
    let mailbox = Mailbox<LatestValue<SourceStatus>>(on: schedule, policy: .coalesce) {
      latest, _ in
      handler(latest.value)
    }
    return observeState(mailbox: mailbox) { mailbox.post(LatestValue(value: $0.status)) }
  }

  /// Observes the status, and receives the whole state at each step.
  package func observeState(
    mailbox: (any MailboxFlushing)? = nil,
    _ handler: @escaping @Sendable (CollectionState<Element>) -> Void
  ) -> Disposable {
    start()
    let node = collection.node
    let observation = node.statusObservers.subscribe(
      { handler(CollectionUpdate<Element>.read($0).box.state) }, mailbox: mailbox,
      capture: { _ in node.published },
      first: { handler(StateBox<Element>.read($0).state) })
    return Disposable(observation, keeping: self)
  }
}

/// A live, ordered, read-only collection.
///
/// An ``ArrayDataSource``, an operator or a container creates it. It is the end of a data source that
/// observers see.
public final class LiveCollection<Element: Differentiable & Sendable>: DataSource {
  @usableFromInline package let node: Node
  /// The objects that it is made from.
  // Unsafe: only the deinitializer uses them after the initializer.
  nonisolated(unsafe) private var upstream: [Any]

  @usableFromInline
  package init(_ node: Node, upstream: [any AnyObject & Sendable] = []) {
    (self.node, self.upstream) = (node, upstream)
  }

  deinit {
    node.leave()
    ThreadContext.current.release(&upstream)
  }

  /// The newest state, delivered or not.
  @inlinable package var current: StateBox<Element> { .read(node.current) }

  /// This collection.
  @inlinable public var collection: LiveCollection<Element> { self }
}

extension DataSource {
  /// Binds another collection to this one.
  ///
  /// The binding first makes the target equal to this collection, and then applies each change to it: moves
  /// stay moves, and updates stay updates. The target may be edited meanwhile. The next change of this
  /// collection makes it equal again.
  ///
  /// - Parameter target: The collection that follows. The binding does not keep it alive.
  /// - Returns: A handle that keeps the binding and this source alive. Releasing it ends the binding.
  public func bind(to target: some EditableDataSource<Element>) -> Disposable {
    let follower = BindingTarget(target.list)
    return observe { follower.follow($0) }
  }
}

/// A collection that is written by a binding.
private final class BindingTarget<Element: Differentiable & Sendable>: @unchecked Sendable {
  // Sendable: one call of the observer at a time accesses `written`.

  private weak let target: ArrayDataSource<Element>?
  /// The contents that the binding has written last.
  private var written: Snapshot<Element>?

  init(_ target: ArrayDataSource<Element>) {
    self.target = target
  }

  func follow(_ event: CollectionEvent<Element>) {
    target?.edit { draft in
      if case .change(let change) = event, let written,
        draft.snapshot.hasSameContents(as: written)
      {
        draft.replace(with: change.after, by: change.changeset)
      } else {
        draft.replace(with: event.snapshot)
      }
    }
    written = event.snapshot
  }
}

extension MainActorState {
  /// Creates a state that follows the contents of a collection.
  ///
  ///     let tasks = MainActorState(container)
  ///     var body: some View { List(tasks.value) { … } }
  ///
  /// - Parameter source: The collection. If it is idle, it is started.
  /// - Complexity: O(1) for each event. No difference is computed.
  public convenience init<Element: Differentiable & Sendable>(
    _ source: any DataSource<Element>
  ) where Value == Snapshot<Element> {
    self.init(source.collection.current.state.snapshot) { scheduler, handler in
      source.observeSnapshots(on: scheduler, handler)
    }
  }
}

extension DataSource {
  /// Returns the events as an asynchronous sequence: `initial` first, and then the changes.
  ///
  ///     for await event in container.events() { … }
  ///
  /// Each iteration is an observation of its own. It begins with `makeAsyncIterator()`, and ends if the task
  /// is canceled or the iterator is released.
  ///
  /// - Parameter policy: How to buffer changes while the body of the loop is busy. By default, all pending
  ///   changes become one.
  public func events(
    policy: DeliveryPolicy = .coalesce
  ) -> ValueSequence<CollectionEvent<Element>> {
    ValueSequence(policy) { [self] (inbox: Inbox<PendingEvent<Element>>) in
      start()
      return Disposable(collection.observePending { inbox.post($0) }, keeping: self)
    } read: {
      let resolver = PendingEventResolver<Element>()
      return { (item: PendingEvent<Element>) in (resolver.resolve(item), false) }
    }
  }

  /// Returns the contents as an asynchronous sequence.
  ///
  /// The current contents come first, and then the latest contents after each change.
  ///
  ///     for await contents in container.snapshots() { … }
  ///
  /// Use this to show or store the whole list. No difference is computed, and at most one snapshot is
  /// pending while the body of the loop is busy.
  public func snapshots() -> ValueSequence<Snapshot<Element>> {
    values(.coalesce) { [self] post in observeSnapshots { post($0) } }
  }

  /// Returns the statuses as an asynchronous sequence.
  ///
  /// The current status comes first, and then the latest status after each step. An iteration starts an idle
  /// source.
  ///
  ///     for await status in source.statuses() { … }
  ///
  /// At most one status is pending while the body of the loop is busy.
  public func statuses() -> ValueSequence<SourceStatus> {
    values(.coalesce) { [self] post in observeStatus { post($0) } }
  }

  /// Returns the values of an observation as an asynchronous sequence. Of merged ones, the latest is delivered.
  func values<Value>(
    _ policy: DeliveryPolicy,
    _ observe: @escaping @Sendable (@escaping @Sendable (Value) -> Void) -> Disposable
  ) -> ValueSequence<Value> {
    ValueSequence(policy) { (inbox: Inbox<LatestValue<Value>>) in
      observe { inbox.post(LatestValue(value: $0)) }
    } read: {
      { (item: LatestValue<Value>) in (item.value, false) }
    }
  }
}
