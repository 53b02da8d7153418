/// A value of one of up to three inputs.
enum InputValue<First: Sendable, Second: Sendable, Third: Sendable>: Sendable {
  case first(First)
  case second(Second)
  case third(Third)
}

extension Signal {
  /// Creates a signal over several inputs.
  ///
  /// If the inputs share a domain, the signal belongs to that domain, and a commit there causes at
  /// most one value. Otherwise, it has a domain of its own.
  static func over<Input: Sendable>(
    _ inputs: [Signal<Input>], _ kernel: SignalKernel<Input, Value>
  ) -> Signal<Value> {
    let domain = inputs[0].node.domain
    if inputs.allSatisfy({ $0.node.domain === domain }) {
      return Signal(SignalNode(inputs.map(\.node), kernel), upstream: inputs)
    }
    return boundary(inputs, kernel)
  }

  /// Creates a signal over several inputs in a domain of its own. Each value of an input is a
  /// commit there.
  ///
  /// - Parameter joinsTransactions: A Boolean value that indicates whether values of one
  ///   transaction are one commit.
  static func boundary<Input: Sendable>(
    _ inputs: [Signal<Input>], joinsTransactions: Bool = true, _ kernel: SignalKernel<Input, Value>
  ) -> Signal<Value> {
    let domain = Domain()
    let followers = inputs.map {
      $0.node.makeBoundary(in: domain, joinsTransactions: joinsTransactions)
    }
    return Signal(SignalNode(followers, keeping: inputs, kernel))
  }
}

/// The inputs that have ended.
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
