import SwappablePrimitives

/// A step of a timed operator.
enum TimedItem<Value: Sendable>: Sendable {
  case event(SignalEvent<Value>)
  /// The timer has fired.
  case due
}

/// The root to which the steps of a timed operator are sent.
typealias TimedRoot<Value: Sendable> = SignalNode<TimedItem<Value>>

/// The state of a timed operator. The delivering thread of its signal owns it.
protocol TimedOperation<Value>: AnyObject {
  associatedtype Value: Sendable

  /// The pending value, which is sent when the timer fires.
  var waiting: Value? { get }
  /// The running timer.
  var timer: ScheduledTimer? { get set }

  /// Takes a value, and returns a value to send immediately.
  func take(_ value: Value, for root: TimedRoot<Value>) -> Value?

  /// Returns the value to send because the timer has fired.
  func timeIsUp(for root: TimedRoot<Value>) -> Value?
}

extension Signal {
  /// Creates a signal in a domain of its own. It receives the values of this signal and timer
  /// events.
  ///
  /// At the end of this signal, the pending value is sent immediately.
  func timed(_ operation: some TimedOperation<Value>) -> Signal<Value> {
    let root = TimedRoot<Value>(domain: Domain(), remembers: false) { [node] _ in node.start() }
    let kernel = SignalKernel<TimedItem<Value>, Value>(take: { [weak root] item, _, ends in
      guard let root else { return nil }
      switch item {
      case .due: return operation.timeIsUp(for: root)
      case .event(let event):
        if !event.isEnd { return operation.take(event.value, for: root) }
        operation.timer = nil
        ends = true
        return operation.waiting
      }
    })
    let timed = SignalNode([root], remembers: node.remembers, kernel)
    let feed = node.observeEvents(keeping: self) { [weak root] in root?.send(.event($0)) }
    return Signal(timed, upstream: [feed])
  }
}
