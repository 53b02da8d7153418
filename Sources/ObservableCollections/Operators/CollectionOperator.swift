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
public protocol CollectionOperator<Output>: Sendable {
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
  public func transformed<Operator: CollectionOperator>(
    by makeOperator: (CollectionInput<Element>) -> Operator
  ) -> LiveCollection<Operator.Output> {
    LiveCollection { makeOperator($0.collection(self)) }
  }
}

/// An input of an operator, as its kernel sees it.
protocol OperatorInput: NodeInput {
  /// Connects the input to a node of a domain: its own node, or a boundary to its own node.
  func connect(in domain: Domain)

  /// A Boolean value that indicates whether the current pass changes the value or the contents.
  var isChanged: Bool { get }
  /// A Boolean value that indicates whether the current pass changes the status.
  var hasStatusStep: Bool { get }
  /// The status of a collection, and whether it has loaded. A property has none.
  var status: (status: SourceStatus, hasLoaded: Bool)? { get }
}

/// A collection that an operator reads.
///
/// ``OperatorInputs`` creates an input. Read it only inside the operator's `start(_:)` and `update(_:)`.
public final class CollectionInput<Element: Differentiable & Sendable>: @unchecked Sendable {
  // Sendable: `source` is set before the derived node exists. `slot` and the recorded part of `steps` are
  // guarded by the domain's lock. The creator of the derived node owns the rest until that is live, and
  // the delivering thread from then on.

  private var source: CollectionNode<Element>
  private let owner: any DataSource<Element>
  package var slot = -1
  /// The steps to replay while the derived node is joining, and `nil` when it is live.
  private var steps: RecordedSteps<CollectionUpdate<Element>?>? = RecordedSteps()
  /// The state while the derived node is joining.
  private var replayed: StateBox<Element>?

  package init(_ owner: any DataSource<Element>) {
    self.owner = owner
    source = owner.collection.node
  }

  /// The contents, after the current change.
  public var snapshot: Snapshot<Element> { box.state.snapshot }

  /// The change of the contents that the operator must follow, or `nil` if they have not changed.
  public var change: CollectionChange<Element>? { update?.change }

  private var update: CollectionUpdate<Element>? {
    if let steps { return steps.current ?? nil }
    return source.update
  }

  private var box: StateBox<Element> {
    if let replayed { return replayed }
    return source.update?.box ?? source.publishedForPass
  }
}

extension CollectionInput: OperatorInput {
  package var node: any GraphNode { source }

  func connect(in domain: Domain) {
    if source.domain !== domain { source = source.makeBoundary(in: domain) }
  }

  package func recordState() {
    // It was not set before, so nothing is released here.
    replayed = source.publishedForPass
    steps?.record(nil)
  }

  package func recordUpdate() { steps?.record(source.update) }

  package func takeRecorded() { steps?.takeRecorded() }

  package var hasStep: Bool { steps?.hasStep == true }

  package func replayStep(composing: Bool) {
    let compose = { (step: CollectionUpdate<Element>?, next: CollectionUpdate<Element>?) in
      guard let step, let next else { return next ?? step }
      return step.composed(with: next)
    }
    guard let steps else { return }
    let isFirst = if case .none = steps.current { true } else { false }
    let released = (steps.next(composing: composing ? compose : nil), replayed)
    let update = steps.current ?? nil
    if let update {
      replayed = update.box
      // The first step is a state: the operator starts with it, and follows no change.
      steps.current = .some(isFirst ? nil : update.resolved())
    }
    withExtendedLifetime((released, update)) {}
  }

  package func endReplay() -> Any {
    defer { (steps, replayed) = (nil, nil) }
    return (steps, replayed)
  }

  var isChanged: Bool { update?.hasChange == true }
  var hasStatusStep: Bool { update?.isStatusStep == true }
  var status: (status: SourceStatus, hasLoaded: Bool)? { (box.state.status, box.state.hasLoaded) }
}

/// A property that an operator reads.
///
/// ``OperatorInputs`` creates an input. Read it only inside the operator's `start(_:)` and `update(_:)`.
public final class PropertyInput<Value: Sendable>: Sendable {
  private let port: SignalPort<Value>
  private let property: ReadOnlyProperty<Value>

  init(_ property: ReadOnlyProperty<Value>) {
    port = SignalPort(property.signal.node, keeping: property.signal)
    self.property = property
  }

  /// The value, after the current change.
  public var value: Value { port.value ?? property.newest }

  /// A Boolean value that indicates whether the change that the operator must follow has set the value.
  public var isSet: Bool { port.update != nil }
}

extension PropertyInput: OperatorInput {
  package var node: any GraphNode { port.node }
  package var slot: Int {
    get { port.slot }
    set { port.slot = newValue }
  }
  func connect(in domain: Domain) { port.connect(in: domain) }
  package func recordState() { port.recordState() }
  package func recordUpdate() { port.recordUpdate() }
  package func takeRecorded() { port.takeRecorded() }
  package var hasStep: Bool { port.hasStep }
  package func replayStep(composing: Bool) { port.replayStep(composing: composing) }
  package func endReplay() -> Any { port.endReplay() }

  var isChanged: Bool { isSet }
  var hasStatusStep: Bool { false }
  var status: (status: SourceStatus, hasLoaded: Bool)? { nil }
}

/// The inputs of an operator: collections and properties of any type.
///
/// ``LiveCollection/init(_:)`` passes an instance to a closure that creates an operator.
public final class OperatorInputs {
  private var inputs: [any OperatorInput] = []
  private var collectionDomains: [Domain] = []
  fileprivate private(set) var sources: [any AnyObject & Sendable] = []

  init() {}

  /// Adds a collection.
  ///
  /// - Parameter source: The collection. If it is idle, it is started.
  /// - Returns: An input that provides the contents and the changes of the collection.
  public func collection<Element>(_ source: any DataSource<Element>) -> CollectionInput<Element> {
    source.start()
    let input = CollectionInput(source)
    inputs.append(input)
    sources.append(source)
    let domain = input.node.domain
    if !collectionDomains.contains(where: { $0 === domain }) { collectionDomains.append(domain) }
    return input
  }

  /// Adds a property.
  ///
  /// - Parameter property: The property.
  /// - Returns: An input that provides the value of the property.
  public func property<Value>(_ property: ReadOnlyProperty<Value>) -> PropertyInput<Value> {
    let input = PropertyInput(property)
    inputs.append(input)
    sources.append(property.signal)
    return input
  }

  /// Adds a property.
  ///
  /// - Parameter property: The property.
  /// - Returns: An input that provides the value of the property.
  public func property<Value>(_ property: Property<Value>) -> PropertyInput<Value> {
    self.property(property.readOnly)
  }

  /// Connects all inputs in one domain.
  ///
  /// The inputs are connected in the domain of the collections, if they share one. A change of a
  /// property is then a commit in that domain. If the collections are in several domains, the
  /// operator has a domain of its own. The same applies if a property is downstream of the domain:
  /// domains in a cycle cannot wait for each other, and observers would receive parts of a
  /// transaction.
  func connect() -> [any OperatorInput] {
    precondition(!inputs.isEmpty, "an operator must have at least one input, but has none")
    var candidates = collectionDomains
    if candidates.isEmpty { candidates = [inputs[0].node.domain] }
    var domain = candidates[0]
    let isCycle = inputs.contains { input in
      input.node.domain !== domain && DependencyGraph.isUpstream(domain, of: input.node.domain)
    }
    if candidates.count > 1 || isCycle { domain = Domain() }
    for input in inputs { input.connect(in: domain) }
    return inputs
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
  /// each change of an input causes an event. Inputs that change in one `withTransaction` always cause
  /// one event.
  ///
  /// The status is the worst status of the collections.
  ///
  /// - Parameter makeOperator: A closure that adds the inputs and creates the operator.
  public convenience init<Operator: CollectionOperator>(
    _ makeOperator: (OperatorInputs) -> Operator
  ) where Operator.Output == Element {
    let inputs = OperatorInputs()
    let kernel = makeOperator(inputs)
    self.init(CollectionNode(over: inputs.connect(), kernel), upstream: inputs.sources)
  }
}
