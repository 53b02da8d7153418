/// Whether a one-way synchroniser is at work.
public enum OneWayStatus: Sendable, Hashable {
  /// Nothing is under way, and nobody waits for an answer.
  case idle
  /// A run is under way, or follows another one at once.
  case running
}
