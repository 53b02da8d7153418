/// A node that makes its values from those of other signals of the domain, at most one in a round.
package final class DerivedSignalNode<Input: Sendable, Value: Sendable>: SignalNode<Value>,
  @unchecked Sendable
{
  // Sendable: `kernel` is used by whoever creates the node, until it is live, and by the drainer from
  // then on; `missed` is guarded by the domain's lock.

  private let inputs: [SignalNode<Input>]
  /// Nil once it has ended.
  private var kernel: SignalKernel<Input, Value>?
  /// What came while the node was joining: values and, as nil, ends.
  private var missed: [(value: Input?, input: Int)] = []

  /// Derives a signal; the kernel runs once for each value, whoever observes.
  ///
  /// - Parameters:
  ///   - inputs: What it is derived from: at least one, all of one domain.
  ///   - kernel: Makes the values.
  package init(_ inputs: [SignalNode<Input>], _ kernel: SignalKernel<Input, Value>) {
    self.inputs = inputs
    self.kernel = kernel
    super.init(
      domain: inputs[0].domain, height: (inputs.map(\.height).max() ?? 0) + 1,
      remembers: inputs.allSatisfy(\.remembers), sources: inputs)
    domain.withLock { state in
      domain.beginJoining(self, &state)
      for (index, input) in inputs.enumerated() {
        record(input.latest, ends: input.hasEnded, from: index)
      }
    }
    while true {
      let missed = domain.withLock { state in
        let missed = self.missed
        self.missed = []
        if missed.isEmpty {
          if self.kernel == nil { publishEnd(&state) }
          domain.endJoining(self, &state)
        }
        return missed
      }
      if missed.isEmpty { return }
      for (value, input) in missed {
        advance(by: value, from: input)
        if remembers { latest = update ?? latest }
        update = nil
      }
      ends = false
      domain.pause(at: .caughtUp)
    }
  }

  package override func recordInputs(_ state: inout Domain.State) {
    for (index, input) in inputs.enumerated() {
      record(input.update, ends: input.ends, from: index)
    }
  }

  private func record(_ value: Input?, ends: Bool, from input: Int) {
    if let value { missed.append((value, input)) }
    if ends { missed.append((nil, input)) }
  }

  package override func compute() {
    // By index: iterating makes an allocation for each element in code that is not specialised.
    for index in 0..<inputs.count {
      let input = inputs[index]
      if let value = input.update { advance(by: value, from: index) }
      if input.ends { advance(by: nil, from: index) }
    }
  }

  /// Takes a value or, as nil, the end of an input.
  private func advance(by value: Input?, from input: Int) {
    guard let kernel else { return }
    if let value {
      if let made = kernel.take(value, input, &ends) { update = made }
    } else if kernel.end(input) {
      ends = true
    }
    if ends { self.kernel = nil }
  }
}
