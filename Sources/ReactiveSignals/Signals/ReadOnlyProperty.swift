/// A property that you can read and observe. Only its owner can set it.
public struct ReadOnlyProperty<Value: Sendable>: SignalSource {
  /// A signal that delivers the latest value to each new observer, and then each value that is set.
  public let signal: Signal<Value>
  private let read: @Sendable () -> Value
  /// Tracks a read of the property itself, because the signal of a view may be released before it
  /// changes.
  private let willRead: @Sendable () -> Void
  /// Returns whether the calling thread has set the property in a transaction that is still open.
  private let isEdited: @Sendable () -> Bool

  /// Creates a read-only view of a property.
  ///
  /// - Parameter property: The property.
  public init(_ property: Property<Value>) {
    signal = property.signal
    read = { property.newest }
    willRead = { property.signal.node.tracking.willRead() }
    isEdited = { property.openDraft != nil }
  }

  private init(
    _ signal: Signal<Value>, willRead: @escaping @Sendable () -> Void,
    isEdited: @escaping @Sendable () -> Bool, _ read: @escaping @Sendable () -> Value
  ) {
    self.signal = signal
    self.read = read
    self.willRead = willRead
    self.isEdited = isEdited
  }

  /// The current value.
  public var value: Value {
    willRead()
    return read()
  }

  /// The current value, read without observation tracking.
  package var newest: Value { read() }

  /// Observes the property.
  ///
  /// The observer receives the current value before this method returns, and then each new value.
  ///
  /// - Parameters:
  ///   - scheduler: Where to call the observer. The default, `.immediate`, calls it on the thread
  ///     that sets the value.
  ///   - policy: How to buffer values for an observer that is not called immediately. The default
  ///     keeps only the latest value.
  ///   - handler: The observer. It is never called concurrently with itself.
  /// - Returns: A handle that keeps the observation and its source alive.
  /// - Complexity: O(1) in the number of observers.
  public func observe(
    on scheduler: Scheduler = .immediate, policy: DeliveryPolicy = .coalesce,
    _ handler: @escaping @Sendable (Value) -> Void
  ) -> Disposable {
    signal.observe(on: scheduler, policy: policy, handler)
  }

  /// Derives a read-only property by transforming the value.
  ///
  /// The derived property always agrees with this one, also while a value is being delivered.
  ///
  /// - Parameter transform: A closure that is called once for each value that is set, for any
  ///   number of observers, and for each read while a value is being delivered. The result must
  ///   depend only on the value.
  /// - Complexity: O(1) to read, and for each value.
  public func map<Output: Sendable>(
    _ transform: @escaping @Sendable (Value) -> Output
  ) -> ReadOnlyProperty<Output> {
    let (signal, read, isEdited) = (signal.map(transform), read, isEdited)
    return ReadOnlyProperty<Output>(signal, willRead: willRead, isEdited: isEdited) {
      let settled = isEdited() ? nil : signal.node.settled
      return settled ?? transform(read())
    }
  }
}
