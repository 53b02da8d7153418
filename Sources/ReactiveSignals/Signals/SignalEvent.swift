/// A value on its way to observers, or the end of the signal.
package final class SignalEvent<Value: Sendable>: Sendable {
  /// Nil at the end.
  package let value: Value?

  package init(_ value: Value?) {
    self.value = value
  }

  /// What observers of a node of this type of values are given.
  package static func read(_ event: Event) -> SignalEvent<Value> {
    unsafeDowncast(event, to: SignalEvent<Value>.self)
  }
}

/// What waits for an observer that is called elsewhere: merged, the latest value and the end.
package struct WaitingSignal<Value: Sendable>: Mergeable {
  private(set) package var value: SignalEvent<Value>?
  private(set) package var isEnd: Bool

  package init(_ event: SignalEvent<Value>) {
    isEnd = event.value == nil
    value = isEnd ? nil : event
  }

  package mutating func merge(with later: Self) -> SignalEvent<Value>? {
    let replaced = later.value == nil ? nil : value
    value = later.value ?? value
    isEnd = later.isEnd
    return replaced
  }
}
