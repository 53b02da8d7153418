public import Diffing
public import ReactiveSignals
import SwappablePrimitives

extension DataSource {
  /// Records the latest changes of this source.
  ///
  ///     let history = todos.history()
  ///     let token = history.token
  ///     todos.append(Todo("Tea"))
  ///     let observation = history.observe(since: token) { event in print(event) }   // one change
  ///
  /// - Parameters:
  ///   - retention: How much to record.
  ///   - clock: The clock that gives the times of the changes.
  /// - Returns: A history, which keeps this source alive and records until it is released. A history of a container
  ///   goes on when its source is swapped.
  public func history(
    retaining retention: CollectionHistory<Element>.Retention = .init(),
    clock: some Clock<Duration> = ContinuousClock()
  ) -> CollectionHistory<Element> {
    CollectionHistory(self, retention, AnyClock(clock))
  }
}

/// The latest changes of a collection: earlier contents, the changes between them, and a way to resume an observation.
///
/// ``DataSource/history(retaining:clock:)`` creates a history. It can be used on any thread.
///
/// The contents of all revisions share structure. A change costs O(1) to record, and the change from any revision to
/// the latest one is composed of O(log r) parts for r revisions, which are kept. If the changes affect more elements than
/// the limit, they are counted after each eighth of it, which takes O(c log c log r) for c elements.
public final class CollectionHistory<Element: Differentiable & Sendable>: Sendable {
  /// How many changes a history records. The oldest ones are forgotten when one of these limits is exceeded.
  public struct Retention: Sendable, Hashable {
    /// The maximum number of revisions before the latest one.
    public var revisions: Int
    /// The maximum number of elements that differ from the contents of the oldest revision.
    ///
    /// An element that changes again and again counts once. Between two counts, an eighth more may differ. By default,
    /// the limit is 10,000 or the number of elements, whichever is larger.
    public var changes: Int?
    /// The maximum time since a revision was replaced by the next one, or `nil` for no limit.
    ///
    /// Revisions are forgotten when the history is used, or when the collection changes.
    public var age: Duration?
    /// The maximum number of bytes that the earlier revisions take beside the latest contents, or `nil` for no limit.
    ///
    /// The number is an estimate. It has the elements that have been removed or replaced, the changed parts of
    /// the lists, and the changes themselves, also those that were composed for observers. The size of a
    /// `JSONElement` is that of its text. In other elements, texts and collections count; objects do not. If one change
    /// exceeds the limit, the history has only the latest revision. With a limit, recording a change of k elements takes
    /// O(k).
    public var bytes: Int?

    /// Creates limits.
    ///
    /// - Parameters:
    ///   - revisions: The maximum number of revisions before the latest one. It must not be negative.
    ///   - changes: The maximum number of changed elements, or `nil` for the default. It must not be negative.
    ///   - age: The maximum age of a revision.
    ///   - bytes: The maximum number of bytes of the earlier revisions, or `nil` for no limit. It must not be negative.
    public init(
      revisions: Int = 10_000, changes: Int? = nil, age: Duration? = nil, bytes: Int? = nil
    ) {
      precondition(
        revisions >= 0, "the number of revisions must not be negative, but is \(revisions)")
      precondition(
        changes ?? 0 >= 0, "the number of changes must not be negative, but is \(changes ?? 0)")
      precondition(
        bytes ?? 0 >= 0, "the number of bytes must not be negative, but is \(bytes ?? 0)")
      (self.revisions, self.changes, self.age) = (revisions, changes, age)
      self.bytes = bytes
    }
  }

  /// A revision that the history has.
  public struct Revision: Sendable, Hashable {
    /// The number.
    public let number: Int
    /// The time since the collection has had this revision.
    public let age: Duration
  }

  /// The collection: the same contents, revisions and status as the source. All observers that resume observe it.
  public let collection: LiveCollection<Element>
  private let record: HistoryRecord<Element>

  init(_ source: some DataSource<Element>, _ retention: Retention, _ clock: AnyClock) {
    source.start()
    let record = HistoryRecord<Element>(retention, clock)
    let input = NodeInput(source.collection.node)
    // The record is complete before any observer receives a change, because it is made in the pass.
    let node = Node(over: [input], remembers: true, composesSteps: true, type: Self.self) { node in
      guard node.published != nil else {
        let state = StateBox<Element>.read(input.state).state
        record.begin(state)
        return CollectionUpdate(first: state)
      }
      guard let update = input.update else { return nil }
      record.append(CollectionUpdate<Element>.read(update))
      return update
    }
    self.record = record
    collection = LiveCollection(node, upstream: [source])
  }

  /// The token of the latest revision. See ``token(at:)``.
  public var token: String { token(at: record.latest) }

  /// Returns the token of a revision, with which an observer can resume later.
  ///
  /// A token is a short string of letters, digits and a hyphen. It is valid as long as this history has the revision. No
  /// other history ever takes it for one of its own.
  ///
  /// - Parameter revision: The revision of an event, or of the contents to resume from.
  /// - Returns: The token.
  public func token(at revision: Int) -> String { "\(record.epoch)-\(revision)" }

  /// The revisions that the history has, from the oldest to the latest.
  ///
  /// - Complexity: O(r) for r revisions.
  public var revisions: [Revision] { record.revisions() }

  /// The numbers of the oldest and the latest revision that the history has.
  package var range: ClosedRange<Int> { record.range }

  /// Returns the contents at a revision.
  ///
  /// - Parameter revision: The number of a revision.
  /// - Returns: The contents, or `nil` if the history does not have the revision.
  /// - Complexity: O(log r) for r revisions.
  public func snapshot(at revision: Int) -> Snapshot<Element>? {
    record.entry(at: revision)?.snapshot
  }

  /// Returns the change from one revision to another one.
  ///
  /// If the second revision is the earlier one, the change leads back, for example to undo what has happened.
  ///
  /// - Parameters:
  ///   - start: The number of the first revision.
  ///   - end: The number of the second revision.
  /// - Returns: The change, or `nil` if the history does not have one of the revisions, or if the contents are equal.
  /// - Complexity: O(log r) compositions for r revisions, once all parts have been composed.
  public func change(from start: Int, to end: Int) -> CollectionChange<Element>? {
    record.difference(from: start, to: end)?.change
  }

  /// Observes the collection from an earlier revision on.
  ///
  /// If the history has the revision of the token, the observer receives one change from there to the latest
  /// revision, or nothing if the contents are equal. Otherwise, it receives an `initial` event. Then it receives each
  /// change.
  ///
  /// - Parameters:
  ///   - token: A token of this history, or `nil` to begin with an `initial` event. A token of another history, or a
  ///     string that is no token, is treated like one that is too old.
  ///   - scheduler: Where to call the observer. The default, `.immediate`, calls it on the thread that edits.
  ///   - policy: How to buffer changes for an observer that is not called immediately.
  ///   - handler: The observer. It is never called concurrently with itself.
  /// - Returns: A handle that keeps the observation, the history and everything upstream alive. Releasing it ends the
  ///   observation.
  public func observe(
    since token: String?, on scheduler: DeliveryScheduler = .immediate,
    policy: DeliveryPolicy = .coalesce,
    _ handler: @escaping @Sendable (CollectionEvent<Element>) -> Void
  ) -> Disposable {
    guard let revision = token.flatMap(record.revision(of:)) else {
      return observe(on: scheduler, policy: policy, handler)
    }
    let resumption = Resumption(record, revision, handler)
    return observe(on: scheduler, policy: policy) { resumption.receive($0) }
  }
}

extension CollectionHistory: DataSource {}

/// An observer that resumes.
private final class Resumption<Element: Differentiable & Sendable>: Sendable {
  /// The revision that the observer has, if that is not the one of the event before.
  private struct Position: Sendable {
    let revision: Int
    /// A Boolean value that indicates whether the event before has equal contents.
    var isReached = false
  }

  private let record: HistoryRecord<Element>
  private let handler: @Sendable (CollectionEvent<Element>) -> Void
  private let position: Locked<Position?>

  init(
    _ record: HistoryRecord<Element>, _ revision: Int,
    _ handler: @escaping @Sendable (CollectionEvent<Element>) -> Void
  ) {
    (self.record, self.handler) = (record, handler)
    position = Locked(Position(revision: revision))
  }

  func receive(_ event: CollectionEvent<Element>) {
    guard let held = position.withLock({ $0 }) else { return handler(event) }
    if held.isReached, case .change(let change) = event {
      position.withLock { $0 = nil }
      return handler(
        .change(
          CollectionChange(
            before: change.before, after: change.after, revisionBefore: held.revision,
            revision: change.revision, changeset: change.changeset)))
    }
    // A token can be ahead of an event: the history has a revision before the first observer receives it.
    if event.revision < held.revision, record.entry(at: held.revision) != nil { return }
    guard let difference = record.difference(from: held.revision, to: event.revision) else {
      position.withLock { $0 = nil }
      return handler(.initial(event.snapshot, revision: event.revision))
    }
    let change = difference.change
    position.withLock {
      $0 = change == nil ? Position(revision: held.revision, isReached: true) : nil
    }
    if let change { handler(.change(change)) }
  }
}
