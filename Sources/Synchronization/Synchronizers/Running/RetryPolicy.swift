public import ObservableCollections

/// A policy for repeating a failed operation: the number of retries and the pauses between them.
///
///     RetryPolicy(retries: 5)                  // after 0.5, 1, 2, 4 and 8 seconds
///     RetryPolicy(retries: 3) { $0 is URLError }
public struct RetryPolicy: Sendable {
  /// The number of retries after the first failure.
  public var retries: Int
  /// The pauses before the retries.
  public var backoff: Backoff
  /// Returns a Boolean value that indicates whether an operation that threw this error is repeated.
  public var isRetried: @Sendable (any Error) -> Bool

  /// A policy without retries.
  public static let never = RetryPolicy(retries: 0)

  /// Creates a policy.
  ///
  /// - Parameters:
  ///   - retries: The number of retries after the first failure, at least 0.
  ///   - backoff: The pauses before the retries.
  ///   - isRetried: Decides if an operation that threw this error is repeated. An operation that
  ///     threw a `CancellationError` is never repeated.
  public init(
    retries: Int, backoff: Backoff = Backoff(),
    isRetried: @escaping @Sendable (any Error) -> Bool = { _ in true }
  ) {
    precondition(retries >= 0, "retries must be at least 0, but is \(retries)")
    (self.retries, self.backoff, self.isRetried) = (retries, backoff, isRetried)
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
      retry += 1
      try await clock.sleep(for: backoff.pause(after: retry))
    }
  }
}
