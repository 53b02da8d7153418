package import Diffing
import ReactiveSignals

/// An operator over any number of inputs, as the engine runs it.
package protocol OperatorKernel<Input, Output>: Sendable {
  associatedtype Input: Differentiable & Sendable
  associatedtype Output: Differentiable & Sendable

  mutating func start(_ inputs: [Snapshot<Input>]) -> [Output]

  /// - Parameters:
  ///   - changes: What became of each input; nil where nothing did. At least one is not nil.
  ///   - output: The output so far.
  mutating func apply(
    _ changes: [CollectionChange<Input>?], to output: Snapshot<Output>
  ) -> (output: [Output], changeset: Changeset)?
}

/// An operator over one input.
struct UnaryKernel<Wrapped: CollectionOperator>: OperatorKernel {
  var wrapped: Wrapped

  mutating func start(_ inputs: [Snapshot<Wrapped.Input>]) -> [Wrapped.Output] {
    wrapped.start(with: inputs[0])
  }

  mutating func apply(
    _ changes: [CollectionChange<Wrapped.Input>?], to output: Snapshot<Wrapped.Output>
  ) -> (output: [Wrapped.Output], changeset: Changeset)? {
    changes[0].flatMap { wrapped.apply($0, to: output) }
  }
}

/// A kernel with the state of what it makes.
struct OperatorRun<Kernel: OperatorKernel> {
  private var kernel: Kernel
  private var statuses: [(status: SourceStatus, hasLoaded: Bool)]
  /// The newest state computed, published or not.
  private(set) var state: CollectionState<Kernel.Output>

  init(_ kernel: Kernel, _ inputs: [CollectionState<Kernel.Input>]) {
    self.kernel = kernel
    statuses = inputs.map { ($0.status, $0.hasLoaded) }
    state = CollectionState(
      Snapshot(self.kernel.start(inputs.map(\.snapshot))), revision: 0, status: .loaded,
      hasLoaded: false)
    state.status = status
    state.hasLoaded = hasLoaded
  }

  /// Goes on by what a round brings to the inputs.
  mutating func advance(
    by updates: [CollectionUpdate<Kernel.Input>?]
  ) -> CollectionUpdate<Kernel.Output>? {
    let changes = updates.map { $0?.change }
    for (index, update) in updates.enumerated() {
      if let update { statuses[index] = (update.state.status, update.state.hasLoaded) }
    }
    var contents: (snapshot: Snapshot<Kernel.Output>, changeset: Changeset)?
    if changes.contains(where: { $0 != nil }),
      let (output, recorded) = kernel.apply(changes, to: state.snapshot)
    {
      // An operator may make equal elements of different ones, and let one go as its twin comes.
      let snapshot = Snapshot(output)
      let changeset = recorded.normalForm(from: state.snapshot, to: snapshot)
      if !changeset.hasNoEffect(from: state.snapshot, to: snapshot) {
        contents = (snapshot, changeset)
      }
    }
    let update = state.advanced(to: contents, status: status, hasLoaded: hasLoaded)
    if let update { state = update.state }
    return update
  }

  /// The worst of the inputs.
  private var status: SourceStatus {
    statuses.dropFirst().reduce(statuses.first?.status ?? .loaded) { $0.worse($1.status) }
  }

  private var hasLoaded: Bool { statuses.allSatisfy(\.hasLoaded) }
}
