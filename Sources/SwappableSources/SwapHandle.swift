public import ObservableCollections
import ReactiveSignals
import SwappablePrimitives

/// What has become of a swap.
public enum SwapOutcome: Sendable, Hashable {
  /// The new source is shown. Observers were told what differs.
  case swapped
  /// The new source is shown, and holds what was shown before; or it was the current one already.
  case unchanged
  /// A later swap came before this one was done. Nothing of it was ever visible.
  case superseded
  /// It was cancelled, or the container let go, before it was done.
  case cancelled
  /// The new source failed, or was missing, before it had loaded; the old one stays.
  case failed(SourceError)
  /// The new source is made from the container itself; nothing changes.
  case cycle
}

/// A swap under way, or done.
public final class SwapHandle: Sendable {
  private let state: Locked<State>
  private let onCancel: @Sendable (SwapHandle) -> Void

  private struct State: Sendable {
    var outcome: SwapOutcome?
    var waiting: [CheckedContinuation<SwapOutcome, Never>] = []
  }

  init(_ outcome: SwapOutcome? = nil, onCancel: @escaping @Sendable (SwapHandle) -> Void = { _ in })
  {
    state = Locked(State(outcome: outcome))
    self.onCancel = onCancel
  }

  /// What has become of it; waits until that is decided.
  public var outcome: SwapOutcome {
    get async {
      await withCheckedContinuation { continuation in
        let known = state.withLock { state -> SwapOutcome? in
          if state.outcome == nil { state.waiting.append(continuation) }
          return state.outcome
        }
        if let known { continuation.resume(returning: known) }
      }
    }
  }

  /// What has become of it; nil while that is open.
  public var outcomeIfKnown: SwapOutcome? {
    state.withLock { $0.outcome }
  }

  /// Gives the swap up, unless it is done: the old source stays.
  public func cancel() {
    onCancel(self)
  }

  func resolve(_ outcome: SwapOutcome) {
    let waiting = state.withLock { state -> [CheckedContinuation<SwapOutcome, Never>] in
      guard state.outcome == nil else { return [] }
      state.outcome = outcome
      let waiting = state.waiting
      state.waiting = []
      return waiting
    }
    for continuation in waiting { continuation.resume(returning: outcome) }
  }
}
