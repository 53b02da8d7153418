extension Signal {
  /// Makes a signal of this one's values and those of others, as they come.
  ///
  /// Each value is a step of its own, also where several come from one commit: nothing is lost. Hence
  /// the result is a domain of its own, and not one step with what it comes from. It ends when all have
  /// ended, and has a memory if all have.
  ///
  /// - Parameter others: The other signals. Of values that come from one commit, that of a signal is
  ///   before those of what was made of it.
  /// - Complexity: O(1) for each value, with one allocation, and another if the result is observed.
  public func merge(with others: Signal<Value>...) -> Signal<Value> {
    merge(with: others)
  }

  /// Makes a signal of this one's values and those of any number of others, as they come.
  ///
  /// Each value is a step of its own, in a domain of its own, as with signals that are named one by one.
  ///
  /// - Parameter others: The other signals; none is legal.
  /// - Complexity: O(1) for each value, with one allocation, and another if the result is observed.
  public func merge(with others: [Signal<Value>]) -> Signal<Value> {
    var ended = EndedInputs(of: others.count + 1)
    return Signal.boundary(
      [self] + others, joinsTransactions: false,
      SignalKernel(
        take: { value, _, _ in value },
        end: { input in
          ended.insert(input)
          return ended.areAll
        }))
  }
}
