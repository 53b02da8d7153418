/// Pauses that grow from failure to failure, so that a server that is down is not asked again and again.
///
///     let backoff = Backoff(first: .seconds(1), longest: .seconds(60), jitter: 0.5)
///     backoff.pause(after: 3)                  // between 2 and 4 seconds
public struct Backoff: Hashable, Sendable {
  /// The pause after the first failure.
  public let first: Duration
  /// The factor by which each pause is longer than the previous one.
  public let factor: Double
  /// The longest pause.
  public let longest: Duration
  /// The random part of each pause, from 0 to 1. It spreads the attempts of many clients.
  public let jitter: Double

  /// Creates a back-off.
  ///
  /// - Parameters:
  ///   - first: The pause after the first failure, at least zero.
  ///   - factor: The factor by which each pause is longer than the previous one, at least 1.
  ///   - longest: The longest pause, at least zero. If it or `first` is zero, nothing limits the
  ///     attempts.
  ///   - jitter: The random part of each pause, from 0 to 1.
  public init(
    first: Duration = .milliseconds(500), factor: Double = 2, longest: Duration = .seconds(60),
    jitter: Double = 0
  ) {
    precondition(first >= .zero, "first must be at least 0 seconds, but is \(first)")
    precondition(longest >= .zero, "longest must be at least 0 seconds, but is \(longest)")
    precondition(factor >= 1, "factor must be at least 1, but is \(factor)")
    precondition((0...1).contains(jitter), "jitter must be in 0...1, but is \(jitter)")
    (self.first, self.factor, self.longest, self.jitter) = (first, factor, longest, jitter)
  }

  /// Returns the pause after some failures.
  ///
  /// - Parameter failures: The number of failures since the last success, at least 1.
  public func pause(after failures: Int) -> Duration {
    var pause = min(first, longest)
    if first > .zero, factor > 1 {
      let limit = longest / first
      var (growth, failure) = (1.0, 1)
      while failure < failures, growth < limit {
        growth *= factor
        failure += 1
      }
      pause = growth < limit ? first * growth : longest
    }
    return jitter == 0 ? pause : pause * (1 - .random(in: 0...jitter))
  }
}
