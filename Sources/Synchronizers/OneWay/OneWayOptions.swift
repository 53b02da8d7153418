/// How a ``OneWaySynchronizer`` works.
public struct OneWayOptions: Sendable {
  /// How many downloads run at the same time; 0: as many as there are processors.
  public var concurrency: Int {
    didSet { checkConcurrency() }
  }
  /// Whether previews are downloaded.
  public var downloadPreview: Bool
  /// Whether contents are downloaded.
  public var downloadContent: Bool
  /// Whether the first download that fails stops the run.
  ///
  /// No other one is begun then; those under way are cancelled, and finish if they do not heed that.
  /// What they throw is told as well, unless it is a `CancellationError`. With false all are tried, and all errors are told. What fails before the downloads ends the run
  /// in any case.
  public var stopOnError: Bool
  /// How often fetching the list, downloading a preview or a content, storing included, is tried again.
  ///
  /// A pause ends at once when the run is cancelled or stopped; what failed before it is told then.
  public var retry: RetryPolicy

  /// Makes options.
  ///
  /// - Parameters:
  ///   - concurrency: How many downloads run at the same time; 0: as many as there are processors.
  ///   - downloadPreview: Whether previews are downloaded.
  ///   - downloadContent: Whether contents are downloaded.
  ///   - stopOnError: Whether the first download that fails stops the run.
  ///   - retry: How often fetching the list, a preview or a content is tried again.
  public init(
    concurrency: Int = 0, downloadPreview: Bool = false, downloadContent: Bool = true,
    stopOnError: Bool = true, retry: RetryPolicy = .never
  ) {
    self.concurrency = concurrency
    self.downloadPreview = downloadPreview
    self.downloadContent = downloadContent
    self.stopOnError = stopOnError
    self.retry = retry
    checkConcurrency()
  }

  private func checkConcurrency() {
    precondition(
      concurrency >= 0, "a concurrency of \(concurrency): it is at least 1, or 0 for automatic")
  }

  /// How many downloads run at the same time.
  var width: Int { concurrency > 0 ? concurrency : processorCount() }
}
