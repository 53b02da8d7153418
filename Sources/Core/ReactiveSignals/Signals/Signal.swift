/// A type that provides a signal: a signal itself, an input, a property, or a view of a property.
public protocol SignalSource<Value>: Sendable {
  /// The type of the values.
  associatedtype Value: Sendable

  /// A signal of the values.
  var signal: Signal<Value> { get }
}

/// A stream of values that can be observed.
///
/// All immediate observers receive the same values in the same order. An observer is never called
/// concurrently with itself. A signal that comes from a ``Property`` has a *memory*: a new observer
/// first receives the latest value. A signal may end. No values follow the end.
///
/// A derived signal computes each value once, for any number of observers, and also without
/// observers. You do not need an operator to share a signal.
public final class Signal<Value: Sendable>: Sendable {
  @usableFromInline package let node: Node
  /// The signals and observations that this signal depends on.
  private let upstream: [any AnyObject & Sendable]

  @usableFromInline
  package init(_ node: Node, upstream: [any AnyObject & Sendable] = []) {
    self.node = node
    self.upstream = upstream
  }

  deinit {
    node.leave()
  }

  /// Observes the values.
  ///
  /// - Parameters:
  ///   - scheduler: Where to call the observer.
  ///   - policy: How to buffer values for an observer that is not called immediately. The default
  ///     keeps only the latest value.
  ///   - handler: The observer.
  /// - Returns: A handle that keeps the observation, and this signal, alive.
  /// - Complexity: O(1) in the number of observers.
  public func observe(
    on scheduler: DeliveryScheduler = .immediate, policy: DeliveryPolicy = .coalesce,
    _ handler: @escaping @Sendable (Value) -> Void
  ) -> Disposable {
    defer { node.start() }
    return node.observe(on: scheduler, policy: policy, keeping: self, handler)
  }

  /// Observes the values and the end.
  ///
  /// After the end, a new observer receives the latest value, if the signal has a memory, and the
  /// end. Values captured by both closures are released after the end is delivered.
  ///
  /// - Parameters:
  ///   - scheduler: Where to call the observer.
  ///   - policy: How to buffer values for an observer that is not called immediately. The default
  ///     keeps only the latest value.
  ///   - handler: The observer.
  ///   - onCompletion: A closure that is called once, after the last value.
  /// - Returns: A handle that keeps the observation, and this signal, alive.
  /// - Complexity: O(1) in the number of observers.
  public func observe(
    on scheduler: DeliveryScheduler = .immediate, policy: DeliveryPolicy = .coalesce,
    _ handler: @escaping @Sendable (Value) -> Void, onCompletion: @escaping @Sendable () -> Void
  ) -> Disposable {
    defer { node.start() }
    return node.observe(
      on: scheduler, policy: policy, keeping: self, handler, onCompletion: onCompletion)
  }
}

extension Signal: SignalSource {
  /// This signal itself.
  public var signal: Signal<Value> { self }
}

/// An input that sends values to a signal.
///
///     let clicks = SignalInput<Int>()
///     let observation = clicks.signal.observe { print($0) }
///     clicks.send(1)
public final class SignalInput<Value: Sendable>: SignalSource {
  /// The signal of the values that are sent.
  public let signal: Signal<Value>

  /// Creates an input and its signal.
  public convenience init() {
    self.init(pauseHook: nil)
  }

  init(pauseHook: PauseHook?) {
    signal = Signal(
      Node(domain: Domain(pauseHook: pauseHook), state: nil, remembers: false))
  }

  /// Sends a value to all observers.
  ///
  /// When this method returns, immediate observers have received the value. There are two exceptions: inside
  /// an observer, or while another thread is delivering, the value is delivered after the pending ones. After
  /// the end, nothing is sent.
  public func send(_ value: Value) {
    signal.node.send(value: value)
  }

  /// Ends the signal after all pending values. Its observers receive the end and are released.
  ///
  /// Ending the signal again does nothing. Releasing the input does not end its signal.
  public func finish() {
    signal.node.finish()
  }
}

extension SignalSource {
  /// Observes the values on the main actor.
  ///
  ///     let observation = title.observeOnMainActor { label.text = $0 }
  ///
  /// - Parameters:
  ///   - policy: How to buffer values for the observer. The default keeps only the latest value.
  ///   - handler: The observer.
  /// - Returns: A handle that keeps the observation, and the signal, alive.
  public func observeOnMainActor(
    policy: DeliveryPolicy = .coalesce, _ handler: @escaping @MainActor @Sendable (Value) -> Void
  ) -> Disposable {
    signal.observe(on: .mainActor, policy: policy) { value in
      MainActor.assumeIsolated { handler(value) }
    }
  }

  /// Returns the values as an asynchronous sequence, which ends with the signal.
  ///
  ///     for await name in names.values() { … }
  ///
  /// Each iteration is an observation of its own. It ends with the signal, if the task is canceled, or if
  /// the iterator is released. If the signal has a memory, the latest value comes first.
  ///
  /// - Parameter policy: How to buffer values while the body of the loop is busy. The default keeps only
  ///   the latest value.
  public func values(
    policy: DeliveryPolicy = .coalesce
  ) -> ValueSequence<Value> {
    ValueSequence(policy) { [signal] (inbox: Inbox<LatestSignal<Value>>) in
      defer { signal.node.start() }
      return signal.node.observeEvents(keeping: signal) { inbox.post(LatestSignal($0)) }
    } read: {
      { (item: LatestSignal<Value>) in (item.value?.value, item.isEnd) }
    }
  }
}

extension Signal {
  /// Creates a signal of the elements of an asynchronous sequence. It ends with the sequence.
  ///
  /// A task iterates the sequence once. It begins with the first observer, and lasts until the signal and
  /// everything derived from it is released. It requests the next element after the immediate observers
  /// have received the current one. A scheduled observer has a policy of its own.
  /// The signal has no memory.
  ///
  /// A signal has no failures. Turn a sequence that can fail into a sequence of results first.
  ///
  /// - Parameter sequence: The sequence of values.
  public convenience init<Source: AsyncSequence & Sendable>(_ sequence: Source)
  where Source.Element == Value, Source.Failure == Never {
    self.init(
      Node(domain: Domain(), state: nil, remembers: false) { node in
        let task = Task { [weak node] in
          for await value in sequence {
            guard let node else { return }
            node.send(value: value)
          }
          node?.finish()
        }
        node.observation = Disposable { task.cancel() }
      })
  }
}

extension SignalSource {
  /// Sets a property to each value.
  ///
  /// Two properties must not be bound to each other, because each would set the other forever. Binding a
  /// property to itself traps.
  ///
  /// - Parameter target: The property to set. The binding does not keep it alive.
  /// - Returns: A handle that keeps the binding and this signal alive. Releasing it ends the binding.
  public func bind(to target: Property<Value>) -> Disposable {
    precondition(
      signal.node !== target.signal.node,
      "a property cannot be bound to itself, because each value would set it again")
    return signal.observe { [weak target] in target?.value = $0 }
  }

  /// Sets a part of a property to each value.
  ///
  /// Values that are derived from the same property would set it forever, unless `removeDuplicates()` stops
  /// them.
  ///
  /// - Parameter target: The part to set. The binding does not keep its property alive.
  /// - Returns: A handle that keeps the binding and this signal alive. Releasing it ends the binding.
  public func bind<Root>(to target: Property<Root>.Projection<Value>) -> Disposable {
    let keyPath = target.keyPath
    return signal.observe { [weak property = target.property] value in
      property?.modify { $0[keyPath: keyPath] = value }
    }
  }

  /// Passes each value to a closure.
  ///
  /// - Parameter target: The closure. It is called on the thread that delivers the value.
  /// - Returns: A handle that keeps the binding and this signal alive. Releasing it ends the binding.
  public func bind(to target: @escaping @Sendable (Value) -> Void) -> Disposable {
    signal.observe(target)
  }

  /// Writes each value to a property of an object.
  ///
  /// - Parameters:
  ///   - keyPath: The property. It is written on the thread that delivers the value.
  ///   - object: The object. The binding does not keep it alive.
  /// - Returns: A handle that keeps the binding and this signal alive. Releasing it ends the binding.
  public func bind<Object: AnyObject & Sendable>(
    to keyPath: any ReferenceWritableKeyPath<Object, Value> & Sendable, of object: Object
  ) -> Disposable {
    signal.observe { [weak object] in object?[keyPath: keyPath] = $0 }
  }

  /// Writes the values to a property of an object of the main actor, such as a view.
  ///
  /// - Parameters:
  ///   - keyPath: The property. It is written on the main actor, with the latest pending value.
  ///   - object: The object. The binding does not keep it alive.
  /// - Returns: A handle that keeps the binding and this signal alive. Releasing it ends the binding.
  @MainActor public func bind<Object: AnyObject>(
    onMainActor keyPath: ReferenceWritableKeyPath<Object, Value>, of object: Object
  ) -> Disposable {
    let write: @MainActor @Sendable (Value) -> Void = { [weak object] in
      object?[keyPath: keyPath] = $0
    }
    return signal.observe(on: .mainActor) { value in
      MainActor.assumeIsolated { write(value) }
    }
  }
}
