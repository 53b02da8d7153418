public import ObservableCollections
import SwappablePrimitives

/// A handle to a swap. It provides the outcome of the swap and can cancel it.
///
/// A handle does not keep the container or the new source alive.
public final class SwapHandle: Sendable {
  /// The result of a swap.
  public enum Outcome: Sendable, Hashable {
    /// The new source is shown. Observers receive the difference, or have received it.
    case swapped
    /// The new source is shown, and its contents equal the contents that were shown before.
    ///
    /// This is also the outcome if the new source was shown already.
    case unchanged
    /// A later swap replaced this one before it was done. The new source was never visible.
    case superseded
    /// The swap was canceled, or the container was released, before the swap was done.
    ///
    /// This is also the outcome for a task that is canceled while it waits.
    case cancelled
    /// The new source failed, or was missing, before it loaded. The old source stays.
    case failed(SourceError)
    /// The new source is made from the container itself. Nothing changes.
    case cycle
  }

  private let state: Locked<State>
  private let onCancel: @Sendable () -> Void

  private struct State: Sendable {
    var outcome: Outcome?
    var waiting: [@Sendable (Outcome) -> Void] = []
    /// A Boolean value that indicates whether a guard has refused the change.
    var isHeld = false
    var waitingForHold: [CheckedContinuation<Void, Never>] = []
  }

  init(onCancel: @escaping @Sendable () -> Void = {}) {
    state = Locked(State())
    self.onCancel = onCancel
  }

  /// The outcome of the swap. Reading it waits until the outcome is known.
  ///
  /// If the task that reads it is canceled before, the value is `.cancelled` at once, but the swap continues.
  /// ``outcomeIfKnown`` has its real outcome later. To cancel the swap itself, call ``cancel()``.
  public var outcome: Outcome {
    get async {
      await awaitCallback { callback in
        let known = state.withLock { state -> Outcome? in
          if state.outcome == nil { state.waiting.append(callback) }
          return state.outcome
        }
        if let known { callback(known) }
      } ?? .cancelled
    }
  }

  /// The outcome of the swap, or `nil` if it is not known yet.
  public var outcomeIfKnown: Outcome? {
    state.withLock { $0.outcome }
  }

  /// Cancels the swap, unless it is done. The old source stays.
  ///
  /// Swaps to a source whose swap is already open share one handle, so this method cancels all of them.
  public func cancel() {
    onCancel()
  }

  /// Waits until a guard has refused the change, or the outcome is known.
  func waitUntilHeld() async {
    await withCheckedContinuation { continuation in
      let isOver = state.withLock { state in
        if state.isHeld || state.outcome != nil { return true }
        state.waitingForHold.append(continuation)
        return false
      }
      if isOver { continuation.resume() }
    }
  }

  func noteRefusal() {
    let waiting = state.withLock { state in
      state.isHeld = true
      defer { state.waitingForHold = [] }
      return state.waitingForHold
    }
    for continuation in waiting { continuation.resume() }
  }

  func resolve(_ outcome: Outcome) {
    let ended = state.withLock { state -> State? in
      guard state.outcome == nil else { return nil }
      defer { state = State(outcome: outcome, isHeld: state.isHeld) }
      return state
    }
    for callback in ended?.waiting ?? [] { callback(outcome) }
    for continuation in ended?.waitingForHold ?? [] { continuation.resume() }
  }
}
