/// A property that can be read and observed, and is set by its owner alone.
public struct ReadOnlyProperty<Value: Sendable>: Sendable {
  private let property: Property<Value>

  /// Makes a read-only view.
  ///
  /// - Parameter property: What it shows.
  public init(_ property: Property<Value>) {
    self.property = property
  }

  /// The newest value that was set.
  public var value: Value { property.value }

  /// The values as a signal: the newest for each new observer, and then each that is set.
  public var signal: Signal<Value> { property.signal }

  /// Subscribes: the observer is told the newest value at once, and then each that is set.
  ///
  /// - Parameters:
  ///   - scheduler: Where the observer is called.
  ///   - policy: What becomes of values that wait; of merged ones the latest is delivered. It
  ///     matters only where the observer is called elsewhere.
  ///   - handler: Called with each value.
  /// - Returns: What keeps the observation and the property alive; letting it go ends it.
  public func observe(
    on scheduler: Scheduler = .immediate, policy: DeliveryPolicy = .coalesce,
    _ handler: @escaping @Sendable (Value) -> Void
  ) -> Disposable {
    property.observe(on: scheduler, policy: policy, handler)
  }
}
