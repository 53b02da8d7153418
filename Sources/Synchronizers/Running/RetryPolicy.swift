/// How often and after which pauses something that failed is tried again.
///
///     RetryPolicy(retries: 5)                  // after 0.5, 1, 2, 4 and 8 seconds
///     RetryPolicy(retries: 3) { $0 is URLError }
public struct RetryPolicy: Sendable {
  /// How often it is tried again after the first failure.
  public var retries: Int
  /// The pause before the first retry.
  public var firstPause: Duration
  /// By how much each pause is longer than the one before.
  public var factor: Double
  /// The longest pause.
  public var longestPause: Duration
  /// Which part of each pause is left to chance, 0 to 1, so that many clients do not come back at once.
  public var jitter: Double
  /// Whether an error may pass; where it may not, nothing is tried again.
  public var isRetried: @Sendable (any Error) -> Bool

  /// Nothing is tried again.
  public static let never = RetryPolicy(retries: 0)

  /// Makes a policy.
  ///
  /// - Parameters:
  ///   - retries: How often it is tried again after the first failure; not negative.
  ///   - firstPause: The pause before the first retry.
  ///   - factor: By how much each pause is longer than the one before; at least 1.
  ///   - longestPause: The longest pause.
  ///   - jitter: Which part of each pause is left to chance, 0 to 1.
  ///   - isRetried: Whether an error may pass. Cancellation is never retried.
  public init(
    retries: Int, firstPause: Duration = .milliseconds(500), factor: Double = 2,
    longestPause: Duration = .seconds(60), jitter: Double = 0,
    isRetried: @escaping @Sendable (any Error) -> Bool = { _ in true }
  ) {
    precondition(retries >= 0, "\(retries) retries: the number is at least 0")
    precondition(firstPause >= .zero, "a pause of \(firstPause) is negative")
    precondition(factor >= 1, "a factor of \(factor): it is at least 1")
    precondition(
      (0...1).contains(jitter), "a jitter of \(jitter): it is a part of the pause, 0 to 1")
    self.retries = retries
    self.firstPause = firstPause
    self.factor = factor
    self.longestPause = longestPause
    self.jitter = jitter
    self.isRetried = isRetried
  }

  /// The pause before a retry.
  ///
  /// - Parameter retry: Which one; 0 is the first.
  func pause(before retry: Int) -> Duration {
    var pause = firstPause.inSeconds
    let longest = longestPause.inSeconds
    var growths = factor == 1 || pause == 0 ? 0 : retry
    while growths > 0 && pause < longest {
      pause *= factor
      growths -= 1
    }
    pause = min(pause, longest)
    if jitter > 0 { pause *= 1 - .random(in: 0...min(jitter, 1)) }
    return .seconds(pause)
  }

  /// Does something until it succeeds, or until the policy gives up.
  ///
  /// - Parameter clock: By what the pauses are waited for.
  /// - Throws: The last error; `CancellationError` where the task is cancelled in a pause.
  func run<Result>(
    by clock: any Clock<Duration>, _ body: () async throws -> Result
  ) async throws -> Result {
    var retry = 0
    while true {
      do {
        return try await body()
      } catch {
        guard retry < retries, !Task.isCancelled, !(error is CancellationError), isRetried(error)
        else { throw error }
      }
      try await clock.sleep(for: pause(before: retry))
      retry += 1
    }
  }
}

extension Duration {
  fileprivate var inSeconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) * 1e-18
  }
}
