/// An input of a derived node that is a signal.
package final class SignalPort<Value: Sendable>: NodeInput, @unchecked Sendable {
  // Sendable: `signal` is set before the derived node exists. `slot` and the recorded part of `steps` are guarded by the domain's lock. The creator of the
  // derived node owns the rest until that is live, and the delivering thread from then on.

  private var signal: SignalNode<Value>
  private let owner: Signal<Value>?
  package var slot = -1
  private let steps = RecordedSteps<(value: Value?, ends: Bool)>()
  /// The latest value while the derived node is joining.
  private var replayed: Value?

  /// - Parameters:
  ///   - signal: The node of the signal.
  ///   - owner: The signal, if a boundary must keep it alive.
  package init(_ signal: SignalNode<Value>, keeping owner: Signal<Value>? = nil) {
    self.signal = signal
    self.owner = owner
  }

  /// Makes the input follow a node of a domain: the signal's own, or a boundary to it.
  package func connect(in domain: Domain) {
    if signal.domain !== domain { signal = signal.makeBoundary(in: domain, keeping: owner) }
  }

  package var node: any GraphNode { signal }

  /// The value that the present pass brings.
  package var update: Value? { steps.isReplaying ? steps.current?.value : signal.update }

  /// A Boolean value that indicates whether the present pass brings the end.
  package var ends: Bool { steps.isReplaying ? steps.current?.ends == true : signal.ends }

  /// The latest value of a signal with a memory, including that of the present pass.
  package var value: Value? {
    steps.isReplaying ? replayed : signal.update ?? signal.latest
  }

  package func recordState() { steps.record((signal.latest, signal.hasEnded)) }

  package func recordUpdate() { steps.record((signal.update, signal.ends)) }

  package func takeRecorded() { steps.takeRecorded() }

  package var hasStep: Bool { steps.hasStep }

  package func replayStep() {
    let released = (steps.next(), replayed)
    replayed = steps.current?.value ?? replayed
    withExtendedLifetime(released) {}
  }

  package func endReplay() -> Any {
    defer { replayed = nil }
    return (steps.end(), replayed)
  }
}

/// What an operator does with the values of its inputs. One thread at a time calls it.
package struct SignalKernel<Input: Sendable, Output: Sendable> {
  /// Takes a value of one of the inputs, and returns a value to send or `nil`.
  ///
  /// If several inputs bring a value in one pass, the last result is the update of the pass. The closure
  /// sets `ends` if the output ends with this value.
  package let take: (_ value: Input, _ input: Int, _ ends: inout Bool) -> Output?
  /// Takes the end of an input, and returns whether the output ends too.
  package let end: (_ input: Int) -> Bool

  package init(
    take: @escaping (_ value: Input, _ input: Int, _ ends: inout Bool) -> Output?,
    end: @escaping (_ input: Int) -> Bool = { _ in true }
  ) {
    self.take = take
    self.end = end
  }

  /// Creates the kernel of an operator over one input, which ends with the input.
  package init(_ step: @escaping (Input) -> Output?) {
    self.init(take: { value, _, _ in step(value) })
  }
}

extension SignalNode {
  /// Creates the node of an operator over signals.
  ///
  /// - Parameters:
  ///   - inputs: The nodes of the signals. There is at least one, and all are in one domain.
  ///   - remembers: Whether new observers receive the latest value first. By default, if all inputs do.
  ///   - kernel: The operator.
  package convenience init<Input>(
    _ inputs: [SignalNode<Input>], remembers: Bool? = nil, _ kernel: SignalKernel<Input, Value>
  ) {
    let ports = inputs.map { SignalPort($0) }
    self.init(over: ports, remembers: remembers ?? inputs.allSatisfy(\.remembers)) { node in
      // By index: iterating allocates for each element in code that is not specialized.
      for index in 0..<ports.count where !node.ends {
        let port = ports[index]
        if let value = port.update, let made = kernel.take(value, index, &node.ends) {
          node.update = made
        }
        if !node.ends, port.ends, kernel.end(index) { node.ends = true }
      }
    }
  }
}
