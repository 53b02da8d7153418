/// An input of a derived node that is a signal.
package final class SignalPort<Value: Sendable>: NodeInput, @unchecked Sendable {
  // Sendable: `signal` is set before the derived node exists. `slot` and the recorded part of `replay` are
  // guarded by the domain's lock. The creator of the derived node owns the rest until that is live, and
  // the delivering thread from then on.

  private var signal: SignalNode<Value>
  private let owner: Signal<Value>?
  package var slot = -1
  /// The steps to replay while the derived node is joining, and `nil` when it is live.
  @exclusivity(unchecked) private var replay: SignalReplay<Value>? = SignalReplay()

  /// - Parameters:
  ///   - signal: The node of the signal.
  ///   - owner: The signal, if the input must keep it alive, because it follows a boundary.
  package init(_ signal: SignalNode<Value>, keeping owner: Signal<Value>? = nil) {
    self.signal = signal
    self.owner = owner
  }

  /// Connects the input to a node of a domain: the signal's own node, or a boundary to it.
  package func connect(in domain: Domain) {
    if signal.domain !== domain { signal = signal.makeBoundary(in: domain) }
  }

  package var node: any GraphNode { signal }

  /// The update of the current pass.
  package var update: Value? {
    if let replay { return replay.steps.current?.value }
    return signal.update
  }

  /// A Boolean value that indicates whether the signal ends in the current pass.
  package var ends: Bool {
    if let replay { return replay.steps.current?.ends == true }
    return signal.ends
  }

  /// The latest value of a signal with a memory, including the update of the current pass.
  package var value: Value? {
    if let replay { return replay.latest }
    return signal.update ?? signal.latest
  }

  package func recordState() { replay?.steps.record((signal.latest, signal.hasEnded)) }

  package func recordUpdate() { replay?.steps.record((signal.update, signal.ends)) }

  package func takeRecorded() { replay?.steps.takeRecorded() }

  package var hasStep: Bool { replay?.steps.hasStep == true }

  package func replayStep(composing: Bool) {
    guard let replay else { return }
    typealias Step = SignalReplay<Value>.Step
    let compose = { (step: Step, next: Step) -> Step in
      (value: next.value ?? step.value, ends: step.ends || next.ends)
    }
    let released = (replay.steps.next(composing: composing ? compose : nil), replay.latest)
    replay.latest = replay.steps.current?.value ?? replay.latest
    withExtendedLifetime(released) {}
  }

  package func endReplay() -> Any {
    defer { replay = nil }
    return replay as Any
  }
}

/// The recorded steps of a signal, and its latest value.
private final class SignalReplay<Value: Sendable>: @unchecked Sendable {
  // Sendable: the creator of the derived node owns `latest`.

  typealias Step = (value: Value?, ends: Bool)

  let steps = RecordedSteps<Step>()
  var latest: Value?
}

/// The computation of an operator over signals. One thread at a time calls it.
package struct SignalKernel<Input: Sendable, Output: Sendable> {
  /// Takes a value of one of the inputs, and returns a value to send or `nil`.
  ///
  /// If several inputs have an update in one pass, the last result is the update of the output. The
  /// closure sets `ends` if the output ends with this value.
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

}

extension SignalNode {
  /// Creates the node of an operator over signals.
  ///
  /// - Parameters:
  ///   - inputs: The nodes of the signals. There is at least one, and all are in one domain.
  ///   - owners: The signals, if the inputs must keep them alive until the end.
  ///   - remembers: A Boolean value that indicates whether new observers receive the latest value
  ///     first. The default is `true` if all inputs do so.
  ///   - kernel: The operator.
  package convenience init<Input>(
    _ inputs: [SignalNode<Input>], keeping owners: [Signal<Input>] = [], remembers: Bool? = nil,
    _ kernel: SignalKernel<Input, Value>
  ) {
    let ports = inputs.indices.map {
      SignalPort(inputs[$0], keeping: owners.isEmpty ? nil : owners[$0])
    }
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

  /// Creates the node of an operator over one signal, which ends with it.
  ///
  /// - Parameters:
  ///   - input: The node of the signal.
  ///   - step: A closure that returns the value to send for a value of the input, or `nil`.
  package convenience init<Input>(
    _ input: SignalNode<Input>, _ step: @escaping (Input) -> Value?
  ) {
    let port = SignalPort(input)
    self.init(over: [port], remembers: input.remembers) { node in
      if node.hasEnded { return }
      if let value = port.update { node.update = step(value) }
      if port.ends { node.ends = true }
    }
  }
}
