import SwappablePrimitives

/// A value that can be observed.
///
///     let name = Property("Ada")
///     let observation = name.observe { print($0) }  // Ada
///     name.value = "Grace"                          // Grace
///
/// Its signal never ends.
public final class Property<Value: Sendable>: SignalSource {
  /// The values as a signal: the newest for each new observer, and then each that is set.
  public let signal: Signal<Value>
  private let gate = RecursiveGate()

  /// Makes a property.
  ///
  /// - Parameter value: What it holds at first.
  public convenience init(_ value: Value) {
    self.init(value, pauseHook: nil)
  }

  package init(_ value: Value, pauseHook: PauseHook?) {
    signal = Signal(
      SignalNode(domain: Domain(pauseHook: pauseHook), latest: value))
  }

  /// The newest value that was set.
  ///
  /// Setting it inside an observer is legal: it is delivered after all observers have had the
  /// present one.
  public var value: Value {
    get {
      signal.node.tracking.willRead()
      return newest
    }
    set { modify { $0 = newValue } }
  }

  /// The value, for who is not to be told of changes.
  var newest: Value { signal.node.current }

  /// Changes the value in place, as one step between those of other threads.
  ///
  /// - Parameter body: Changes the value. If it throws, nothing is changed. It must not change this
  ///   same property in another way.
  /// - Returns: What `body` returns.
  @discardableResult
  public func modify<Result, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let thread = ThreadID.current
    precondition(!gate.isOwned(by: thread), "a property is set inside its own modify(_:)")
    gate.enter(as: thread)
    var draft = newest
    // What the draft lets go of may set this property: the gate is left then.
    defer { withExtendedLifetime(draft) {} }
    let result: Result
    do {
      result = try body(&draft)
    } catch {
      gate.leave(as: thread)
      throw error
    }
    signal.node.commit(draft) { gate.leave(as: thread) }
    return result
  }

  /// Subscribes: the observer is told the newest value at once, and then each that is set.
  ///
  /// - Parameters:
  ///   - scheduler: Where the observer is called.
  ///   - policy: What becomes of values that wait; of merged ones the latest is delivered. It
  ///     matters only where the observer is called elsewhere.
  ///   - handler: Called with each value.
  /// - Returns: What keeps the observation and this property alive; letting it go ends it.
  public func observe(
    on scheduler: Scheduler = .immediate, policy: DeliveryPolicy = .coalesce,
    _ handler: @escaping @Sendable (Value) -> Void
  ) -> Disposable {
    signal.node.observe(on: scheduler, policy: policy, keeping: self, handler)
  }
}
