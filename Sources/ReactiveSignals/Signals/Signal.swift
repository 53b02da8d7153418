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
    on scheduler: Scheduler = .immediate, policy: DeliveryPolicy = .coalesce,
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
    on scheduler: Scheduler = .immediate, policy: DeliveryPolicy = .coalesce,
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

  package init(pauseHook: PauseHook?) {
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
