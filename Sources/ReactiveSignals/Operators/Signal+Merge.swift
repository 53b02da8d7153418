extension Signal {
  /// Creates a signal of the values of this signal and of others, in order of arrival.
  ///
  /// Each value is sent on its own, even if several come from one commit, so no value is lost. For
  /// that reason, the result has a domain of its own, and does not change in one pass with its
  /// inputs. It ends when all inputs have ended, and has a memory if all inputs have one.
  ///
  /// - Parameter others: The other signals. If values come from one commit, the value of a signal
  ///   is sent before the values of signals derived from it.
  /// - Complexity: O(1) for each value, with one allocation, and another if the result is observed.
  public func merge(with others: Signal<Value>...) -> Signal<Value> {
    merge(with: others)
  }

  /// Creates a signal of the values of this signal and of any number of others.
  ///
  /// Values are sent in order of arrival, in the same way as for signals that are listed one by one.
  ///
  /// - Parameter others: The other signals. The array may be empty.
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
