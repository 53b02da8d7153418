extension Signal {
  /// Makes a signal of pairs: the first values of two signals, then the second ones, and so on.
  ///
  /// If both come from one root, a commit there brings one pair at most. Otherwise the result is a
  /// domain of its own. It ends as soon as no further pair can come, and has a memory if both have.
  /// Values wait until their partner comes: memory grows with how far one is ahead of the other.
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

  /// Makes a signal of triples: the first values of three signals, then the second ones, and so on.
  ///
  /// If all come from one root, a commit there brings one triple at most. Otherwise the result is a
  /// domain of its own. It ends as soon as no further triple can come, and has a memory if all have.
  /// Values wait until their partners come: memory grows with how far one is ahead of the others.
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
    var waiting = Array(repeating: EventQueue(), count: count)
    var ended = EndedInputs(of: count)
    return SignalKernel { value, input, ends in
      waiting[input].append(SignalValue(value))
      guard waiting.allSatisfy({ !$0.isEmpty }) else { return nil }
      let values = waiting.indices.compactMap { input in
        waiting[input].popFirst().map { SignalEvent<Input>($0).value }
      }
      ends = waiting.indices.contains { ended.contains($0) && waiting[$0].isEmpty }
      return combine(values)
    } end: { input in
      ended.insert(input)
      return waiting[input].isEmpty
    }
  }
}
