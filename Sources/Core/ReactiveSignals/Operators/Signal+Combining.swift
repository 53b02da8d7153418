extension Signal {
  /// Creates a signal of the latest values of two signals, after both have sent one.
  ///
  /// If both are derived from one root, a commit there causes one pair, which never combines a new value with
  /// an old one. Otherwise, the result has a domain of its own, and each value of either signal causes a
  /// pair. It ends when both have ended, or when one has ended without any value. It has a memory if both
  /// have one.
  ///
  /// - Parameter other: The other signal.
  /// - Complexity: O(1) for each value.
  public func combineLatest<Other: Sendable>(_ other: Signal<Other>) -> Signal<(Value, Other)> {
    typealias Input = InputValue<Value, Other, Never>
    return .over(
      [map { Input.first($0) }, other.map { Input.second($0) }],
      Signal.latest(of: 2) { first, second, _ in
        guard let first, let second else { return nil }
        return (first, second)
      })
  }

  /// Creates a signal of the latest values of three signals, after all have sent one.
  ///
  /// If all are derived from one root, a commit there causes one triple. Otherwise, the result has a domain of
  /// its own, and each value of a signal causes a triple. It ends when all have ended, or when one has ended
  /// without any value. It has a memory if all have one.
  ///
  /// - Parameters:
  ///   - second: The second signal.
  ///   - third: The third signal.
  /// - Complexity: O(1) for each value.
  public func combineLatest<Second: Sendable, Third: Sendable>(
    _ second: Signal<Second>, _ third: Signal<Third>
  ) -> Signal<(Value, Second, Third)> {
    typealias Input = InputValue<Value, Second, Third>
    return .over(
      [map { Input.first($0) }, second.map { Input.second($0) }, third.map { Input.third($0) }],
      Signal.latest(of: 3) { first, second, third in
        guard let first, let second, let third else { return nil }
        return (first, second, third)
      })
  }

  private static func latest<Second, Third, Output>(
    of count: Int, _ combine: @escaping (Value?, Second?, Third?) -> Output?
  ) -> SignalKernel<InputValue<Value, Second, Third>, Output> {
    var values: (Value?, Second?, Third?)
    var ended: Set<Int> = []
    return SignalKernel { value, _, _ in
      switch value {
      case .first(let first): values.0 = first
      case .second(let second): values.1 = second
      case .third(let third): values.2 = third
      }
      return combine(values.0, values.1, values.2)
    } end: { input in
      ended.insert(input)
      let hasBrought = [values.0 != nil, values.1 != nil, values.2 != nil]
      return ended.count == count || !hasBrought[input]
    }
  }
}

extension Signal {
  /// Creates a signal of pairs: the first values of two signals, then the second values, and so on.
  ///
  /// If both are derived from one root, a commit there causes at most one pair. Otherwise, the result has a
  /// domain of its own. It ends when no further pair is possible, and has a memory if both have one. Values
  /// are pending until their partner arrives, so memory grows if one signal is ahead of the other.
  ///
  /// - Parameter other: The other signal.
  /// - Complexity: O(1) for each value, on average.
  public func zip<Other: Sendable>(_ other: Signal<Other>) -> Signal<(Value, Other)> {
    typealias Input = InputValue<Value, Other, Never>
    return .over(
      [map { Input.first($0) }, other.map { Input.second($0) }],
      Signal.zipped(of: 2) { values in
        guard case .first(let first) = values[0], case .second(let second) = values[1] else {
          return nil
        }
        return (first, second)
      })
  }

  /// Creates a signal of triples: the first values of three signals, then the second values, and so on.
  ///
  /// If all are derived from one root, a commit there causes at most one triple. Otherwise, the result has a
  /// domain of its own. It ends when no further triple is possible, and has a memory if all have one. Values
  /// are pending until their partners arrive, so memory grows if one signal is ahead of the others.
  ///
  /// - Parameters:
  ///   - second: The second signal.
  ///   - third: The third signal.
  /// - Complexity: O(1) for each value, on average.
  public func zip<Second: Sendable, Third: Sendable>(
    _ second: Signal<Second>, _ third: Signal<Third>
  ) -> Signal<(Value, Second, Third)> {
    typealias Input = InputValue<Value, Second, Third>
    return .over(
      [map { Input.first($0) }, second.map { Input.second($0) }, third.map { Input.third($0) }],
      Signal.zipped(of: 3) { values in
        guard case .first(let first) = values[0], case .second(let second) = values[1],
          case .third(let third) = values[2]
        else { return nil }
        return (first, second, third)
      })
  }

  private static func zipped<Second, Third, Output>(
    of count: Int, _ combine: @escaping ([InputValue<Value, Second, Third>]) -> Output?
  ) -> SignalKernel<InputValue<Value, Second, Third>, Output> {
    typealias Input = InputValue<Value, Second, Third>
    var waiting = Array(repeating: PendingBuffer<LatestValue<Input>>(.everything), count: count)
    var ended: Set<Int> = []
    return SignalKernel { value, input, ends in
      _ = waiting[input].append(LatestValue(value: value))
      guard waiting.allSatisfy({ !$0.isEmpty }) else { return nil }
      let values = waiting.indices.compactMap { input in
        waiting[input].takeFirst().event?.value
      }
      ends = waiting.indices.contains { ended.contains($0) && waiting[$0].isEmpty }
      return combine(values)
    } end: { input in
      ended.insert(input)
      return waiting[input].isEmpty
    }
  }
}

extension Signal {
  /// Creates a signal of the values of this signal and of others, in order of arrival.
  ///
  /// Each value is sent on its own, even if several come from one commit, so no value is lost. For
  /// that reason, the result has a domain of its own, and does not change in one pass with its
  /// inputs. It ends when all inputs have ended, and has a memory if all inputs have one.
  ///
  /// - Parameter others: The other signals. If values come from one commit, the value of a signal
  ///   is sent before the values of signals derived from it.
  /// - Complexity: O(1) for each value.
  public func merge(with others: Signal<Value>...) -> Signal<Value> {
    merge(with: others)
  }

  /// Creates a signal of the values of this signal and of any number of others.
  ///
  /// This method takes an array, and otherwise does the same as the variadic method.
  ///
  /// - Parameter others: The other signals. The array may be empty.
  /// - Complexity: O(1) for each value.
  public func merge(with others: [Signal<Value>]) -> Signal<Value> {
    var ended: Set<Int> = []
    return Signal.boundary(
      [self] + others, sharesTransactions: false,
      SignalKernel(
        take: { value, _, _ in value },
        end: { input in
          ended.insert(input)
          return ended.count > others.count
        }))
  }
}

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
      return Signal(kernel.node(over: inputs.map(\.node)), upstream: inputs)
    }
    return boundary(inputs, kernel)
  }

  /// Creates a signal over several inputs in a domain of its own. Each value of an input is a
  /// commit there.
  ///
  /// - Parameter sharesTransactions: A Boolean value that indicates whether values of one
  ///   transaction are one commit.
  static func boundary<Input: Sendable>(
    _ inputs: [Signal<Input>], sharesTransactions: Bool = true, _ kernel: SignalKernel<Input, Value>
  ) -> Signal<Value> {
    let domain = Domain()
    let followers = inputs.map {
      $0.node.makeBoundary(in: domain, sharesTransactions: sharesTransactions)
    }
    return Signal(kernel.node(over: followers, keeping: inputs))
  }
}
