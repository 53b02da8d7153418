extension Signal {
  /// Creates a signal of transformed values.
  ///
  /// - Parameter transform: A closure that is called once for each value, for any number of
  ///   observers.
  /// - Complexity: O(1) for each value.
  @inlinable
  public func map<Output: Sendable>(
    _ transform: @escaping @Sendable (Value) -> Output
  ) -> Signal<Output> {
    derived { transform($0) }
  }

  /// Creates a signal that ends with this signal, and has a memory if this signal has one.
  ///
  /// - Parameter step: A closure that returns the value to send for a value, or `nil`. One thread
  ///   at a time calls it.
  @inlinable
  func derived<Output: Sendable>(_ step: @escaping (Value) -> Output?) -> Signal<Output> {
    let input = NodeInput(node)
    let node = Node(over: [input], remembers: node.remembers, composesSteps: false) { node in
      if input.ends { node.ends = true }
      guard let value = input.value, let next = step(SignalValue<Value>.read(value)) else {
        return nil
      }
      return SignalValue(next)
    }
    return Signal<Output>(node, upstream: [self])
  }
}

extension Signal {
  /// Creates a signal of the transformed values that are not `nil`.
  ///
  /// - Parameter transform: A closure that is called once for each value, for any number of observers.
  /// - Complexity: O(1) for each value.
  @inlinable
  public func compactMap<Output: Sendable>(
    _ transform: @escaping @Sendable (Value) -> Output?
  ) -> Signal<Output> {
    derived { transform($0) }
  }
}

extension Signal {
  /// Creates a signal of the values that satisfy a predicate.
  ///
  /// - Parameter isIncluded: A closure that is called once for each value, for any number of observers.
  /// - Complexity: O(1) for each value.
  @inlinable
  public func filter(_ isIncluded: @escaping @Sendable (Value) -> Bool) -> Signal<Value> {
    derived { isIncluded($0) ? $0 : nil }
  }
}

extension Signal {
  /// Creates a signal of accumulated results.
  ///
  ///     numbers.scan(0, +)   // the sum of all numbers so far
  ///
  /// - Parameters:
  ///   - initial: The result before the first value. It is not sent.
  ///   - nextResult: A closure that returns the next result, from the previous result and a value. It is
  ///     called once for each value, for any number of observers.
  /// - Complexity: O(1) for each value.
  @inlinable
  public func scan<Output: Sendable>(
    _ initial: Output, _ nextResult: @escaping @Sendable (Output, Value) -> Output
  ) -> Signal<Output> {
    var result = initial
    return derived { value in
      result = nextResult(result, value)
      return result
    }
  }
}

extension Signal {
  /// Creates a signal without values that are equal to the value before them.
  ///
  /// - Parameter areEqual: A closure that returns whether two values are equal: the value that was sent last,
  ///   and the next one.
  /// - Complexity: O(1) for each value.
  @inlinable
  public func removeDuplicates(
    by areEqual: @escaping @Sendable (Value, Value) -> Bool
  ) -> Signal<Value> {
    var last: Value?
    return derived { value in
      if let last, areEqual(last, value) { return nil }
      last = value
      return value
    }
  }
}

extension Signal where Value: Equatable {
  /// Creates a signal without values that are equal to the value before them.
  ///
  /// - Complexity: O(1) for each value.
  @inlinable
  public func removeDuplicates() -> Signal<Value> {
    removeDuplicates(by: ==)
  }
}

extension Signal {
  /// Creates a signal that delivers the values on a scheduler, such as the main actor or a queue.
  ///
  /// Operators over the result run there too. The result has a domain of its own, ends with this
  /// signal, and has a memory if this signal has one. A value that was
  /// already delivered reaches a new observer or operator immediately, on its own thread. To receive
  /// every value on the scheduler, observe on that scheduler instead.
  ///
  /// - Parameters:
  ///   - scheduler: Where to deliver the values.
  ///   - policy: How to buffer pending values. The default keeps only the latest value.
  /// - Complexity: O(1) for each value.
  public func receive(
    on scheduler: DeliveryScheduler, policy: DeliveryPolicy = .coalesce
  ) -> Signal<Value> {
    let target = Node(domain: Domain(), state: nil, remembers: node.remembers) { [node] _ in
      node.start()
    }
    let observation = node.observe(on: scheduler, policy: policy, keeping: self) {
      [weak target] (value: Value) in
      target?.send(value: value)
    } onCompletion: { [weak target] in
      target?.finish()
    }
    return Signal(target, upstream: [observation])
  }
}
