import SwappablePrimitives

/// Holds disposables and disposes them together: when it is let go, or when told to.
public final class DisposeBag: Sendable {
  private let state = Locked(State())

  private struct State: Sendable {
    var disposables: [Disposable] = []
    /// Disposed ones are swept out when the bag has grown to this.
    var sweepAt = 32
  }

  /// Makes an empty bag.
  public init() {}

  deinit {
    dispose()
  }

  /// Puts a disposable into the bag.
  public func add(_ disposable: Disposable) {
    let swept = state.withLock { state -> [Disposable] in
      state.disposables.append(disposable)
      guard state.disposables.count > state.sweepAt else { return [] }
      let all = state.disposables
      state.disposables = all.filter { !$0.isDisposed }
      state.sweepAt = max(32, state.disposables.count * 2)
      return all
    }
    _ = consume swept
  }

  /// Disposes what the bag holds and empties it; it can be used on.
  public func dispose() {
    let disposables = state.withLock { state in
      let disposables = state.disposables
      state.disposables = []
      return disposables
    }
    for disposable in disposables { disposable.dispose() }
  }
}
