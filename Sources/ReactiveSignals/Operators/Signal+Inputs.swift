/// A value of one of up to three inputs.
enum InputValue<First: Sendable, Second: Sendable, Third: Sendable>: Sendable {
  case first(First)
  case second(Second)
  case third(Third)
}

extension Signal {
  /// Makes a signal of several inputs: in their domain if they share one, so that a commit there brings
  /// one value at most; otherwise in a domain of its own.
  static func over<Input: Sendable>(
    _ inputs: [Signal<Input>], _ kernel: SignalKernel<Input, Value>
  ) -> Signal<Value> {
    let domain = inputs[0].node.domain
    if inputs.allSatisfy({ $0.node.domain === domain }) {
      return Signal(DerivedSignalNode(inputs.map(\.node), kernel), upstream: inputs)
    }
    return boundary(inputs, kernel)
  }

  /// Makes a signal of several inputs in a domain of its own: each of their values is a step there.
  static func boundary<Input: Sendable>(
    _ inputs: [Signal<Input>], _ kernel: SignalKernel<Input, Value>
  ) -> Signal<Value> {
    typealias Arrival = (event: SignalEvent<Input>, input: Int)
    let nodes = inputs.map(\.node)
    let feeds = DisposeBag()
    let node = BoundarySignalNode<Arrival, Value>(
      nodes, remembers: nodes.allSatisfy(\.remembers)
    ) { [feeds] arrival, _, ends in
      // Held by this closure, which is let go of at the end, so that inputs that go on are too.
      defer { withExtendedLifetime(feeds) {} }
      if arrival.event.isEnd {
        ends = kernel.end(arrival.input)
        return nil
      }
      return kernel.take(arrival.event.value, arrival.input, &ends)
    }
    for (index, input) in inputs.enumerated() {
      feeds.add(input.node.observeEvents(keeping: input) { [weak node] in node?.post(($0, index)) })
    }
    return Signal(node)
  }
}

/// Which of several inputs have ended.
struct EndedInputs {
  private var isEnded: [Bool]

  init(of count: Int) {
    isEnded = Array(repeating: false, count: count)
  }

  var areAll: Bool { isEnded.allSatisfy { $0 } }

  func contains(_ input: Int) -> Bool { isEnded[input] }

  mutating func insert(_ input: Int) {
    isEnded[input] = true
  }
}
