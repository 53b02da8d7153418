/// A place in the engine where a test can hold a thread, so that a race is played out on purpose.
package enum PausePoint: Hashable, Sendable {
  /// An observer is registered, and its initial value not yet delivered.
  case joined
  /// A joining observer or operator has caught up, and is not yet live.
  case caughtUp
  /// A change is committed, and its round not yet begun.
  case committed
  /// Derived collections are computed, and not yet published.
  case computed
  /// A round is published, and no observer called.
  case published
  /// All observers of a round were called, and the round is not yet over.
  case delivered
  /// A swap has attached its new source, and not looked at what it holds.
  case swapAttached
  /// A swap has frozen the old source, and not begun its difference.
  case swapFrozen
  /// A swap has its difference, and not committed it.
  case swapComputed
}

/// What a test does at the engine's pause points; called without any lock held.
package typealias PauseHook = @Sendable (PausePoint) -> Void
