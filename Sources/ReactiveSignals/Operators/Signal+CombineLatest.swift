extension Signal {
  /// Makes a signal of the newest values of two signals, once both have brought one.
  ///
  /// If both come from one root, a commit there brings one pair that agrees, never one of a new and an
  /// old value. Otherwise the result is a domain of its own, where each value of either is a step. It
  /// ends when both have ended, or one has without any value. It has a memory if both have.
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

  /// Makes a signal of the newest values of three signals, once all have brought one.
  ///
  /// If all come from one root, a commit there brings one triple that agrees. Otherwise the result is a
  /// domain of its own, where each value of any is a step. It ends when all have ended, or one has
  /// without any value. It has a memory if all have.
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
    var ended = EndedInputs(of: count)
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
      return ended.areAll || !hasBrought[input]
    }
  }
}
