public import ObservableCollections
import ReactiveSignals
import SwappablePrimitives

/// The result of a swap.
public enum SwapOutcome: Sendable, Hashable {
  /// The new source is shown, and observers have received the difference.
  case swapped
  /// The new source is shown, and its contents equal the contents that were shown before.
  ///
  /// This is also the outcome if the new source was shown already.
  case unchanged
  /// A later swap replaced this one before it was done. The new source was never visible.
  case superseded
  /// The swap was canceled, or the container was released, before the swap was done.
  case cancelled
  /// The new source failed, or was missing, before it loaded. The old source stays.
  case failed(SourceError)
  /// The new source is made from the container itself. Nothing changes.
  case cycle
}

/// A handle to a swap. It provides the outcome of the swap and can cancel it.
///
/// A handle does not keep the container or the new source alive.
public final class SwapHandle: Sendable {
  private let state: Locked<State>
  private let onCancel: @Sendable () -> Void

  private struct State: Sendable {
    var outcome: SwapOutcome?
    var waiting: [CheckedContinuation<SwapOutcome, Never>] = []
  }

  init(onCancel: @escaping @Sendable () -> Void = {}) {
    state = Locked(State())
    self.onCancel = onCancel
  }

  /// The outcome of the swap. Reading it waits until the outcome is known.
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

  /// The outcome of the swap, or `nil` if it is not known yet.
  public var outcomeIfKnown: SwapOutcome? {
    state.withLock { $0.outcome }
  }

  /// Cancels the swap, unless it is done. The old source stays.
  ///
  /// Swaps to a source whose swap is already open share one handle, so this method cancels all of them.
  public func cancel() {
    onCancel()
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
