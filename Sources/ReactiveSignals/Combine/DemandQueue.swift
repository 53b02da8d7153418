import SwappablePrimitives

/// Items on their way to a receiver that says how many it takes.
///
/// The receiver is called by one thread at a time, and never inside a call of it: what comes, or is
/// demanded, meanwhile is for the loop that is calling it.
package final class DemandQueue<Item: Mergeable>: Sendable {
  /// Who is called.
  package struct Receiver: Sendable {
    /// Takes an item; returns how many more it demands, or nil where it needs not have counted.
    package let take: @Sendable (Item) -> Int?
    /// Told of the end, after the last item.
    package let end: @Sendable () -> Void

    package init(
      take: @escaping @Sendable (Item) -> Int?, end: @escaping @Sendable () -> Void
    ) {
      self.take = take
      self.end = end
    }
  }

  private struct State: Sendable {
    var waiting: WaitingEvents<Item>
    /// `Int.max` is without limit.
    var demand = 0
    var isDelivering = false
    var isFinished = false
    /// Nil once it is over: told the end, or cancelled.
    var receiver: Receiver?

    mutating func add(_ demanded: Int) {
      let (sum, isOver) = demand.addingReportingOverflow(demanded)
      demand = isOver ? .max : sum
    }
  }

  private enum Step {
    case item(Item, Receiver, released: [Item])
    case end(Receiver)
    case rest
  }

  private let state: Locked<State>

  /// - Parameters:
  ///   - policy: What becomes of items that wait for demand.
  ///   - receiver: Who is called; let go of at the end, and when it cancels.
  package init(_ policy: DeliveryPolicy, _ receiver: Receiver) {
    state = Locked(State(waiting: WaitingEvents(policy), receiver: receiver))
  }

  /// Whether nothing is to be told any more.
  package var isOver: Bool { state.withLock { $0.receiver == nil } }

  /// Adds an item; delivered at once where it is demanded.
  package func post(_ item: Item) {
    let replaced = state.withLock { state in
      state.receiver == nil || state.isFinished ? nil : state.waiting.append(item)
    }
    _ = consume replaced
    deliver()
  }

  /// Ends it, once what waits was taken.
  package func finish() {
    state.withLock { $0.isFinished = true }
    deliver()
  }

  /// Demands more.
  ///
  /// - Parameter count: How many, at least one; `Int.max` is without limit.
  package func request(_ count: Int) {
    state.withLock { $0.add(count) }
    deliver()
  }

  /// Drops what waits, and calls no more.
  package func cancel() {
    let dropped = state.withLock { state in
      let dropped = (state.receiver, state.waiting.takeAll())
      state.receiver = nil
      return dropped
    }
    withExtendedLifetime(dropped) {}
  }

  private func deliver() {
    let isMine = state.withLock { state in
      if state.isDelivering { return false }
      state.isDelivering = true
      return true
    }
    guard isMine else { return }
    while true {
      switch state.withLock(next) {
      case .item(let item, let receiver, let released):
        let demanded = receiver.take(item)
        // An item that was none is given back what it took.
        if demanded != 0 { state.withLock { $0.add(demanded ?? 1) } }
        withExtendedLifetime(released) {}
      case .end(let receiver): receiver.end()
      case .rest: return
      }
    }
  }

  /// What is to be done next, under the lock; with nothing to do, the delivery is over.
  private func next(_ state: inout State) -> Step {
    if let receiver = state.receiver {
      if state.waiting.isEmpty, state.isFinished {
        state.receiver = nil
        return .end(receiver)
      }
      if state.demand > 0 {
        let (item, released) = state.waiting.takeFirst()
        if let item {
          if state.demand < .max { state.demand -= 1 }
          return .item(item, receiver, released: released)
        }
      }
    }
    state.isDelivering = false
    return .rest
  }
}
