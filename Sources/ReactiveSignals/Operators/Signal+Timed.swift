import SwappablePrimitives

/// What comes to a timed operator.
enum TimedItem<Value: Sendable>: Sendable {
  case event(SignalEvent<Value>)
  /// The time is up.
  case due
}

/// The node of a signal that is timed.
typealias TimedSignalNode<Value: Sendable> = BoundarySignalNode<TimedItem<Value>, Value>

/// What a timed operator does; used by the drainer of its signal alone.
protocol TimedOperation<Value>: AnyObject {
  associatedtype Value: Sendable

  /// The value that waits until the time is up.
  var waiting: Value? { get }
  /// Calls when it is.
  var timer: ScheduledTimer? { get set }

  /// Takes a value, and returns what is sent at once.
  func take(_ value: Value, for node: TimedSignalNode<Value>) -> Value?

  /// Returns what is sent when the time is up.
  func timeIsUp(for node: TimedSignalNode<Value>) -> Value?
}

extension Signal {
  /// Makes a signal in a domain of its own, to which values come and times that are up.
  ///
  /// At its end the value that waits is sent at once.
  func timed(_ operation: some TimedOperation<Value>) -> Signal<Value> {
    let timed = TimedSignalNode<Value>([node], remembers: node.remembers) { item, node, ends in
      switch item {
      case .due: return operation.timeIsUp(for: node)
      case .event(let event):
        if !event.isEnd { return operation.take(event.value, for: node) }
        operation.timer = nil
        ends = true
        return operation.waiting
      }
    }
    let feed = node.observeEvents(keeping: self) { [weak timed] in timed?.post(.event($0)) }
    return Signal(timed, upstream: [feed])
  }
}
