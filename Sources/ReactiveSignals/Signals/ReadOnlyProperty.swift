/// A property that can be read and observed, and is set by its owner alone.
public struct ReadOnlyProperty<Value: Sendable>: SignalSource {
  /// The values as a signal: the newest for each new observer, and then each that is set.
  public let signal: Signal<Value>
  private let read: @Sendable () -> Value
  /// Tracks a read of the property itself: the signal of a view may be released before it changes.
  private let willRead: @Sendable () -> Void
  /// Returns whether the calling thread has set the property in a transaction that is still open.
  private let isEdited: @Sendable () -> Bool

  /// Makes a read-only view.
  ///
  /// - Parameter property: What it shows.
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

  /// The newest value that was set.
  public var value: Value {
    willRead()
    return read()
  }

  /// The current value, read without observation tracking.
  package var newest: Value { read() }

  /// Subscribes: the observer is told the newest value at once, and then each that is set.
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

  /// Makes a view of what becomes of the value.
  ///
  /// It agrees with this property at each moment, also while a value is on its way to observers.
  ///
  /// - Parameter transform: Called once for each value that is set, however many observe the result,
  ///   and for each reading while a value is on its way. It must depend on nothing but the value.
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
