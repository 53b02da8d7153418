import SwappablePrimitives

/// A collection of handles that are disposed of together, when the bag is released or on request.
public final class DisposeBag: Sendable {
  private let state = Locked(State())

  private struct State: Sendable {
    var disposables: [Disposable] = []
    /// The number of handles at which disposed ones are removed.
    var sweepAt = 32
  }

  /// Creates an empty bag.
  public init() {}

  deinit {
    dispose()
  }

  /// Adds a handle to the bag.
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

  /// Disposes of all handles in the bag and removes them. You can add more handles afterwards.
  public func dispose() {
    let disposables = state.withLock { state in
      let disposables = state.disposables
      state.disposables = []
      return disposables
    }
    for disposable in disposables { disposable.dispose() }
  }
}
