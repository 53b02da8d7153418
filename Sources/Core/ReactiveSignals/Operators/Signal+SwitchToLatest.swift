import SwappablePrimitives

extension Signal {
  /// Creates a signal of the values of the latest signal that this signal has sent.
  ///
  /// The latest signal is observed before the observation of the previous one ends. Values of the
  /// previous signal are ignored from then on. The result has a domain of its own. It ends when
  /// this signal and the latest signal have ended, and has a memory if this signal has one.
  ///
  /// - Complexity: O(1) for each value and each signal.
  public func switchToLatest<Inner: Sendable>() -> Signal<Inner> where Value == Signal<Inner> {
    let newest = NewestSignal<Inner>()
    let root = Node(domain: Domain(), state: nil, remembers: false) { [node] _ in
      node.start()
      newest.start()
    }
    // The delivering thread owns these variables.
    var (number, hasEnded, hasOuterEnded) = (0, true, false)
    let kernel = SignalKernel<SwitchItem<Inner>, Inner>(take: { item, _, ends in
      defer { ends = hasEnded && hasOuterEnded }
      switch item {
      case .next(let next): (number, hasEnded) = (next, false)
      case .outerEnd: hasOuterEnded = true
      case .inner(let event, let origin):
        guard origin == number else { return nil }
        if !event.isEnd { return event.value }
        hasEnded = true
        newest.end(origin)
      }
      return nil
    })
    let switched = kernel.node(over: [root], remembers: node.remembers)
    let observation = node.observeEvents(keeping: self) {
      [weak root] (event: SignalEvent<Value>) in
      guard let root else { return }
      if event.isEnd { return root.send(value: SwitchItem<Inner>.outerEnd) }
      newest.replace(by: event.value, for: root)
    }
    return Signal<Inner>(switched, upstream: [observation])
  }
}

/// A step of a switched signal.
private enum SwitchItem<Inner: Sendable>: Sendable {
  /// The number of the signal whose values follow.
  case next(Int)
  case outerEnd
  /// An event, and the number of the signal that it comes from.
  case inner(SignalEvent<Inner>, Int)
}

/// The latest inner signal, and its observation.
private final class NewestSignal<Inner: Sendable>: Sendable {
  private let state = Locked(State())

  private struct State: Sendable {
    var isStarted = false
    var number = 0
    /// The number of the latest signal that is known to have ended.
    var ended = 0
    var held: (signal: Signal<Inner>, observation: Disposable)?
  }

  /// Observes another signal immediately, so none of its values is lost from then on.
  ///
  /// One thread at a time calls this method.
  func replace(by signal: Signal<Inner>, for root: Node) {
    let number = state.withLock { state in
      state.number += 1
      return state.number
    }
    root.send(value: SwitchItem<Inner>.next(number))
    let observation = signal.node.observeEvents(keeping: signal) { [weak root] in
      root?.send(value: SwitchItem<Inner>.inner($0, number))
    }
    let (isStarted, replaced) = state.withLock { state in
      let replaced = state.held
      state.held = state.ended == number ? nil : (signal, observation)
      return (state.isStarted, replaced)
    }
    if isStarted { signal.node.start() }
    replaced?.observation.dispose()
  }

  /// Starts the latest signal, and each signal that follows.
  func start() {
    let signal = state.withLock { state in
      state.isStarted = true
      return state.held?.signal
    }
    signal?.node.start()
  }

  /// Releases a signal that has ended.
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
