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

    /// Creates options.
    ///
    /// - Parameters:
    ///   - concurrency: The largest number of concurrent downloads, or 0 for the number of processors.
    ///   - downloadsPreview: A Boolean value that indicates whether a run downloads previews.
    ///   - downloadsContent: A Boolean value that indicates whether a run downloads contents.
    ///   - stopsOnError: A Boolean value that indicates whether the first failed download stops the run.
    ///   - retry: The policy for repeating a failed fetch of the list or a failed download.
    public init(
      concurrency: Int = 0, downloadsPreview: Bool = false, downloadsContent: Bool = true,
      stopsOnError: Bool = true, retry: RetryPolicy = .never
    ) {
      self.concurrency = concurrency
      self.downloadsPreview = downloadsPreview
      self.downloadsContent = downloadsContent
      self.stopsOnError = stopsOnError
      self.retry = retry
      checkConcurrency()
    }

    private func checkConcurrency() {
      precondition(concurrency >= 0, "concurrency must be at least 0, but is \(concurrency)")
    }

    /// The number of downloads to run at the same time.
    var downloadLimit: Int { concurrency > 0 ? concurrency : processorCount() }
  }
}
