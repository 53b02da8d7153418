/// What has a signal: a signal itself, an input, a property, and views of a property.
public protocol SignalSource<Value>: Sendable {
  /// The type of the values.
  associatedtype Value: Sendable

  /// The values as a signal.
  var signal: Signal<Value> { get }
}
