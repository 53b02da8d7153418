/// What a session is doing.
public enum SynchronizationStatus: Sendable, Hashable {
  /// Nothing.
  case idle
  /// It synchronises, and is at this step.
  case synchronizing(SynchronizationStep)
}
