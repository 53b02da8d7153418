import SwappablePrimitives
import Synchronization

/// A value that can be observed.
///
///     let name = Property("Ada")
///     let observation = name.observe { print($0) }  // Ada
///     name.value = "Grace"                          // Grace
///
/// Its signal never ends.
public final class Property<Value: Sendable>: SignalSource, @unchecked Sendable {
  // Sendable: `draft` and `isModifying` are accessed only by the thread inside `gate`.

  /// A signal that delivers the newest value to each new observer, and then each value that is set.
  public let signal: Signal<Value>
  private let gate = RecursiveGate()
  /// The value that was set inside a transaction over several roots.
  private var draft: Value?
  /// A Boolean value that indicates whether a thread has set the draft.
  ///
  /// If it is `false`, a read does not ask for the calling thread, which would take as long as the
  /// rest of the read.
  private let hasDraft = Atomic<Bool>(false)
  private var isModifying = false

  /// Creates a property.
  ///
  /// - Parameter value: The first value.
  public convenience init(_ value: Value) {
    self.init(value, pauseHook: nil)
  }

  package init(_ value: Value, pauseHook: PauseHook?) {
    signal = Signal(Node(domain: Domain(pauseHook: pauseHook), state: SignalValue(value)))
  }

  /// The current value.
  ///
  /// If you set the value inside an observer, the new value is delivered after all observers have received
  /// the current one. Inside `withTransaction`, the thread that sets the value reads it at once, and other
  /// threads read the committed value until the transaction ends. A change such as `value += 1` is a read and an edit:
  /// if several threads change the value, use ``modify(_:)``.
  public var value: Value {
    get {
      signal.node.observers.tracking.willRead()
      return newest
    }
    set { modify { $0 = newValue } }
  }

  /// The current value, read without observation tracking.
  var newest: Value {
    schedulePoint()
    return hasDraft.load(ordering: .relaxed) ? draftOrCurrent() : current
  }

  // Not inlined: looking up the type of an optional takes longer than a read.
  @inline(never) private func draftOrCurrent() -> Value { openDraft ?? current }

  /// The newest committed value.
  private var current: Value {
    guard let state = signal.node.current else {
      preconditionFailure("the node of a property has no state")
    }
    return SignalValue<Value>.read(state)
  }

  /// The value inside a transaction of the calling thread.
  var openDraft: Value? {
    guard hasDraft.load(ordering: .relaxed) else { return nil }
    return gate.isOwned(by: .current) ? draft : nil
  }

  /// Changes the value in place, atomically with respect to other threads.
  ///
  /// - Parameter body: A closure that changes the value. If it throws, the value stays as it was. Do not
  ///   set this property inside the closure; doing so traps.
  /// - Returns: The return value of `body`.
  @discardableResult
  public func modify<Result, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let thread = ThreadID.current
    if gate.isOwned(by: thread) { return try modifyDraft(body) }
    gate.enter(as: thread)
    if let transaction = ThreadContext.current.transaction {
      // The transaction commits or rolls back at its end, and leaves the gate.
      transaction.add(self)
      return try modifyDraft(body)
    }
    isModifying = true
    var value = current
    // Releasing the value may set this property, so this happens after the gate is left.
    defer { withExtendedLifetime(value) {} }
    let result: Result
    do {
      result = try body(&value)
    } catch {
      isModifying = false
      gate.leave(as: thread)
      throw error
    }
    isModifying = false
    // Another thread may have delivered the value meanwhile, so the returned references may be the last ones.
    withExtendedLifetime(signal.node.commit(SignalValue(value), tickets: [])) {
      gate.leave(as: thread)
    }
    domain.deliver()
    return result
  }

  private func modifyDraft<Result, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    precondition(!isModifying, "a property cannot be set inside its own modify(_:)")
    ThreadContext.current.willEdit(self)
    // Releasing the draft may set this property, so this happens after the end of the modification.
    let replaced = draft
    defer { withExtendedLifetime(replaced) {} }
    var value = replaced ?? current
    isModifying = true
    defer { isModifying = false }
    let result = try body(&value)
    draft = value
    hasDraft.store(true, ordering: .relaxed)
    return result
  }

  /// Observes the property.
  ///
  /// The observer receives the current value before this method returns, and then each new value.
  ///
  /// - Parameters:
  ///   - scheduler: Where to call the observer. The default, `.immediate`, calls it on the thread that sets
  ///     the value.
  ///   - policy: How to buffer values for an observer that is not called immediately. The default keeps
  ///     only the latest value.
  ///   - handler: The observer. It is never called concurrently with itself.
  /// - Returns: A handle that keeps the observation, and this property, alive.
  public func observe(
    on scheduler: DeliveryScheduler = .immediate, policy: DeliveryPolicy = .coalesce,
    _ handler: @escaping @Sendable (Value) -> Void
  ) -> Disposable {
    signal.node.observe(on: scheduler, policy: policy, keeping: self, handler)
  }

  /// Observes the property on the main actor.
  ///
  /// The observer receives the current value, and then each new value.
  ///
  /// - Parameters:
  ///   - policy: How to buffer values for the observer. The default keeps only the latest value.
  ///   - handler: The observer.
  /// - Returns: A handle that keeps the observation, and this property, alive.
  public func observeOnMainActor(
    policy: DeliveryPolicy = .coalesce, _ handler: @escaping @MainActor @Sendable (Value) -> Void
  ) -> Disposable {
    observe(on: .mainActor, policy: policy) { value in
      MainActor.assumeIsolated { handler(value) }
    }
  }
}

extension Property: TransactionParticipant {
  @usableFromInline package var domain: Domain { signal.node.domain }

  @usableFromInline
  package func prepareCommit() -> Bool { draft != nil }

  @usableFromInline
  package func commitTransaction(tickets: [Ticket]) -> Any {
    defer { gate.leave(as: .current) }
    hasDraft.store(false, ordering: .relaxed)
    guard let value = draft else { return () }
    draft = nil
    return (value, signal.node.commit(SignalValue(value), tickets: tickets))
  }

  @usableFromInline
  package func rollBackTransaction() -> Any {
    let dropped = draft
    draft = nil
    hasDraft.store(false, ordering: .relaxed)
    gate.leave(as: .current)
    return dropped as Any
  }

  @usableFromInline
  package func saveTransaction() -> () -> Any {
    let saved = draft
    return { [self] in
      let dropped = draft
      draft = saved
      return dropped as Any
    }
  }
}

/// A value that can be read and observed: a property, a view of one, or a part of one.
///
/// Operators of collections take it where a parameter may change:
///
///     let query = Property("")
///     let found = todos.filter(by: query) { todo, query in todo.title.contains(query) }
///
/// To see the value, print it: `print(query)` prints `Property<String>: milk`. Printing is not tracked as a read.
public protocol PropertySource<Value>: SignalSource, CustomStringConvertible, CustomReflectable {
  /// A read-only view of the value.
  var readOnly: ReadOnlyProperty<Value> { get }
}

extension PropertySource {
  /// The type and the current value.
  public var description: String { "\(type(of: self)): \(readOnly.newest)" }

  /// The current value.
  public var customMirror: Mirror {
    Mirror(
      self, children: ["value": readOnly.newest],
      displayStyle: Self.self is AnyClass ? .class : .struct)
  }
}

extension Property: PropertySource {}

extension ReadOnlyProperty: PropertySource {
  /// The property itself.
  public var readOnly: ReadOnlyProperty<Value> { self }
}
