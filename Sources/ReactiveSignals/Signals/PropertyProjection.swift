/// A part of a property's value, that can be read, observed and set like a property.
///
/// It holds nothing itself: what is set goes to the whole, as one step between those of other threads.
public struct PropertyProjection<Root: Sendable, Value: Sendable>: SignalSource {
  /// The values as a signal: the newest for each new observer, and then each that comes.
  ///
  /// One comes for each value of the whole, also where this part stays the same; see
  /// `removeDuplicates()`.
  public let signal: Signal<Value>
  let property: Property<Root>
  let keyPath: any WritableKeyPath<Root, Value> & Sendable

  init(_ property: Property<Root>, _ keyPath: any WritableKeyPath<Root, Value> & Sendable) {
    signal = property.signal.map { $0[keyPath: keyPath] }
    self.property = property
    self.keyPath = keyPath
  }

  /// The newest value of the part.
  ///
  /// Setting it inside an observer is legal: it is delivered after all observers have had the
  /// present one.
  public var value: Value {
    get { property.value[keyPath: keyPath] }
    nonmutating set { modify { $0 = newValue } }
  }

  /// A view that cannot set it.
  public var readOnly: ReadOnlyProperty<Value> {
    let keyPath = keyPath
    return property.map { $0[keyPath: keyPath] }
  }

  /// Changes the part in place, as one step between those of other threads.
  ///
  /// - Parameter body: Changes the part. If it throws, nothing is changed. It must not change the
  ///   property in another way.
  /// - Returns: What `body` returns.
  @discardableResult
  public func modify<Result, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try property.modify { (root) throws(Failure) -> Result in
      try body(&root[keyPath: keyPath])
    }
  }

  /// Subscribes: the observer is told the newest value at once, and one for each of the whole.
  ///
  /// - Parameters:
  ///   - scheduler: Where the observer is called.
  ///   - policy: What becomes of values that wait; of merged ones the latest is delivered. It
  ///     matters only where the observer is called elsewhere.
  ///   - handler: Called with each value.
  /// - Returns: What keeps the observation and the values alive; letting it go ends it.
  /// - Complexity: O(1) in the number of observers.
  public func observe(
    on scheduler: Scheduler = .immediate, policy: DeliveryPolicy = .coalesce,
    _ handler: @escaping @Sendable (Value) -> Void
  ) -> Disposable {
    signal.observe(on: scheduler, policy: policy, handler)
  }
}
