public import Diffing
public import ReactiveSignals

/// A live, ordered, read-only collection that can be observed, and its status.
///
/// One requirement makes a data source: the read-only end of a collection that it feeds.
///
///     final class ClockSource: DataSource {
///       private let contents = CollectionProperty<Int>()
///       var collection: LiveCollection<Int> { contents.collection }
///       func tick(_ now: Int) { contents.append(now) }
///     }
public protocol DataSource<Element>: AnyObject, Sendable {
  /// What it holds: identity and content of an element tell what becomes of it.
  associatedtype Element: Differentiable & Sendable

  /// The read-only end of the collection that this source feeds; always the same object.
  var collection: LiveCollection<Element> { get }

  /// Starts an idle source.
  ///
  /// Called whenever somebody is about to attach, on any thread: what has started does nothing. The
  /// default does nothing.
  func start()
}

extension DataSource {
  public func start() {}

  /// Contents, revision and status, read together.
  public var state: CollectionState<Element> {
    let node = collection.node
    node.stateTracking.willRead()
    return node.current
  }

  /// The newest committed contents.
  public var snapshot: Snapshot<Element> { contents.state.snapshot }

  /// The number of elements committed.
  public var count: Int { contents.state.snapshot.count }

  /// Whether no element is committed.
  public var isEmpty: Bool { contents.state.snapshot.isEmpty }

  /// The newest committed element at an offset.
  ///
  /// - Parameter index: Its offset; it traps if there is none.
  public subscript(index: Int) -> Element { snapshot[index] }

  /// The revision of ``snapshot``.
  public var revision: Int { contents.state.revision }

  /// How the source is doing.
  public var status: SourceStatus {
    let node = collection.node
    node.statusTracking.willRead()
    return node.currentBox.state.status
  }

  /// The state, for who reads no status.
  private var contents: StateBox<Element> {
    let node = collection.node
    node.contentsTracking.willRead()
    return node.currentBox
  }

  /// Subscribes to the contents.
  ///
  /// The observer gets exactly one `initial` first, with the present contents, and then each change.
  /// Called immediately, it has had the `initial` when this returns. It may change, swap, subscribe and
  /// dispose whatever it likes: what it changes here is delivered after all observers have had the
  /// present event.
  ///
  /// - Parameters:
  ///   - scheduler: Where the observer is called.
  ///   - policy: What becomes of changes that wait; by default they become one. It matters only where
  ///     the observer is called elsewhere.
  ///   - handler: The observer; never called concurrently with itself.
  /// - Returns: What keeps the observation and everything upstream alive; letting it go ends it.
  /// - Complexity: O(1), however many elements and observers there are.
  public func observe(
    on scheduler: Scheduler = .immediate, policy: DeliveryPolicy = .coalesce,
    _ handler: @escaping @Sendable (CollectionEvent<Element>) -> Void
  ) -> Disposable {
    start()
    let node = collection.node
    let observation: Observation
    if let schedule = scheduler.schedule {
      let receiver = EventReceiver<Element>()
      let mailbox = Mailbox<PendingEvent<Element>>(on: schedule, policy: policy) { event, mailbox in
        // It may be disposed while merged changes are compared, which takes its time.
        if let event = receiver.receive(event), !mailbox.isOver { handler(event) }
      }
      observation = node.observe(mailbox: mailbox) { mailbox.post($0) }
    } else {
      observation = node.observers.join(
        // What this list is told of is a change; a status step alone goes to others.
        { event in handler(.change(CollectionChange(.read(event)))) },
        capture: { state in node.published(&state) },
        first: { event in
          let state = StateBox<Element>.read(event).state
          handler(.initial(state.snapshot, revision: state.revision))
        })
    }
    return Disposable(observation, keeping: self)
  }

  /// Subscribes to the contents on the main actor.
  ///
  /// - Parameters:
  ///   - policy: What becomes of changes that wait; by default they become one.
  ///   - handler: The observer.
  /// - Returns: What keeps the observation and everything upstream alive; letting it go ends it.
  public func observeOnMainActor(
    policy: DeliveryPolicy = .coalesce,
    _ handler: @escaping @MainActor @Sendable (CollectionEvent<Element>) -> Void
  ) -> Disposable {
    observe(on: .mainActor, policy: policy) { event in
      MainActor.assumeIsolated { handler(event) }
    }
  }

  /// Subscribes to the status: the present one first, then each step.
  ///
  /// Where a step comes with a change of the contents, the change is told first.
  ///
  /// - Parameter handler: Called with each status, immediately.
  /// - Returns: What keeps the observation and everything upstream alive; letting it go ends it.
  public func observeStatus(
    _ handler: @escaping @Sendable (SourceStatus) -> Void
  ) -> Disposable {
    observeState { handler($0.status) }
  }

  /// Subscribes to the steps of the status, with the whole state at each.
  package func observeState(
    _ handler: @escaping @Sendable (CollectionState<Element>) -> Void
  ) -> Disposable {
    start()
    let node = collection.node
    let observation = node.statusObservers.join(
      { handler(CollectionUpdate<Element>.read($0).state) },
      capture: { state in node.published(&state) },
      first: { handler(StateBox<Element>.read($0).state) })
    return Disposable(observation, keeping: self)
  }
}
