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
    self.init(options: options) { options, record, isPlan in
      let run = OneWayRun(
        remote: remote, store: store, options: options, clock: clock, record: record)
      await isPlan ? run.plan() : run.perform()
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
    options: Options, perform: @escaping OneWayCore.Perform
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

  /// Returns what a run would do, without doing it.
  ///
  ///     print(try await synchronizer.plan())  // 12 listed: 3 inserted, 1 updated, 2 removed, 8 unchanged
  ///
  /// The remote is asked for its list, and the store for its keys and for outdated items. The store changes nothing: neither
  /// `begin` nor `finish` is called. If the run would be refused because of ``Options/removalLimit``, a diagnostic says so.
  /// A plan assumes that the remote downloads all items that it is asked to prepare, and does not know what the store
  /// refuses when it is about to store it.
  ///
  /// - Throws: ``OneWayError`` if the remote or the store fails, or if the task is canceled.
  public func plan() async throws -> Outcome {
    let record = OneWayRecord(Property(Progress()))
    await core.perform(options, record, true)
    if Task.isCancelled { throw record.cancellation }
    return try record.result.get()
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
  typealias Perform =
    @Sendable (
      OneWaySynchronizer.Options, OneWayRecord, _ isPlan: Bool
    ) async -> Void

  let options: Property<OneWaySynchronizer.Options>
  let status = Property(OneWaySynchronizer.Status.idle)
  let progress = Property(OneWaySynchronizer.Progress())
  let lastOutcome = Property<Result<Outcome, OneWayError>?>(nil)
  let perform: Perform
  /// The record of the active run.
  private let record = Locked<OneWayRecord?>(nil)

  init(_ options: OneWaySynchronizer.Options, _ perform: @escaping Perform) {
    self.options = Property(options)
    self.perform = perform
  }

  func run() async throws -> Outcome {
    let record = OneWayRecord(progress)
    _ = self.record.exchange(record)
    await perform(options.value, record, false)
    if Task.isCancelled { throw record.cancellation }
    return try record.result.get()
  }

  func runDidEnd(_ result: Result<Outcome, any Error>) {
    _ = record.exchange(nil)
    lastOutcome.value = result.mapError(OneWayError.init(any:))
  }

  /// The error that callers of a canceled run receive.
  var cancellation: OneWayError {
    let record = record.withLock { $0 }
    return record?.cancellation ?? OneWayError(code: .cancelled, stage: nil, failures: [])
  }
}

extension OneWaySynchronizer {
  /// The options of a one-way synchronizer.
  public struct Options: Sendable {
    /// The largest number of concurrent downloads, or 0 for the number of processors.
    public var concurrency: Int {
      didSet { checkConcurrency() }
    }
    /// A Boolean value that indicates whether a run downloads previews, all before the first content.
    public var downloadsPreview: Bool
    /// A Boolean value that indicates whether a run downloads contents.
    public var downloadsContent: Bool
    /// A Boolean value that indicates whether the first failed download stops the run.
    ///
    /// If it is `true`, no download begins after the failure, and active downloads are canceled.
    /// The error includes their failures, but not a `CancellationError`. If it is `false`, the run
    /// tries all downloads and reports all failures. A failure before the downloads always ends the
    /// run.
    public var stopsOnError: Bool
    /// The policy for repeating a failed fetch of the list or a failed download.
    ///
    /// A download includes its storing. If a run is canceled or stopped during a pause, the pause
    /// ends, and the last failure counts.
    public var retry: RetryPolicy
    /// The largest number of keys that a run may remove. If more are to be removed, the run fails, and changes nothing.
    ///
    /// The first answer of a source may be empty by mistake, and would empty the store.
    public var removalLimit: RemovalLimit

    /// Creates options.
    ///
    /// - Parameters:
    ///   - concurrency: The largest number of concurrent downloads, or 0 for the number of processors.
    ///   - downloadsPreview: A Boolean value that indicates whether a run downloads previews.
    ///   - downloadsContent: A Boolean value that indicates whether a run downloads contents.
    ///   - stopsOnError: A Boolean value that indicates whether the first failed download stops the run.
    ///   - retry: The policy for repeating a failed fetch of the list or a failed download.
    ///   - removalLimit: The largest number of keys that a run may remove.
    public init(
      concurrency: Int = 0, downloadsPreview: Bool = false, downloadsContent: Bool = true,
      stopsOnError: Bool = true, retry: RetryPolicy = .never,
      removalLimit: RemovalLimit = .percent(50)
    ) {
      (self.concurrency, self.downloadsPreview) = (concurrency, downloadsPreview)
      (self.downloadsContent, self.stopsOnError) = (downloadsContent, stopsOnError)
      (self.retry, self.removalLimit) = (retry, removalLimit)
      checkConcurrency()
    }

    private func checkConcurrency() {
      precondition(concurrency >= 0, "concurrency must be at least 0, but is \(concurrency)")
    }

    /// The number of downloads to run at the same time.
    var downloadLimit: Int { concurrency > 0 ? concurrency : processorCount() }
  }
}

extension OneWaySynchronizer {
  /// The largest number of keys that a run may remove.
  public enum RemovalLimit: Sendable, Hashable {
    /// There is no limit.
    case none
    /// A number of keys.
    case count(Int)
    /// A part of the keys in the store, from 0 to 100. A store of less than ten keys has no limit.
    case percent(Double)

    /// Returns the error for a number of removals that is too large, or `nil`.
    func refusal(of removed: Int, among count: Int) -> SourceError? {
      let limit: String
      switch self {
      case .count(let number) where removed > number: limit = "\(number)"
      case .percent(let percent)
      where count >= 10 && Double(removed) > Double(count) * percent / 100:
        limit = "\(percent) %"
      case .none, .count, .percent: return nil
      }
      return SourceError(
        code: "removal-limit",
        message:
          "\(removed) of \(count) keys are not in the list, which is more than the limit of \(limit), so nothing "
          + "was changed; if the list is right, set a higher removalLimit for a run")
    }
  }

  /// The activity of a one-way synchronizer.
  public enum Status: Sendable, Hashable {
    /// No run is active, and no caller waits for a result.
    case idle
    /// A run is active, or the next run is about to begin.
    case running
  }

  /// A stage of a run. Stages follow each other in this order.
  public enum Stage: String, Sendable, Hashable, CaseIterable {
    /// The store prepares the run.
    case begin
    /// The remote list is fetched.
    case fetch
    /// The keys of the stored items are read.
    case localKeys
    /// Items that the remote no longer lists are removed. The stage is skipped if there are none.
    case remove
    /// The store decides about each item that is on both sides. Skipped if there are none.
    case shouldUpdate
    /// The remote chooses and orders the downloads.
    case prepare
    /// Previews are downloaded. Skipped if the options exclude them, or if there are none.
    case preview
    /// Contents are downloaded. Skipped if the options exclude them, or if there are none.
    case content
    /// The store completes the run. Each run that begins reaches this stage.
    case end
  }

  /// The progress of a run.
  ///
  /// Each stage begins with 0 of its total. It reaches the total unless it is interrupted.
  public struct Progress: Sendable, Hashable {
    /// The stage of the active run or the last stage of the last run, or `nil` before the first run.
    public var stage: Stage?
    /// The number of completed or failed units of the stage.
    public var done = 0
    /// The number of units of the stage.
    ///
    /// A unit is a key to remove, an item to decide about, or a download. Other stages have one unit.
    public var total = 0
    /// The number of failed downloads of the run.
    public var failed = 0
    /// The remarks on the run, for example that the remote lists a key twice.
    public var diagnostics: [SourceStatus.Diagnostic] = []
  }

  /// The error of a store that cannot keep an item, but may keep others, for example because of its name.
  ///
  /// The run goes on, even if errors of downloads stop it, and does not fail. ``Outcome/refusedKeys`` has the key.
  public struct Refusal: Error, CustomStringConvertible {
    /// The reason.
    public let cause: any Error

    /// Creates a refusal.
    public init(_ cause: any Error) { self.cause = cause }

    public var description: String { "\(cause)" }
  }

  /// The result of a successful run, or what a run would do.
  public struct Outcome: Sendable, Hashable {
    /// The number of listed items, each key counted once.
    public var listed = 0
    /// The keys that the store did not have, as text, in the order of the list.
    public var newKeys: [String] = []
    /// The keys of outdated items, as text, in the order of the list.
    public var outdatedKeys: [String] = []
    /// The keys that the remote no longer lists, as text, sorted.
    public var removedKeys: [String] = []
    /// The keys of new and outdated items that the store cannot keep, as text. A diagnostic has the reason of each one.
    public var refusedKeys: [String] = []
    /// The number of removed keys, which the remote no longer lists.
    public var removed: Int { removedKeys.count }
    /// The number of listed items that the store did not have, without refused ones.
    public var new: Int { newKeys.count }
    /// The number of stored items that were outdated, without refused ones.
    public var outdated: Int { outdatedKeys.count }
    /// The number of listed items that the store has as they are.
    public var unchanged: Int { listed - new - outdated - refusedKeys.count }
    /// The number of downloaded previews.
    public var previews = 0
    /// The number of downloaded contents.
    public var contents = 0
    /// The remarks on the run, for example that the remote lists a key twice.
    public var diagnostics: [SourceStatus.Diagnostic] = []
  }
}

extension OneWaySynchronizer.Outcome: CustomStringConvertible {
  /// The numbers on one line, for people.
  public var description: String {
    "\(listed) listed: \(new) inserted, \(outdated) updated, \(removed) removed, \(unchanged) unchanged"
      + (refusedKeys.isEmpty ? "" : ", \(refusedKeys.count) refused")
  }
}
