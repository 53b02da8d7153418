import Diffing
package import ReactiveSignals

/// The node of an operator whose inputs share one domain, which becomes its own.
package final class OperatorNode<Kernel: OperatorKernel>: CollectionNode<Kernel.Output>,
  @unchecked Sendable
{
  // Sendable: `run` is used by whoever creates the node until it is live, and by the drainer from
  // then on; `missed` is guarded by the domain's lock.

  typealias Input = CollectionNode<Kernel.Input>

  private let inputs: [Input]
  private var run: OperatorRun<Kernel>?
  private var missed: [[CollectionUpdate<Kernel.Input>?]] = []

  /// Derives a collection.
  ///
  /// What the inputs are told while the first output is computed is recorded, and made up for before
  /// the node turns live.
  ///
  /// - Parameters:
  ///   - inputs: At least one node, all of one domain.
  ///   - kernel: Computes the output.
  init(_ inputs: [Input], _ kernel: Kernel) {
    self.inputs = inputs
    super.init(
      domain: inputs[0].domain, height: (inputs.map(\.height).max() ?? 0) + 1,
      state: CollectionState(unloaded: .idle))
    let states = domain.withLock { state in
      domain.beginJoining(self, &state)
      return inputs.map { $0.published(&state).state }
    }
    var run = OperatorRun(kernel, states)
    while true {
      begin(with: run.state)
      domain.pause(at: .caughtUp)
      let missed = domain.withLock { state in
        let missed = self.missed
        self.missed = []
        if missed.isEmpty {
          self.run = run
          domain.endJoining(self, &state)
        }
        return missed
      }
      if missed.isEmpty { return }
      for updates in missed { _ = run.advance(by: updates) }
    }
  }

  package override var upstream: [any DomainNode] { inputs.map { $0 } }

  package override func recordInputs(_ state: inout Domain.State) {
    if inputs.contains(where: { $0.update != nil }) { missed.append(inputs.map(\.update)) }
  }

  package override func compute() {
    guard inputs.contains(where: { $0.update != nil }) else { return }
    update = run?.advance(by: inputs.map(\.update))
  }
}
