import SwappablePrimitives

extension Signal {
  /// Makes a signal of the values of the newest signal that this one has brought.
  ///
  /// The newest one is observed before the one before it is let go, whose values are left out from then
  /// on. The result is a domain of its own. It ends when this signal and the newest it has brought have
  /// ended, and has a memory if this signal has.
  ///
  /// - Complexity: O(1) for each value and each signal.
  public func switchToLatest<Inner: Sendable>() -> Signal<Inner> where Value == Signal<Inner> {
    let newest = NewestSignal<Inner>()
    // Owned by the drainer.
    var (number, hasEnded, hasOuterEnded) = (0, true, false)
    let node = BoundarySignalNode<SwitchItem<Inner>, Inner>(
      [node], remembers: node.remembers, starting: .start
    ) { item, _, ends in
      switch item {
      case .start: newest.start()
      case .next(let next): (number, hasEnded) = (next, false)
      case .outerEnd: hasOuterEnded = true
      case .inner(let event, let origin):
        guard origin == number else { return nil }
        if !event.isEnd { return event.value }
        hasEnded = true
        newest.end(origin)
      }
      ends = hasEnded && hasOuterEnded
      return nil
    }
    let feed = self.node.observeEvents(keeping: self) { [weak node] event in
      guard let node else { return }
      if event.isEnd { return node.post(.outerEnd) }
      newest.replace(by: event.value, for: node)
    }
    return Signal<Inner>(node, upstream: [feed])
  }
}

/// What comes to a switched signal.
private enum SwitchItem<Inner: Sendable>: Sendable {
  /// It has got its first observer.
  case start
  /// The number of the signal whose values follow.
  case next(Int)
  case outerEnd
  /// With the number of the signal that it comes from.
  case inner(SignalEvent<Inner>, Int)
}

/// Holds the signal that was brought last, and the observation of it.
private final class NewestSignal<Inner: Sendable>: Sendable {
  private let state = Locked(State())

  private struct State: Sendable {
    var isStarted = false
    var number = 0
    /// The number of the last that is known to have ended.
    var ended = 0
    var held: (signal: Signal<Inner>, feed: Disposable)?
  }

  /// Observes another signal, at once: what it brings from now on is not lost.
  ///
  /// Called by one thread at a time.
  func replace(by signal: Signal<Inner>, for node: BoundarySignalNode<SwitchItem<Inner>, Inner>) {
    let number = state.withLock { state in
      state.number += 1
      return state.number
    }
    node.post(.next(number))
    let feed = signal.node.observeEvents(keeping: signal) { [weak node] in
      node?.post(.inner($0, number))
    }
    let (isStarted, replaced) = state.withLock { state in
      let replaced = state.held
      state.held = state.ended == number ? nil : (signal, feed)
      return (state.isStarted, replaced)
    }
    if isStarted { signal.node.start() }
    replaced?.feed.dispose()
  }

  /// Sets the newest signal going, and each that follows.
  func start() {
    let signal = state.withLock { state in
      state.isStarted = true
      return state.held?.signal
    }
    signal?.node.start()
  }

  /// Lets a signal go that has ended.
  func end(_ number: Int) {
    let released = state.withLock { state in
      state.ended = number
      let released = state.held
      if state.number == number { state.held = nil }
      return released
    }
    withExtendedLifetime(released) {}
  }
}
