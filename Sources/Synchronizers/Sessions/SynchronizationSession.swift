public import Diffing
public import ObservableCollections
public import ReactiveSignals

/// Keeps a collection and a remote in step.
///
/// What each side has edited since the last synchronisation is merged and goes to the other.
///
///     let session = try await SynchronizationSession(remote: server, store: store)
///     session.client.append(note)          // online or not
///     try await session.synchronize()      // merged, pushed and saved
///
/// A synchronisation takes all or nothing: it compares the client with the *shadow*, which both sides had
/// in common at last, fetches what the remote holds, merges, and pushes what the remote lacks; when that is
/// accepted, client and shadow take the merged contents. One that fails or is cancelled leaves both as
/// they were, and the next one converges. A remote that was edited by others between fetch and push refuses,
/// and it is merged again.
///
/// Whoever observes the client is told at most one change for each synchronisation, and none where nothing
/// differs. What is edited while one is under way stays and goes out with the next.
///
/// With a store, edits are saved as they are made. A restart at any point, also between a push and its
/// answer, loses nothing and does nothing twice.
public final class SynchronizationSession<Remote: SynchronizationRemote>: Sendable {
  /// What is synchronised.
  public typealias Element = Remote.Element
  /// What a synchronisation has done.
  public typealias Outcome = SynchronizationOutcome<Element>

  let core: SessionCore<Remote>
  private let queue: RunQueue<Outcome>
  private let observation: Disposable?

  /// Makes a session that is forgotten with the process.
  ///
  /// - Parameters:
  ///   - client: The collection to synchronise. What it holds is new to the remote.
  ///   - remote: Where the collection is kept.
  ///   - options: How to synchronise.
  public init(
    client: CollectionProperty<Element> = CollectionProperty(), remote: Remote,
    options: SynchronizationOptions<Element> = SynchronizationOptions()
  ) {
    core = SessionCore(client: client, remote: remote, store: nil, options: options)
    queue = Self.makeQueue(core)
    observation = nil
  }

  /// Makes a session that goes on where the last one with the same store ended.
  ///
  /// - Parameters:
  ///   - client: The collection to synchronise. What it holds by now is kept beside what was saved; where
  ///     they differ, the options decide, and what was saved is theirs.
  ///   - remote: Where the collection is kept.
  ///   - store: Where the session keeps what it must know after a restart.
  ///   - options: How to synchronise.
  /// - Throws: ``SynchronizationError`` where the store cannot be read; it is left as it is.
  public init(
    client: CollectionProperty<Element> = CollectionProperty(), remote: Remote,
    store: some SynchronizationStore<Remote.Element, Remote.Version>,
    options: SynchronizationOptions<Element> = SynchronizationOptions()
  ) async throws {
    core = SessionCore(client: client, remote: remote, store: store, options: options)
    queue = Self.makeQueue(core)
    try await core.load()
    observation = client.observe { [weak core] _ in core?.saveSoon() }
  }

  deinit {
    observation?.dispose()
    // Nobody waits for a run any more; one whose push is accepted still ends as it should.
    queue.cancel()
  }

  private static func makeQueue(_ core: SessionCore<Remote>) -> RunQueue<Outcome> {
    RunQueue(
      cancellation: { SynchronizationError.cancelled() }, statusDidChange: { _ in },
      run: { try await core.run() })
  }

  /// The collection that is synchronised: to be edited and observed.
  public var client: CollectionProperty<Element> { core.client }

  /// What the session is doing.
  public var status: ReadOnlyProperty<SynchronizationStatus> { ReadOnlyProperty(core.status) }

  /// What came of the last synchronisation; nil before the first.
  public var lastOutcome: ReadOnlyProperty<Result<Outcome, SynchronizationError>?> {
    ReadOnlyProperty(core.lastOutcome)
  }

  /// Why the last save has failed; nil where it has not.
  public var saveFailure: ReadOnlyProperty<SynchronizationError?> {
    ReadOnlyProperty(core.saveFailure)
  }

  /// What client and remote had in common at last.
  public var shadow: Snapshot<Element> { core.shadow }

  /// What was edited since the last synchronisation: from ``shadow`` to the client.
  ///
  /// It waits for a transaction of the client that is under way on another thread. What a push has brought
  /// whose answer was lost at first counts as there, though the client is told of it only with the next
  /// synchronisation that succeeds.
  ///
  /// - Complexity: That of a difference.
  public var unsynchronizedChanges: Changeset {
    let state = core.capture().state
    return Changeset(from: state.shadow, to: state.client)
  }

  /// Synchronises.
  ///
  /// Asked for while a synchronisation is under way, exactly one more follows, however often it was asked
  /// for; all are answered at the end of the last one.
  ///
  /// - Returns: What the last one has done.
  /// - Throws: ``SynchronizationError`` where the last one failed or was cancelled. `CancellationError`
  ///   where the task that waits is cancelled: the synchronisation goes on.
  @discardableResult
  public func synchronize() async throws -> Outcome {
    try Task.checkCancellation()
    return try await queue.request()
  }

  /// Cancels the synchronisation that is under way, and drops the one that is to follow.
  ///
  /// Those who wait are told when it has ended. A push that the remote accepts nevertheless is not lost:
  /// client and shadow take it. Does nothing where there is none.
  public func cancel() {
    queue.cancel()
  }

  /// Saves: when it returns, everything that was edited before is in the store.
  ///
  /// A save is not cancelled with the task that waits for it.
  ///
  /// - Throws: ``SynchronizationError`` where it cannot be saved; the next save tries all again.
  public func save() async throws {
    try await core.save()
  }
}
