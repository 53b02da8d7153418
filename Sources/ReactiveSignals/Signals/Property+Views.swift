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

extension Property {
  /// A view that cannot set it.
  public var readOnly: ReadOnlyProperty<Value> { ReadOnlyProperty(self) }

  /// Makes a view of what becomes of the value: readable at once, and always right.
  ///
  ///     let count = names.map { $0.count }
  ///     names.value.append("Ada")
  ///     print(count.value)
  ///
  /// It agrees with this property at each moment, also while a value is on its way to observers.
  ///
  /// - Parameter transform: Called once for each value that is set, however many observe the result,
  ///   and for each reading while a value is on its way. It must depend on nothing but the value.
  /// - Complexity: O(1) to read, and for each value.
  public func map<Output: Sendable>(
    _ transform: @escaping @Sendable (Value) -> Output
  ) -> ReadOnlyProperty<Output> {
    readOnly.map(transform)
  }

  /// Makes a view of a part of the value that can be set; that sets it in the whole.
  ///
  ///     let city = person.projection(\.address.city)
  ///     city.value = "Turin"
  ///
  /// - Parameter keyPath: The part.
  public func projection<Part: Sendable>(
    _ keyPath: any WritableKeyPath<Value, Part> & Sendable
  ) -> PropertyProjection<Value, Part> {
    PropertyProjection(self, keyPath)
  }
}

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
