import Diffing
import ReactiveSignals

/// An input of an operator, as its kernel sees it.
protocol OperatorInput: NodeInput {
  /// Makes the input follow a node of a domain: its own node, or a boundary to that.
  func connect(in domain: Domain)

  /// A Boolean value that indicates whether the present pass changes the value or the contents.
  var isChanged: Bool { get }
  /// A Boolean value that indicates whether the present pass changes the status.
  var hasStatusStep: Bool { get }
  /// The status of a collection, and whether it has loaded. A property has none.
  var status: (status: SourceStatus, hasLoaded: Bool)? { get }
}

/// An operator with its inputs: it computes the state of a derived node.
struct OperatorKernel<Output: Differentiable & Sendable> {
  private let inputs: [any OperatorInput]
  private var wrapped: any CollectionOperator<Output>

  init(_ inputs: [any OperatorInput], _ wrapped: any CollectionOperator<Output>) {
    self.inputs = inputs
    self.wrapped = wrapped
  }

  mutating func start() -> CollectionState<Output> {
    let draft = CollectionDraft(Snapshot<Output>())
    wrapped.start(draft)
    let snapshot = draft.snapshot
    draft.close()
    let (status, hasLoaded) = status
    return CollectionState(snapshot, revision: 0, status: status, hasLoaded: hasLoaded)
  }

  /// Computes what the present pass brings to the output.
  mutating func update(_ state: CollectionState<Output>) -> CollectionUpdate<Output>? {
    var contents: (snapshot: Snapshot<Output>, changeset: Changeset)?
    if inputs.contains(where: \.isChanged) {
      let draft = CollectionDraft(state.snapshot)
      wrapped.update(draft)
      contents = draft.outcome()
      draft.close()
    }
    guard inputs.contains(where: \.hasStatusStep) else {
      return state.advanced(to: contents, status: state.status, hasLoaded: state.hasLoaded)
    }
    let (status, hasLoaded) = status
    return state.advanced(to: contents, status: status, hasLoaded: hasLoaded)
  }

  /// The worst status of the inputs, and whether all have loaded.
  private var status: (status: SourceStatus, hasLoaded: Bool) {
    let all = inputs.compactMap(\.status)
    guard let first = all.first else { return (.loaded, true) }
    return (
      all.dropFirst().reduce(first.status) { $0.worse($1.status) }, all.allSatisfy(\.hasLoaded)
    )
  }
}
