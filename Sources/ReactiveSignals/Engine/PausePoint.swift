/// A place in the engine where a test can hold a thread to provoke a race.
package enum PausePoint: Hashable, Sendable {
  /// An observer is registered, and its first event not yet delivered.
  case joined
  /// A joining observer or node has caught up, and is not yet live.
  case caughtUp
  /// A change is committed, and its pass not yet begun.
  case committed
  /// Derived nodes are computed, and not yet published.
  case computed
  /// A pass is published, and no observer called.
  case published
  /// All observers of a pass were called, and the pass has not ended.
  case delivered
  /// A swap has attached its new source, and not looked at its contents.
  case swapAttached
  /// A swap has frozen the old source, and not begun its difference.
  case swapFrozen
  /// A swap has computed its difference, and not committed it.
  case swapComputed
}

/// A closure that a test calls at the engine's pause points. No lock is held.
package typealias PauseHook = @Sendable (PausePoint) -> Void
