package import ReactiveSignals
import SwappablePrimitives

/// Items on their way to a receiver that limits how many it takes.
///
/// One thread at a time calls the receiver, and calls are never nested. If an item or a demand
/// arrives during a call, the loop that makes the call handles it afterwards.
package final class DemandQueue<Item: Mergeable>: Sendable {
  /// The closures that receive items and the end.
  package struct Receiver: Sendable {
    /// Takes an item. Returns the additional demand, or `nil` if the item does not count against
    /// the demand.
    let take: @Sendable (Item) -> Int?
    /// A closure that is called at the end, after the last item.
    let end: @Sendable () -> Void

    package init(
      take: @escaping @Sendable (Item) -> Int?, end: @escaping @Sendable () -> Void
    ) {
      self.take = take
      self.end = end
    }
  }

  private struct State: Sendable {
    var waiting: PendingBuffer<Item>
    /// The number of items that may be delivered. `Int.max` means no limit.
    var demand = 0
    var isDelivering = false
    var isFinished = false
    /// The receiver, or `nil` after the end or a cancellation.
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

  /// Creates a queue.
  ///
  /// - Parameters:
  ///   - policy: How items are buffered until they are demanded.
  ///   - receiver: The receiver. It is released at the end or when it cancels.
  package init(_ policy: DeliveryPolicy, _ receiver: Receiver) {
    state = Locked(State(waiting: PendingBuffer(policy), receiver: receiver))
  }

  /// A Boolean value that indicates whether the receiver is no longer called.
  package var isOver: Bool { state.withLock { $0.receiver == nil } }

  /// Adds an item. If there is demand, the item is delivered immediately.
  package func post(_ item: Item) {
    let replaced = state.withLock { state in
      state.receiver == nil || state.isFinished ? nil : state.waiting.append(item)
    }
    _ = consume replaced
    deliver()
  }

  /// Ends the queue after all pending items are taken.
  package func finish() {
    state.withLock { $0.isFinished = true }
    deliver()
  }

  /// Adds demand.
  ///
  /// - Parameter count: The number of additional items, at least 1. `Int.max` means no limit.
  package func request(_ count: Int) {
    state.withLock { $0.add(count) }
    deliver()
  }

  /// Drops the pending items. The receiver is not called again.
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
        // An item that the receiver does not count returns its demand.
        if demanded != 0 { state.withLock { $0.add(demanded ?? 1) } }
        withExtendedLifetime(released) {}
      case .end(let receiver): receiver.end()
      case .rest: return
      }
    }
  }

  /// Returns the next step, under the lock. If there is none, delivery is over.
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
