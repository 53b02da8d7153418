public import ObservableCollections
public import ReactiveSignals
import SwappablePrimitives

/// A synchronizer that keeps a local store equal to a remote list.
///
/// A run removes items that the remote no longer lists, and downloads new and outdated ones.
///
/// ```swift
/// let synchronizer = OneWaySynchronizer(from: server, to: store)
/// synchronizer.options.concurrency = 4
/// let outcome = try await synchronizer.sync()
/// ```
///
/// A run calls the remote and the store in this order:
///
/// | stage | call | skipped |
/// |---|---|---|
/// | | status: running | |
/// | `begin` | `store.begin` | |
/// | `fetch` | `remote.items` | |
/// | `localKeys` | `store.keys` | |
/// | `remove` | `store.remove`, with the keys that the remote does not list | if there are none |
/// | `shouldUpdate` | `store.isOutdated`, for each item on both sides, one by one | if there are none |
/// | `prepare` | `remote.prepareDownloads`, with the new and the outdated items | |
/// | `preview` | `remote.preview` and `store.storePreview`, for each prepared item | by default |
/// | `content` | `remote.content` and `store.store`, for each prepared item | if the options exclude it |
/// | `end` | `store.finish` | |
/// | | the completions, in the order of the calls | |
/// | | status: idle | |
///
/// `finish` is called exactly once for each `begin`, even if a stage failed or the run was canceled.
/// An error before the downloads ends the run. For errors of downloads, see ``Options/stopsOnError``.
///
/// If the remote lists several items with one key, the first one counts. The prepared items may
/// include items that are up to date. Each key is downloaded once, and items that the remote does
/// not list are skipped. A diagnostic reports duplicates and skipped items.
///
/// All methods may be called on any thread. If you release a running synchronizer, its run continues
/// and its callers receive their results.
public final class OneWaySynchronizer: Sendable {
  private let core: OneWayCore
  private let queue: RunQueue<Outcome>

  /// Creates a synchronizer from a remote to a store.
  ///
  /// - Parameters:
  ///   - remote: The remote list.
  ///   - store: The local store. No other synchronizer may use it at the same time.
  ///   - options: The options of the runs.
  ///   - clock: The clock that measures the pauses before retries.
  public convenience init<Remote: OneWayRemote, Store: OneWayStore>(
    from remote: Remote, to store: Store, options: Options = Options(),
    clock: any Clock<Duration> = ContinuousClock()
  ) where Store.Item == Remote.Item, Store.Content == Remote.Content {
    self.init(options: options) { options, record in
      let run = OneWayRun(
        remote: remote, store: store, options: options, clock: clock, record: record)
      await run.perform()
    }
  }

  /// Creates a synchronizer from a data source to a store.
  ///
  /// Each run waits until the source has loaded. If a source that has loaded fails later, the run uses
  /// its last good contents.
  ///
  /// - Parameters:
  ///   - source: The data source whose elements are the remote list.
  ///   - store: The local store. No other synchronizer may use it at the same time.
  ///   - options: The options of the runs.
  ///   - clock: The clock that measures the pauses before retries.
  public convenience init<Store: OneWayStore>(
    from source: any DataSource<Store.Item>, to store: Store, options: Options = Options(),
    clock: any Clock<Duration> = ContinuousClock()
  ) where Store.Content == Store.Item {
    self.init(from: DataSourceRemote(source), to: store, options: options, clock: clock)
  }

  private init(
    options: Options, perform: @escaping @Sendable (Options, OneWayRecord) async -> Void
  ) {
    let core = OneWayCore(options, perform)
    self.core = core
    queue = RunQueue(
      cancellation: { core.cancellation },
      statusDidChange: { core.status.value = $0 ? .running : .idle },
      runDidEnd: { core.runDidEnd($0) },
      run: { try await core.run() })
  }

  /// The options. You can set them at any time. A run reads them when it begins.
  public var options: Options {
    get { core.options.value }
    set { core.options.value = newValue }
  }

  /// The activity of the synchronizer. It stays `running` between consecutive runs.
  public var status: ReadOnlyProperty<Status> { ReadOnlyProperty(core.status) }

  /// The progress of the active run, or of the last one.
  public var progress: ReadOnlyProperty<Progress> { ReadOnlyProperty(core.progress) }

  /// The result of the last run, or `nil` before the first run has ended.
  ///
  /// It is set before callers receive the result.
  public var lastOutcome: ReadOnlyProperty<Result<Outcome, OneWayError>?> {
    ReadOnlyProperty(core.lastOutcome)
  }

  /// Requests a run and waits for its end.
  ///
  /// If a run is already active, exactly one more follows, however many callers ask. All callers
  /// receive the result of the last run.
  ///
  /// - Throws: ``OneWayError`` if the run failed or was canceled. `CancellationError` if the calling
  ///   task was canceled; the run continues. A task that is already canceled requests nothing.
  /// - Warning: Do not await this method inside a method of the remote or the store. The run would
  ///   wait for itself. Use ``sync(completion:)`` there.
  @discardableResult
  public func sync() async throws -> Outcome {
    try await queue.request()
  }

  /// Requests a run without waiting.
  ///
  /// - Parameter completion: A closure that receives the result of the last run, on any thread. It may
  ///   request another run, which begins after the status was `idle`.
  public func sync(
    completion: @escaping @Sendable (Result<Outcome, OneWayError>) -> Void
  ) {
    queue.request { completion($0.mapError(OneWayError.init(any:))) }
  }

  /// Cancels the active run and the requested run after it.
  ///
  /// Active downloads are canceled, and no new one begins. A download that ignores cancellation
  /// finishes first. When the run has ended, all callers receive the error
  /// ``OneWayError/Code/cancelled``. If no run is active, this method does nothing.
  public func cancel() {
    queue.cancel()
  }
}

/// The state that runs share. It does not keep the synchronizer alive.
final class OneWayCore: Sendable {
  typealias Outcome = OneWaySynchronizer.Outcome
  typealias Perform = @Sendable (OneWaySynchronizer.Options, OneWayRecord) async -> Void

  let options: Property<OneWaySynchronizer.Options>
  let status = Property(OneWaySynchronizer.Status.idle)
  let progress = Property(OneWaySynchronizer.Progress())
  let lastOutcome = Property<Result<Outcome, OneWayError>?>(nil)
  private let perform: Perform
  /// The record of the active run.
  private let record = Locked<OneWayRecord?>(nil)

  init(_ options: OneWaySynchronizer.Options, _ perform: @escaping Perform) {
    self.options = Property(options)
    self.perform = perform
  }

  func run() async throws -> Outcome {
    let record = OneWayRecord(progress)
    self.record.withLock { $0 = record }
    await perform(options.value, record)
    if Task.isCancelled { throw record.cancellation }
    return try record.result.get()
  }

  func runDidEnd(_ result: Result<Outcome, any Error>) {
    let record = self.record.withLock { record in
      defer { record = nil }
      return record
    }
    // Release the record outside the lock.
    withExtendedLifetime(record) {}
    lastOutcome.value = result.mapError(OneWayError.init(any:))
  }

  /// The error that callers of a canceled run receive.
  var cancellation: OneWayError {
    let record = record.withLock { $0 }
    return record?.cancellation ?? OneWayError(code: .cancelled, stage: nil, failures: [])
  }
}
