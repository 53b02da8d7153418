/// A value of a signal: the state of its node, and the update that brings it.
@usableFromInline
package final class SignalValue<Value: Sendable>: NodeUpdate {
  @usableFromInline package let value: Value

  @inlinable
  package init(_ value: Value) {
    self.value = value
  }

  /// The value of an event that is known to be one.
  // Inlined: a call that is not would look up the type of the class.
  @inlinable @inline(__always)
  package static func read(_ event: NodeState) -> Value {
    unsafeDowncast(event, to: SignalValue<Value>.self).value
  }

  @usableFromInline package var state: NodeState { self }
  @usableFromInline package var hasChange: Bool { true }
  @usableFromInline package var isStatusStep: Bool { false }
  @usableFromInline package var changeCount: Int { 1 }
  @usableFromInline package var size: (changes: Int, limit: Int) { (1, .max) }

  // The next value replaces this one.
  @usableFromInline package func composed(with next: any NodeUpdate) -> any NodeUpdate { next }
  @usableFromInline package var isComposed: Bool { false }
  @usableFromInline package func resolved() -> (any NodeUpdate)? { self }
  @usableFromInline package func continues(_ state: NodeState) -> Bool { true }
  @usableFromInline package func continued(from state: NodeState) -> any NodeUpdate { self }
}

// A node of a signal has values of one type, which only the signal knows.
extension Node {
  /// Sends a value to the observers, after pending ones. After the end, it does nothing.
  package func send<Value: Sendable>(value: Value) {
    send(SignalValue(value))
  }

  /// Observes the values. A signal with a memory delivers its latest value first. Nothing is started.
  func observe<Value: Sendable>(
    on scheduler: DeliveryScheduler, policy: DeliveryPolicy, keeping kept: AnyObject,
    _ handler: @escaping @Sendable (Value) -> Void, onCompletion: (@Sendable () -> Void)? = nil
  ) -> Disposable {
    guard let schedule = scheduler.schedule else {
      // Without `SignalEvent`, which would be retained for each call (`EngineBenchmarks property`).
      return subscribe(keeping: kept) { event in
        if event === SignalEnd.shared {
          onCompletion?()
        } else {
          handler(SignalValue<Value>.read(event))
        }
      }
    }
    let mailbox = Mailbox<LatestSignal<Value>>(on: schedule, policy: policy) { waiting, mailbox in
      if let box = waiting.value { handler(box.value) }
      guard waiting.isEnd else { return }
      if !mailbox.isOver { onCompletion?() }
      mailbox.retire()
    }
    return subscribe(keeping: kept, mailbox: mailbox) {
      mailbox.post(LatestSignal(SignalEvent(event: $0)))
    }
  }

  /// Observes the values and the end as they are delivered.
  func observeEvents<Value: Sendable>(
    keeping kept: AnyObject, _ handler: @escaping @Sendable (SignalEvent<Value>) -> Void
  ) -> Disposable {
    subscribe(keeping: kept) { handler(SignalEvent(event: $0)) }
  }

  private func subscribe(
    keeping kept: AnyObject, mailbox: (any MailboxFlushing)? = nil,
    _ handler: @escaping @Sendable (NodeState) -> Void
  ) -> Disposable {
    let observation = observers.subscribe(
      handler, mailbox: mailbox, capture: { _ in published }, first: handler)
    return Disposable(observation, keeping: kept)
  }
}

/// The computation of an operator over signals of one type. One thread at a time calls it.
struct SignalKernel<Input: Sendable, Output: Sendable> {
  /// Takes a value of one of the inputs, and returns a value to send or `nil`.
  ///
  /// If several inputs have an update in one pass, the last result is the update of the output. The
  /// closure sets `ends` if the output ends with this value.
  let take: (_ value: Input, _ input: Int, _ ends: inout Bool) -> Output?
  /// Takes the end of an input, and returns whether the output ends too.
  var end: (_ input: Int) -> Bool = { _ in true }

  /// Creates the node of the operator.
  ///
  /// - Parameters:
  ///   - nodes: The nodes of the signals. There is at least one, and all are in one domain.
  ///   - owners: The signals, if the inputs must keep them alive until the end.
  ///   - remembers: A Boolean value that indicates whether new observers receive the latest value
  ///     first. The default is `true` if all inputs do so.
  func node(
    over nodes: [Node], keeping owners: [Signal<Input>] = [], remembers: Bool? = nil
  ) -> Node {
    let inputs = nodes.indices.map {
      NodeInput(nodes[$0], keeping: owners.isEmpty ? nil : owners[$0])
    }
    return Node(
      over: inputs, remembers: remembers ?? nodes.allSatisfy(\.remembers), composesSteps: false
    ) { node in
      var made: SignalValue<Output>?
      // By index: iterating allocates for each element in code that is not specialized.
      for index in 0..<inputs.count where !node.ends {
        let input = inputs[index]
        if let value = input.value,
          let output = take(SignalValue<Input>.read(value), index, &node.ends)
        {
          made = SignalValue(output)
        }
        if !node.ends, input.ends, end(index) { node.ends = true }
      }
      return made
    }
  }
}

/// The end of a signal on its way to observers. There is one object of it, known without its type.
final class SignalEnd: Sendable {
  static let shared = SignalEnd()

  private init() {}
}

/// A value or the end, as observers of a signal receive it.
///
/// This is not an optional value, because code that is not specialized looks up the type of an optional at
/// every step (`EngineBenchmarks property`).
struct SignalEvent<Value: Sendable>: Sendable {
  let event: NodeState

  var isEnd: Bool { event === SignalEnd.shared }

  /// The value. Do not read it at the end.
  var value: Value { box.value }

  /// The value as an object. Do not read it at the end.
  var box: SignalValue<Value> { unsafeDowncast(event, to: SignalValue<Value>.self) }
}

/// The pending events of a scheduled observer: the latest value, and the end.
struct LatestSignal<Value: Sendable>: Mergeable {
  private(set) var value: SignalValue<Value>?
  private(set) var isEnd: Bool

  init(_ event: SignalEvent<Value>) {
    isEnd = event.isEnd
    value = isEnd ? nil : event.box
  }

  mutating func merge(with later: Self) -> SignalValue<Value>? {
    let replaced = later.value == nil ? nil : value
    value = later.value ?? value
    isEnd = later.isEnd
    return replaced
  }
}
