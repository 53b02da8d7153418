public import Diffing

/// How a session synchronises.
public struct SynchronizationOptions<Element: Differentiable & Sendable>: Sendable {
  /// Decides a conflict: asked once for each, outside of every lock and transaction.
  public var resolve: @Sendable (MergeConflict<Element>) -> MergeConflict<Element>.Resolution
  /// How often a fetch and a push are tried again within one synchronisation.
  public var retry: RetryPolicy
  /// By what pauses are waited for.
  public var clock: any Clock<Duration>
  /// How often it is merged again within one synchronisation, where the remote has moved on.
  public var mergeLimit: Int

  /// Makes options.
  ///
  /// - Parameters:
  ///   - retry: How often a fetch and a push are tried again within one synchronisation.
  ///   - clock: By what pauses are waited for.
  ///   - mergeLimit: How often it is merged again within one synchronisation; not negative.
  ///   - resolve: Decides a conflict. The client is mine, the remote theirs.
  public init(
    retry: RetryPolicy = .never, clock: any Clock<Duration> = ContinuousClock(),
    mergeLimit: Int = 16,
    resolve: @escaping @Sendable (MergeConflict<Element>) -> MergeConflict<Element>.Resolution
  ) {
    precondition(mergeLimit >= 0, "a number of merges is not negative: \(mergeLimit)")
    (self.retry, self.clock, self.mergeLimit, self.resolve) = (retry, clock, mergeLimit, resolve)
  }

  /// Makes options by which one side wins all conflicts.
  ///
  /// - Parameters:
  ///   - preference: Which one: the client is mine, the remote theirs.
  ///   - retry: How often a fetch and a push are tried again within one synchronisation.
  ///   - clock: By what pauses are waited for.
  ///   - mergeLimit: How often it is merged again within one synchronisation; not negative.
  public init(
    prefer preference: MergePreference = .theirs, retry: RetryPolicy = .never,
    clock: any Clock<Duration> = ContinuousClock(), mergeLimit: Int = 16
  ) {
    self.init(retry: retry, clock: clock, mergeLimit: mergeLimit) { preference.resolution(of: $0) }
  }
}
