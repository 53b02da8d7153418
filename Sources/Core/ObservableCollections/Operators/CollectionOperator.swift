public import Diffing
public import ReactiveSignals

/// An operator, which edits its output whenever its inputs change.
///
/// An operator stores its inputs and the state that it needs between two changes. The engine calls
/// it from one thread at a time, and takes care of order, revisions, status and delivery.
///
///     struct RunningTotal: CollectionOperator {
///       let amounts: CollectionInput<Amount>
///       mutating func start(_ output: CollectionDraft<Total>) { … }
///       mutating func update(_ output: CollectionDraft<Total>) { … }
///     }
///     let totals = LiveCollection { inputs in RunningTotal(amounts: inputs.collection(amounts)) }
///
/// An element that is moved or updated in an input should be moved or updated in the output, rather than
/// deleted and inserted. The draft finds an element that is removed at one place and inserted at another,
/// and reports it as moved. Elements that did not change should not be computed again.
public protocol CollectionOperator<Output>: ~Copyable, Sendable {
  /// The type of the elements of the output.
  associatedtype Output: Differentiable & Sendable

  /// Fills the output for the first time. This is called once, before anything else.
  ///
  /// - Parameter output: The output, which is empty.
  mutating func start(_ output: CollectionDraft<Output>)

  /// Edits the output after at least one input has changed.
  ///
  /// - Parameter output: The output as the previous call left it.
  mutating func update(_ output: CollectionDraft<Output>)
}

extension DataSource {
  /// Derives a collection from this one.
  ///
  ///     let reversed = source.transformed { Reversed(input: $0) }
  ///
  /// A change of this source causes at most one event of the derived collection. Both collections
  /// are up to date before any observer is called.
  ///
  /// - Parameter makeOperator: A closure that creates the operator.
  @inlinable
  public func transformed<Operator: CollectionOperator & ~Copyable>(
    by makeOperator: (CollectionInput<Element>) -> Operator
  ) -> LiveCollection<Operator.Output> {
    LiveCollection { makeOperator($0.collection(self)) }
  }
}

/// A collection that an operator reads.
///
/// ``OperatorInputs`` creates an input. Read it only inside the operator's `start(_:)` and `update(_:)`.
public final class CollectionInput<Element: Differentiable & Sendable>: Sendable {
  @usableFromInline let input: NodeInput

  @inlinable
  init(_ input: NodeInput) {
    self.input = input
  }

  /// The contents, after the current change.
  @inlinable public var snapshot: Snapshot<Element> {
    StateBox<Element>.read(input.state).state.snapshot
  }

  /// The change of the contents that the operator must follow, or `nil` if they have not changed.
  @inlinable public var change: CollectionChange<Element>? {
    guard let update = input.update else { return nil }
    return CollectionUpdate<Element>.read(update).change
  }
}

/// A property that an operator reads.
///
/// ``OperatorInputs`` creates an input. Read it only inside the operator's `start(_:)` and `update(_:)`.
public final class PropertyInput<Value: Sendable>: Sendable {
  @usableFromInline let input: NodeInput
  @usableFromInline let property: ReadOnlyProperty<Value>

  @inlinable
  init(_ input: NodeInput, _ property: ReadOnlyProperty<Value>) {
    self.input = input
    self.property = property
  }

  /// The value, after the current change.
  @inlinable public var value: Value {
    input.state.map { SignalValue<Value>.read($0) } ?? property.newest
  }

  /// A Boolean value that indicates whether the change that the operator must follow has set the value.
  ///
  /// It is `false` in `start(_:)`.
  @inlinable public var isSet: Bool { input.update != nil }
}

/// A parameter of an operator: a value, or a property whose value may change.
@usableFromInline
enum OperatorParameter<Value: Sendable>: Sendable {
  case constant(Value)
  case property(ReadOnlyProperty<Value>)

  /// Returns the value, and the input if it may change.
  @inlinable
  func read(_ inputs: OperatorInputs) -> (Value, PropertyInput<Value>?) {
    switch self {
    case .constant(let value): return (value, nil)
    case .property(let property):
      let input = inputs.property(property)
      return (input.value, input)
    }
  }
}

/// The inputs of an operator: collections and properties of any type.
///
/// ``LiveCollection/init(_:)`` passes an instance to a closure that creates an operator.
public final class OperatorInputs {
  @usableFromInline var inputs: [NodeInput] = []
  /// The inputs that are collections.
  @usableFromInline var collections: [StatusInput] = []
  @usableFromInline var sources: [any AnyObject & Sendable] = []
  /// The parts of the output that change by themselves, or `nil`.
  @usableFromInline var parts: PartitionedDependents?

  @inlinable
  init() {}

  /// Adds a collection.
  ///
  /// The output has loaded once all required inputs have loaded, all other inputs have loaded or failed, and
  /// at least one input has loaded. Add a collection that is not required if the output makes sense without
  /// its elements.
  ///
  /// - Parameters:
  ///   - source: The collection. If it is idle, it is started.
  ///   - isRequired: A Boolean value that indicates whether the output has not loaded until the collection has.
  /// - Returns: An input that provides the contents and the changes of the collection.
  public func collection<Element>(
    _ source: any DataSource<Element>, isRequired: Bool = true
  ) -> CollectionInput<Element> {
    source.start()
    let input = NodeInput(source.collection.node)
    inputs.append(input)
    collections.append(
      StatusInput(input: input, isRequired: isRequired) { state in
        let state = StateBox<Element>.read(state).state
        return (state.status, state.hasLoaded)
      })
    sources.append(source)
    return CollectionInput(input)
  }

  /// Adds a property.
  ///
  /// - Parameter property: The property, or a view of one.
  /// - Returns: An input that provides the value of the property.
  public func property<Value>(_ property: some PropertySource<Value>) -> PropertyInput<Value> {
    let property = property.readOnly
    let input = NodeInput(property.signal.node, keeping: property.signal)
    inputs.append(input)
    sources.append(property.signal)
    return PropertyInput(input, property)
  }

  /// Connects all inputs in one domain.
  ///
  /// The inputs are connected in the domain of the collections, if they share one. A change of a
  /// property is then a commit in that domain. If the collections are in several domains, the
  /// operator has a domain of its own. The same applies if a property is downstream of the domain:
  /// domains in a cycle cannot wait for each other, and observers would receive parts of a
  /// transaction.
  @usableFromInline
  func connect() {
    precondition(!inputs.isEmpty, "an operator must have at least one input, but has none")
    var domain = (collections.first?.input ?? inputs[0]).node.domain
    let isShared = collections.allSatisfy { $0.input.node.domain === domain }
    let isCycle = inputs.contains { input in
      input.node.domain !== domain && DependencyGraph.isUpstream(domain, of: input.node.domain)
    }
    if !isShared || isCycle { domain = Domain() }
    for input in inputs { input.connect(in: domain) }
  }

  /// Creates the collection that an operator derives from the inputs.
  @inlinable
  func collection<Operator: CollectionOperator & ~Copyable>(
    by wrapped: consuming Operator
  ) -> (node: Node, upstream: [any AnyObject & Sendable]) {
    connect()
    let run = OperatorKernel(wrapped, inputs, collections)
    let node = Node(
      over: inputs, remembers: true, composesSteps: true, type: OperatorKernel<Operator>.self,
      parts: parts,
      run.compute)
    return (node, sources)
  }
}

@usableFromInline
package typealias OperatorStatus = (status: SourceStatus, hasLoaded: Bool)

@usableFromInline
struct StatusInput {
  let input: NodeInput
  let isRequired: Bool
  /// Reads the status from the state of the input.
  let status: (NodeState) -> OperatorStatus
}

extension [StatusInput] {
  /// The worst status of the inputs, and whether their operator has loaded. See
  /// ``OperatorInputs/collection(_:isRequired:)``.
  var status: OperatorStatus {
    var worst: SourceStatus?
    var (isLoaded, isWaiting) = (false, false)
    for input in self {
      guard let state = input.input.state else { continue }
      let (status, hasLoaded) = input.status(state)
      worst = worst?.worse(status) ?? status
      isLoaded = isLoaded || hasLoaded
      isWaiting = isWaiting || !hasLoaded && (input.isRequired || status.error == nil)
    }
    return (worst ?? .loaded, worst == nil || isLoaded && !isWaiting)
  }
}

/// An operator with its inputs: it computes the updates of a derived collection.
@usableFromInline
final class OperatorKernel<Operator: CollectionOperator & ~Copyable>: NodeCreator {
  @usableFromInline typealias Output = Operator.Output

  static var name: String { String(describing: Operator.self) }

  @usableFromInline let inputs: [NodeInput]
  @usableFromInline let collections: [StatusInput]
  @exclusivity(unchecked) @usableFromInline var wrapped: Operator
  /// The draft of all passes, unless the operator has kept it. It holds the published contents between two.
  @exclusivity(unchecked) @usableFromInline var draft = CollectionDraft(Snapshot<Output>())

  @inlinable
  init(
    _ wrapped: consuming Operator, _ inputs: [NodeInput], _ collections: [StatusInput]
  ) {
    self.wrapped = wrapped
    self.inputs = inputs
    self.collections = collections
  }

  /// Computes the first state, or the update of the current pass.
  @inlinable
  func compute(_ node: Node) -> (any NodeUpdate)? {
    if node.published == nil { return start() }
    var (hasChange, isStatusStep) = (false, false)
    for index in 0..<inputs.count {
      hasChange = hasChange || inputs[index].hasChange
      isStatusStep = isStatusStep || inputs[index].isStatusStep
    }
    if hasChange {
      if isKnownUniquelyReferenced(&draft) {
        draft.isOpen = true
      } else {
        // The operator has kept it.
        let status = draft.newStatus
        draft = CollectionDraft(StateBox<Output>.read(node.published).state.snapshot)
        draft.newStatus = status
      }
      draft.isStatusSet = false
      wrapped.update(draft)
      isStatusStep = isStatusStep || draft.isStatusSet
    }
    let changeset = hasChange ? draft.finish() : nil
    return StateBox<Output>.read(node.published).state.advanced(
      to: draft.contents, by: changeset, isStatusStep ? status : nil)
  }

  @inlinable
  func start() -> CollectionUpdate<Output> {
    wrapped.start(draft)
    draft.close()
    let (status, hasLoaded) = status
    return CollectionUpdate(
      first: CollectionState(draft.contents, revision: 0, status: status, hasLoaded: hasLoaded))
  }

  /// The status of the collections, or a worse one that the operator has set.
  @usableFromInline var status: OperatorStatus {
    let (status, hasLoaded) = collections.status
    return (draft.newStatus.map { status.worse($0) } ?? status, hasLoaded)
  }
}

extension LiveCollection {
  /// Creates a collection that an operator derives from its inputs.
  ///
  ///     let rows = LiveCollection { inputs in
  ///       Join(orders: inputs.collection(orders), customers: inputs.collection(customers))
  ///     }
  ///
  /// If all collections among the inputs are derived from one root, a change of the root causes at most one
  /// event here, and so does a change of a property. Otherwise, the result has a domain of its own, and
  /// each change of an input may cause an event. Inputs that change in one `withTransaction` cause at most
  /// one event.
  ///
  /// The status is the worst status of the collections. ``OperatorInputs/collection(_:isRequired:)`` describes
  /// when the result has loaded.
  ///
  /// - Parameter makeOperator: A closure that adds the inputs and creates the operator.
  @inlinable
  public convenience init<Operator: CollectionOperator & ~Copyable>(
    _ makeOperator: (OperatorInputs) -> Operator
  ) where Operator.Output == Element {
    let inputs = OperatorInputs()
    let (node, upstream) = inputs.collection(by: makeOperator(inputs))
    self.init(node, upstream: upstream)
  }
}
