/// A property that you can read and observe. Only its owner can set it.
public struct ReadOnlyProperty<Value: Sendable>: SignalSource {
  /// A signal that delivers the latest value to each new observer, and then each value that is set.
  public let signal: Signal<Value>
  /// Tracks a read of the property itself, because the signal of a view may be released before it
  /// changes.
  private let willRead: @Sendable () -> Void
  /// Returns whether the calling thread has set the property in a transaction that is still open.
  private let isEdited: @Sendable () -> Bool
  private let read: @Sendable () -> Value

  /// The current value.
  public var value: Value {
    willRead()
    return read()
  }

  /// The current value, read without observation tracking.
  @usableFromInline package var newest: Value { read() }

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
    on scheduler: DeliveryScheduler = .immediate, policy: DeliveryPolicy = .coalesce,
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
    return ReadOnlyProperty<Output>(signal: signal, willRead: willRead, isEdited: isEdited) {
      if !isEdited(), let settled = signal.node.settled {
        return SignalValue<Output>.read(settled)
      }
      return transform(read())
    }
  }
}

extension ReadOnlyProperty {
  /// Creates a read-only view of a property.
  ///
  /// - Parameter property: The property.
  public init(_ property: Property<Value>) {
    self.init(
      signal: property.signal,
      willRead: { property.signal.node.observers.tracking.willRead() },
      isEdited: { property.openDraft != nil }, read: { property.newest })
  }

  /// Creates a property of the values of a derived signal with a memory.
  ///
  /// Its value is the value that observers have received, or are receiving.
  ///
  /// - Parameter signal: A signal that has a value already, and never ends.
  @usableFromInline
  package init(derived signal: Signal<Value>) {
    self.init(
      signal: signal, willRead: { signal.node.observers.tracking.willRead() },
      isEdited: { false }
    ) {
      guard let state = signal.node.current else {
        preconditionFailure("the node of a derived property has no state")
      }
      return SignalValue<Value>.read(state)
    }
  }
}

extension Property {
  /// A read-only view of the property.
  public var readOnly: ReadOnlyProperty<Value> { ReadOnlyProperty(self) }

  /// Derives a read-only property by transforming the value.
  ///
  ///     let count = names.map { $0.count }
  ///     names.value.append("Ada")
  ///     print(count.value)
  ///
  /// The derived property always agrees with this one, also while a value is being delivered.
  ///
  /// - Parameter transform: A closure that is called once for each value that is set, for any number of
  ///   observers, and for each read while a value is being delivered. The result must depend only on the
  ///   value.
  /// - Complexity: O(1) to read, and for each value.
  public func map<Output: Sendable>(
    _ transform: @escaping @Sendable (Value) -> Output
  ) -> ReadOnlyProperty<Output> {
    readOnly.map(transform)
  }

  /// Returns a view of a part of the value. Setting the part sets it in this property.
  ///
  ///     let city = person.projection(\.address.city)
  ///     city.value = "Turin"
  ///
  /// - Parameter keyPath: The key path of the part.
  public func projection<Part: Sendable>(
    _ keyPath: any WritableKeyPath<Value, Part> & Sendable
  ) -> Projection<Part> {
    Projection(
      signal: signal.map { $0[keyPath: keyPath] }, property: self, keyPath: keyPath)
  }
}

extension Property {
  /// A part of a property's value, which you can read, observe and set like a property.
  ///
  /// The projection stores no value. Setting it changes the whole property, atomically with respect to other
  /// threads.
  public struct Projection<Part: Sendable>: PropertySource {
    /// A signal that delivers the latest value to each new observer, and then each value that follows.
    ///
    /// Each value of the whole property causes a value here, even if this part stays the same. To leave these
    /// out, use `removeDuplicates()`.
    public let signal: Signal<Part>
    let property: Property<Value>
    let keyPath: any WritableKeyPath<Value, Part> & Sendable

    /// The current value of the part.
    ///
    /// If you set the value inside an observer, the new value is delivered after all observers have received
    /// the current one.
    public var value: Part {
      get { property.value[keyPath: keyPath] }
      nonmutating set { modify { $0 = newValue } }
    }

    /// A read-only view of the part.
    public var readOnly: ReadOnlyProperty<Part> {
      let keyPath = keyPath
      return property.map { $0[keyPath: keyPath] }
    }

    /// Changes the part in place, atomically with respect to other threads.
    ///
    /// - Parameter body: A closure that changes the part. If it throws, the property stays as it was. Do not
    ///   set the property inside the closure; doing so traps.
    /// - Returns: The return value of `body`.
    @discardableResult
    public func modify<Result, Failure: Error>(
      _ body: (inout Part) throws(Failure) -> Result
    ) throws(Failure) -> Result {
      try property.modify { (root) throws(Failure) -> Result in
        try body(&root[keyPath: keyPath])
      }
    }

    /// Observes the part.
    ///
    /// The observer receives the current value before this method returns, and then one value for each value
    /// of the whole property.
    ///
    /// - Parameters:
    ///   - scheduler: Where to call the observer. The default, `.immediate`, calls it on the thread that sets
    ///     the value.
    ///   - policy: How to buffer values for an observer that is not called immediately. The default keeps
    ///     only the latest value.
    ///   - handler: The observer. It is never called concurrently with itself.
    /// - Returns: A handle that keeps the observation and the property alive.
    /// - Complexity: O(1) in the number of observers.
    public func observe(
      on scheduler: DeliveryScheduler = .immediate, policy: DeliveryPolicy = .coalesce,
      _ handler: @escaping @Sendable (Part) -> Void
    ) -> Disposable {
      signal.observe(on: scheduler, policy: policy, handler)
    }
  }
}
