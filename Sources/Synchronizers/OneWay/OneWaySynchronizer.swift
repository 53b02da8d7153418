public import ReactiveSignals

/// Brings a local store into step with a remote list.
///
/// What the list does not hold any more is removed, what is new or outdated is downloaded.
///
/// ```swift
/// let synchronizer = OneWaySynchronizer(from: server, to: store)
/// synchronizer.options.concurrency = 4
/// let outcome = try await synchronizer.sync()
/// ```
///
/// A run calls its processor in this order:
///
/// | stage | what is called | left out |
/// |---|---|---|
/// | | status: running | |
/// | `begin` | `begin` | |
/// | `fetch` | `fetchSourceList` | |
/// | `localKeys` | `localKeys` | |
/// | `remove` | `removeLocalItems`, with the keys that the source does not list | if there are none |
/// | `shouldUpdate` | `shouldUpdate`, for each item that is on both sides, one by one | if there are none |
/// | `prepare` | `prepareDownload`, with what is new or to be updated | |
/// | `preview` | `downloadPreview` for each prepared item | unless asked for |
/// | `content` | `downloadContent` for each prepared item | if not asked for |
/// | `end` | `end` | |
/// | | the completions, in the order of asking | |
/// | | status: idle | |
///
/// `end` is called exactly once for each `begin`, also where `begin` or anything else failed and where
/// the run was cancelled. An error before the downloads ends the run; for the downloads see
/// ``OneWayOptions/stopOnError``. Of several items of one key the first counts. Of what is prepared,
/// each key is downloaded once, also one that is up to date; what the source does not list is left out.
/// Both are told as diagnostics.
///
/// Everything may be called from any thread. A synchroniser that is let go of while it runs ends its
/// run, and answers.
public final class OneWaySynchronizer<Processor: OneWayProcessor>: Sendable {
  private let core: OneWayCore<Processor>
  private let queue: RunQueue<OneWayOutcome>

  /// Makes a synchroniser, idle until it is asked to run.
  ///
  /// - Parameters:
  ///   - processor: Does the work. It is no other synchroniser's at the same time.
  ///   - options: How it works.
  ///   - clock: By what the pauses before retries are waited for.
  public init(
    processor: Processor, options: OneWayOptions = OneWayOptions(),
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    let core = OneWayCore(processor, options: options, clock: clock)
    self.core = core
    queue = RunQueue(
      cancellation: { core.cancellation },
      statusDidChange: { core.status.value = $0 ? .running : .idle },
      runDidEnd: { core.runDidEnd($0) },
      run: { try await core.run() })
  }

  /// Does the work.
  public var processor: Processor { core.processor }

  /// How it works. May be set at any time; read at the start of each run.
  public var options: OneWayOptions {
    get { core.options.value }
    set { core.options.value = newValue }
  }

  /// Whether it is at work. It stays running between runs that follow each other at once.
  public var status: ReadOnlyProperty<OneWayStatus> { ReadOnlyProperty(core.status) }

  /// How far the present run has come, or the last one came.
  public var progress: ReadOnlyProperty<OneWayProgress> { ReadOnlyProperty(core.progress) }

  /// What came of the last run that has ended; nil before. Set before anybody is answered.
  public var lastOutcome: ReadOnlyProperty<Result<OneWayOutcome, OneWayError>?> {
    ReadOnlyProperty(core.lastOutcome)
  }

  /// Synchronises, and waits for the end.
  ///
  /// While it runs, exactly one more run follows, however often it is asked for. Who asks is answered
  /// at the end of the last run, with what came of that. A processor must not await it inside a run,
  /// which would wait for itself; asking with a completion is fine there.
  ///
  /// - Throws: ``OneWayError``; `CancellationError` where the task that waits is cancelled: that ends
  ///   its wait alone, see ``cancel()``. A task that is cancelled already asks for nothing.
  @discardableResult
  public func sync() async throws -> OneWayOutcome {
    try await queue.request()
  }

  /// Synchronises, without waiting.
  ///
  /// - Parameter completion: Called once, at the end of the last run, on any thread. It may ask again:
  ///   that run begins after the status was idle.
  public func sync(
    completion: @escaping @Sendable (Result<OneWayOutcome, OneWayError>) -> Void
  ) {
    queue.request { completion($0.mapError(OneWayError.init(any:))) }
  }

  /// Cancels the run that is under way and drops the one that is to follow. Does nothing when idle.
  ///
  /// Downloads under way are cancelled, or finish if they do not heed that, and no new one begins. All
  /// who have asked are told ``OneWayError/Code/cancelled`` when the run has ended, also if it was
  /// ending already.
  public func cancel() {
    queue.cancel()
  }
}

extension OneWaySynchronizer {
  /// Makes a synchroniser from a remote list to a local store.
  ///
  /// - Parameters:
  ///   - remote: What is to be here.
  ///   - store: Where it is kept.
  ///   - options: How it works.
  ///   - clock: By what the pauses before retries are waited for.
  public convenience init<Remote: OneWayRemote, Store: LocalStore>(
    from remote: Remote, to store: Store, options: OneWayOptions = OneWayOptions(),
    clock: any Clock<Duration> = ContinuousClock()
  ) where Processor == StoreProcessor<Remote, Store> {
    self.init(
      processor: StoreProcessor(from: remote, to: store), options: options, clock: clock)
  }
}
