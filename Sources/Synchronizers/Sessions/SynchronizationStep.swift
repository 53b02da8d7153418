/// What a synchronisation consists of.
public enum SynchronizationStep: String, Sendable, Hashable, CaseIterable {
  /// Asking the remote for what it holds.
  case fetching
  /// Merging what client and remote have edited.
  case merging
  /// Telling the remote what it is to hold.
  case pushing
  /// Writing to the store.
  case saving
}
