public import Diffing
public import ObservableCollections
public import ReactiveSignals

/// A session that keeps a collection and a remote synchronized.
///
/// Both sides may be edited at any time. A synchronization merges the edits of both sides since the
/// last one, and gives each side the changes that it lacks.
///
///     let session = try await SynchronizationSession(remote: server, store: store)
///     session.client.append(note)          // online or offline
///     try await session.synchronize()      // merged, pushed and saved
///
/// The session keeps the *shadow*: the last contents that the client and the remote had in common.
/// A synchronization compares the client with the shadow, fetches the contents of the remote, merges
/// both, and pushes the result. If the remote accepts the push, the client and the shadow take the
/// merged contents. If another client was faster, the remote reports that the push is outdated, and
/// the session fetches and merges again. If a synchronization fails or is canceled, the client and
/// the shadow stay unchanged, and the next synchronization converges.
///
/// Observers of the client receive at most one change for each synchronization. Edits that are made
/// during a synchronization stay, and the next synchronization sends them.
///
/// A session with a store saves each edit. After a restart at any point, even between a push and its
/// answer, no saved edit is lost and no push takes effect twice.
public final class SynchronizationSession<Remote: SynchronizationRemote>: Sendable {
  /// The element type of the collection.
  public typealias Element = Remote.Element
  /// A step of a synchronization.
  public typealias Step = SynchronizationError.Step

  /// The activity of a session.
  public enum Status: Sendable, Hashable {
    /// No synchronization is running.
    case idle
    /// A synchronization is running and performs this step.
    case synchronizing(Step)
  }

  /// The result of a successful synchronization.
  public struct Outcome: Sendable {
    /// The conflicts and their resolutions.
    ///
    /// If both sides have sorted the list, there can be a conflict of the kind `moved` for nearly each element.
    public let conflicts: [MergeConflict<Element>.Resolved]
    /// The changes that the client received.
    public let changesForClient: Changeset
    /// The changes that the remote received.
    public let changesForRemote: Changeset
    /// The number of additional merges, which were needed because the remote had moved on.
    public let repeatedMerges: Int
  }

  /// The options of a session.
  public struct Options: Sendable {
    /// A closure that decides a conflict. The client is mine, and the remote is theirs.
    public typealias Resolver =
      @Sendable (MergeConflict<Element>) async throws -> MergeConflict<Element>.Resolution

    /// Decides a conflict. The client is mine, and the remote is theirs.
    ///
    /// It is called once for each conflict, one conflict after another, without a lock and outside of transactions. It
    /// may take as long as a person needs. Edits of the client during this time stay, and win if they change the same
    /// element. If it throws an error, the synchronization fails, and the client and the remote stay unchanged.
    public var resolve: Resolver { didSet { preference = nil } }
    /// The side that wins every conflict, or `nil` if the closure decides.
    private(set) var preference: MergeConflict<Element>.Preference?
    /// The policy for repeating a failed fetch or push within one synchronization.
    public var retry: RetryPolicy
    /// The clock that measures pauses.
    public var clock: any Clock<Duration>
    /// The largest number of additional merges within one synchronization, at least 0.
    public var mergeLimit: Int

    /// Creates options with a closure that decides conflicts.
    ///
    /// - Parameters:
    ///   - retry: The policy for repeating a failed fetch or push within one synchronization.
    ///   - clock: The clock that measures pauses.
    ///   - mergeLimit: The largest number of additional merges within one synchronization, at least 0.
    ///   - resolve: Decides a conflict. The client is mine, and the remote is theirs.
    public init(
      retry: RetryPolicy = .never, clock: any Clock<Duration> = ContinuousClock(),
      mergeLimit: Int = 16, resolve: @escaping Resolver
    ) {
      precondition(mergeLimit >= 0, "mergeLimit must be at least 0, but is \(mergeLimit)")
      (self.retry, self.clock, self.mergeLimit, self.resolve) = (retry, clock, mergeLimit, resolve)
    }

    /// Creates options that let one side win every conflict.
    ///
    /// - Parameters:
    ///   - preference: The side that wins. The client is mine, and the remote is theirs.
    ///   - retry: The policy for repeating a failed fetch or push within one synchronization.
    ///   - clock: The clock that measures pauses.
    ///   - mergeLimit: The largest number of additional merges within one synchronization, at least 0.
    public init(
      prefer preference: MergeConflict<Element>.Preference = .theirs, retry: RetryPolicy = .never,
      clock: any Clock<Duration> = ContinuousClock(), mergeLimit: Int = 16
    ) {
      self.init(retry: retry, clock: clock, mergeLimit: mergeLimit) {
        preference.resolution(of: $0)
      }
      self.preference = preference
    }
  }

  let core: SessionCore<Remote>
  private let queue: RunQueue<Outcome>
  private let observation: Disposable?

  /// Creates a session without a store. Its state is lost when the process ends.
  ///
  /// - Parameters:
  ///   - client: The collection to synchronize. Its elements count as added by the client.
  ///   - remote: The remote that holds the shared collection.
  ///   - options: The options of the session.
  public init(
    client: ArrayDataSource<Element> = ArrayDataSource(), remote: Remote,
    options: Options = Options()
  ) {
    core = SessionCore(client: client, remote: remote, store: nil, options: options)
    queue = Self.makeQueue(core)
    observation = nil
  }

  /// Creates a session that continues from the state in a store.
  ///
  /// - Parameters:
  ///   - client: The collection to synchronize. Its elements are merged with the saved ones. If they
  ///     differ, the options decide, and the saved elements are theirs.
  ///   - remote: The remote that holds the shared collection.
  ///   - store: The store that keeps the state of the session.
  ///   - options: The options of the session.
  /// - Throws: ``SynchronizationError`` if the store cannot be read. The store stays unchanged.
  public init(
    client: ArrayDataSource<Element> = ArrayDataSource(), remote: Remote,
    store: some SynchronizationStore<Remote.Element, Remote.Version>,
    options: Options = Options()
  ) async throws {
    core = SessionCore(client: client, remote: remote, store: store, options: options)
    queue = Self.makeQueue(core)
    try await core.load()
    observation = client.observe { [weak core] _ in core?.saveSoon() }
  }

  deinit {
    observation?.dispose()
    // The session no longer has callers. A run whose push is accepted still completes.
    queue.cancel()
  }

  private static func makeQueue(_ core: SessionCore<Remote>) -> RunQueue<Outcome> {
    RunQueue(
      cancellation: { SynchronizationError.cancelled() }, statusDidChange: { _ in },
      run: { try await core.run() })
  }

  /// The synchronized collection. You can edit and observe it at any time.
  public var client: ArrayDataSource<Element> { core.client }

  /// The activity of the session.
  public var status: ReadOnlyProperty<Status> { ReadOnlyProperty(core.status) }

  /// The result of the last synchronization, or `nil` before the first one has ended.
  public var lastOutcome: ReadOnlyProperty<Result<Outcome, SynchronizationError>?> {
    ReadOnlyProperty(core.lastOutcome)
  }

  /// The error of the last save, or `nil` if it succeeded.
  public var saveFailure: ReadOnlyProperty<SynchronizationError?> {
    ReadOnlyProperty(core.saveFailure)
  }

  /// The last contents that the client and the remote had in common.
  public var shadow: Snapshot<Element> { core.shadow }

  /// The edits since the last synchronization, as changes from ``shadow`` to the client.
  ///
  /// This property waits for a running transaction of the client on another thread. If the answer to
  /// a push was lost and a later synchronization recovered it, its changes count as received. The
  /// client itself changes with the next synchronization that succeeds.
  ///
  /// - Complexity: Same as a difference.
  public var unsynchronizedChanges: Changeset {
    let state = core.capture().state
    return Changeset(from: state.shadow, to: state.client)
  }

  /// Synchronizes the client with the remote.
  ///
  /// If a synchronization is already running, exactly one more follows, however many callers ask.
  /// All callers receive the result of the last one.
  ///
  /// - Returns: The outcome of the last synchronization.
  /// - Throws: ``SynchronizationError`` if the last synchronization failed or was canceled.
  ///   `CancellationError` if the calling task was canceled; the synchronization continues.
  @discardableResult
  public func synchronize() async throws -> Outcome {
    try await queue.request()
  }

  /// Cancels the running synchronization and the one that was to follow.
  ///
  /// Callers receive the error when the running synchronization has ended. If the remote accepts a
  /// push nevertheless, the client and the shadow take its contents. If no synchronization is
  /// running, this method does nothing.
  public func cancel() {
    queue.cancel()
  }

  /// Saves all edits that were made before this call.
  ///
  /// Canceling the calling task does not cancel the save.
  ///
  /// - Throws: ``SynchronizationError`` if the store cannot be written. The next save tries again.
  public func save() async throws {
    try await core.save()
  }
}
