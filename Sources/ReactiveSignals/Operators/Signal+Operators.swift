extension Signal {
  /// Creates a signal of transformed values.
  ///
  /// - Parameter transform: A closure that is called once for each value, for any number of
  ///   observers.
  /// - Complexity: O(1) for each value, without an allocation unless the result is observed.
  public func map<Output: Sendable>(
    _ transform: @escaping @Sendable (Value) -> Output
  ) -> Signal<Output> {
    derived { transform($0) }
  }

  /// Creates a signal that ends with this signal, and has a memory if this signal has one.
  ///
  /// - Parameter step: A closure that returns the value to send for a value, or `nil`. One thread
  ///   at a time calls it.
  func derived<Output: Sendable>(_ step: @escaping (Value) -> Output?) -> Signal<Output> {
    Signal<Output>(SignalNode(node, step), upstream: [self])
  }
}

extension Signal {
  /// Makes a signal of transformed values, without those that become nil.
  ///
  /// - Parameter transform: Called once for each value, however many observe the result.
  /// - Complexity: O(1) for each value, without an allocation unless the result is observed.
  public func compactMap<Output: Sendable>(
    _ transform: @escaping @Sendable (Value) -> Output?
  ) -> Signal<Output> {
    derived { transform($0) }
  }
}

extension Signal {
  /// Makes a signal of those values that satisfy a predicate.
  ///
  /// - Parameter isIncluded: Called once for each value, however many observe the result.
  /// - Complexity: O(1) for each value, without an allocation unless the result is observed.
  public func filter(_ isIncluded: @escaping @Sendable (Value) -> Bool) -> Signal<Value> {
    derived { isIncluded($0) ? $0 : nil }
  }
}

extension Signal {
  /// Makes a signal of what each value makes of the result before it.
  ///
  ///     numbers.scan(0, +)   // the sum of all numbers so far
  ///
  /// - Parameters:
  ///   - initial: What the first value is given; it is not sent itself.
  ///   - nextResult: Makes a result of the one before and a value; called once for each value, however
  ///     many observe the result.
  /// - Complexity: O(1) for each value, without an allocation unless the result is observed.
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
  /// Makes a signal that leaves out each value that equals the one it sent last.
  ///
  /// - Parameter areEqual: Whether two values are the same: the one that was sent last, and the next.
  /// - Complexity: O(1) for each value, without an allocation unless the result is observed.
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
  /// Makes a signal that leaves out each value that equals the one it sent last.
  ///
  /// - Complexity: O(1) for each value, without an allocation unless the result is observed.
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
    on scheduler: Scheduler, policy: DeliveryPolicy = .coalesce
  ) -> Signal<Value> {
    let target = SignalNode<Value>(domain: Domain(), remembers: node.remembers) { [node] _ in
      node.start()
    }
    let feed = node.observe(on: scheduler, policy: policy, keeping: self) { [weak target] in
      target?.send($0)
    } onCompletion: { [weak target] in
      target?.finish()
    }
    return Signal(target, upstream: [feed])
  }
}
