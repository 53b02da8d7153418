public import ObservableCollections

extension OneWaySynchronizer {
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

  /// The result of a successful run.
  public struct Outcome: Sendable, Hashable {
    /// The number of listed items, each key counted once.
    public var listed = 0
    /// The number of removed keys, which the remote no longer lists.
    public var removed = 0
    /// The number of listed items that the store did not have.
    public var new = 0
    /// The number of stored items that were outdated.
    public var outdated = 0
    /// The number of downloaded previews.
    public var previews = 0
    /// The number of downloaded contents.
    public var contents = 0
    /// The remarks on the run, for example that the remote lists a key twice.
    public var diagnostics: [SourceStatus.Diagnostic] = []
  }
}
