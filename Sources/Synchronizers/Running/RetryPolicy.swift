/// A policy for repeating a failed operation: the number of retries and the pauses between them.
///
///     RetryPolicy(retries: 5)                  // after 0.5, 1, 2, 4 and 8 seconds
///     RetryPolicy(retries: 3) { $0 is URLError }
public struct RetryPolicy: Sendable {
  /// The number of retries after the first failure.
  public var retries: Int
  /// The pause before the first retry.
  public var firstPause: Duration
  /// The factor by which each pause is longer than the previous one.
  public var factor: Double
  /// The longest pause.
  public var longestPause: Duration
  /// The random part of each pause, from 0 to 1. It spreads the retries of many clients.
  public var jitter: Double
  /// Returns a Boolean value that indicates whether an operation that threw this error is repeated.
  public var isRetried: @Sendable (any Error) -> Bool

  /// A policy without retries.
  public static let never = RetryPolicy(retries: 0)

  /// Creates a policy.
  ///
  /// - Parameters:
  ///   - retries: The number of retries after the first failure, at least 0.
  ///   - firstPause: The pause before the first retry, at least zero.
  ///   - factor: The factor by which each pause is longer than the previous one, at least 1.
  ///   - longestPause: The longest pause.
  ///   - jitter: The random part of each pause, from 0 to 1.
  ///   - isRetried: Decides if an operation that threw this error is repeated. An operation that
  ///     threw a `CancellationError` is never repeated.
  public init(
    retries: Int, firstPause: Duration = .milliseconds(500), factor: Double = 2,
    longestPause: Duration = .seconds(60), jitter: Double = 0,
    isRetried: @escaping @Sendable (any Error) -> Bool = { _ in true }
  ) {
    precondition(retries >= 0, "retries must be at least 0, but is \(retries)")
    precondition(firstPause >= .zero, "firstPause must be at least 0 seconds, but is \(firstPause)")
    precondition(factor >= 1, "factor must be at least 1, but is \(factor)")
    precondition(
      (0...1).contains(jitter), "jitter must be in 0...1, but is \(jitter)")
    self.retries = retries
    self.firstPause = firstPause
    self.factor = factor
    self.longestPause = longestPause
    self.jitter = jitter
    self.isRetried = isRetried
  }

  /// Returns the pause before a retry.
  ///
  /// - Parameter retry: The index of the retry, beginning with 0.
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

  /// Performs an operation until it succeeds or the policy gives up.
  ///
  /// - Parameters:
  ///   - clock: The clock that measures pauses.
  ///   - body: The operation.
  /// - Throws: The last error. `CancellationError` if the task is canceled during a pause.
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
