public import ReactiveSignals

/// An operator that computes the value of a property whenever its inputs change.
///
/// An operator stores its inputs and the state that it needs between two changes. The engine calls it
/// from one thread at a time.
///
///     struct Progress: PropertyOperator {
///       let open: CollectionInput<Todo>
///       let all: CollectionInput<Todo>
///       func start() -> Double { update() }
///       func update() -> Double {
///         all.snapshot.isEmpty ? 1 : 1 - Double(open.snapshot.count) / Double(all.snapshot.count)
///       }
///     }
///     let open = todos.filter { !$0.isDone }
///     let progress = ReadOnlyProperty { inputs in
///       Progress(open: inputs.collection(open), all: inputs.collection(todos))
///     }
///
/// For a value that is combined from the elements of one collection, `aggregate(empty:value:combine:)` of
/// ``LiveAggregates`` is simpler.
public protocol PropertyOperator<Value>: ~Copyable, Sendable {
  /// The type of the value.
  associatedtype Value: Sendable

  /// Returns the first value. This is called once, before anything else.
  mutating func start() -> Value

  /// Returns the value after at least one input has changed.
  mutating func update() -> Value

  /// Returns whether a new value equals the previous one. If it does, nothing is sent.
  ///
  /// The default implementation uses `==` if the type is `Equatable`, and counts a NaN as equal to
  /// itself. For other types, it returns `false`, so each change of an input sends a value.
  ///
  /// - Parameters:
  ///   - old: The previous value.
  ///   - new: The new value.
  func areEqual(_ old: Value, _ new: Value) -> Bool
}

extension PropertyOperator where Self: ~Copyable {
  /// Returns `false`.
  @inlinable
  public func areEqual(_ old: Value, _ new: Value) -> Bool { false }
}

extension PropertyOperator where Self: ~Copyable, Value: Equatable {
  /// Returns whether both values are equal, or both differ from themselves.
  @inlinable
  public func areEqual(_ old: Value, _ new: Value) -> Bool {
    old == new || (old != old && new != new)
  }
}

extension ReadOnlyProperty {
  /// Creates a property that an operator derives from its inputs.
  ///
  ///     let progress = ReadOnlyProperty { inputs in
  ///       Progress(open: inputs.collection(open), all: inputs.collection(todos))
  ///     }
  ///
  /// If all collections among the inputs are derived from one root, a change of the root sends at
  /// most one value, and so does a change of a property. Otherwise, the result has a domain of its own,
  /// and each change of an input may send a value. Inputs that change in one `withTransaction` send at
  /// most one value.
  ///
  /// The value is up to date with the derived collections of the same root. While another thread delivers a
  /// change of the root, the root may show the next contents already.
  ///
  /// - Parameter makeOperator: A closure that adds the inputs and creates the operator.
  @inlinable
  public init<Operator: PropertyOperator & ~Copyable>(
    _ makeOperator: (OperatorInputs) -> Operator
  ) where Operator.Value == Value {
    let inputs = OperatorInputs()
    self = inputs.property(by: makeOperator(inputs))
  }
}

extension OperatorInputs {
  /// Creates the property that an operator derives from the inputs.
  @inlinable
  func property<Operator: PropertyOperator & ~Copyable>(
    by wrapped: consuming Operator
  ) -> ReadOnlyProperty<Operator.Value> {
    connect()
    let run = PropertyOperatorKernel(wrapped, inputs)
    let node = Node(
      over: inputs, remembers: true, composesSteps: true,
      type: PropertyOperatorKernel<Operator>.self, run.compute)
    return ReadOnlyProperty(derived: Signal(node, upstream: sources))
  }
}

/// An operator with its inputs: it computes the values of a derived property.
@usableFromInline
final class PropertyOperatorKernel<Operator: PropertyOperator & ~Copyable>: NodeCreator {
  static var name: String { String(describing: Operator.self) }

  @usableFromInline let inputs: [NodeInput]
  @exclusivity(unchecked) @usableFromInline var wrapped: Operator

  @inlinable
  init(_ wrapped: consuming Operator, _ inputs: [NodeInput]) {
    self.wrapped = wrapped
    self.inputs = inputs
  }

  /// Computes the first value, or the value of the current pass.
  @inlinable
  func compute(_ node: Node) -> (any NodeUpdate)? {
    guard let published = node.published else { return SignalValue(wrapped.start()) }
    var hasChange = false
    for index in 0..<inputs.count where inputs[index].hasChange { hasChange = true }
    // A step of the status alone changes no contents.
    if !hasChange { return nil }
    let value = wrapped.update()
    if wrapped.areEqual(SignalValue<Operator.Value>.read(published), value) { return nil }
    return SignalValue(value)
  }
}

extension ReadOnlyProperty {
  /// Creates a property that is computed from other properties.
  ///
  ///     let isReady = ReadOnlyProperty(combining: name, price) { !$0.isEmpty && $1 > 0 }
  ///
  /// Properties that change together, because they have one origin or are set in one `withTransaction`, send at most one
  /// value. A value that is equal to the last one is not sent.
  ///
  /// - Parameters:
  ///   - properties: The properties, or views of them.
  ///   - combine: A closure that returns the value. The result must depend only on its parameters.
  public init<each Input: PropertySource>(
    combining properties: repeat each Input,
    by combine: @escaping @Sendable (repeat (each Input).Value) -> Value
  ) where Value: Equatable {
    self.init { inputs in
      CombiningOperator(inputs: (repeat inputs.property(each properties)), combine: combine)
    }
  }
}

/// An operator that combines the values of properties.
private struct CombiningOperator<each Input: Sendable, Value: Equatable & Sendable>:
  PropertyOperator
{
  let inputs: (repeat PropertyInput<each Input>)
  let combine: @Sendable (repeat each Input) -> Value

  func start() -> Value { update() }
  func update() -> Value { combine(repeat (each inputs).value) }
}
