/// What an operator does with what comes to its inputs; called by one thread at a time.
package struct SignalKernel<Input, Output> {
  /// Takes a value of one of the inputs, and makes one or none of it.
  ///
  /// Where several inputs bring a value in one round, what is made last stands for the round. `ends` is
  /// set where the output ends with it.
  package let take: (_ value: Input, _ input: Int, _ ends: inout Bool) -> Output?
  /// Told that an input has ended; returns whether the output ends too.
  package let end: (_ input: Int) -> Bool

  package init(
    take: @escaping (_ value: Input, _ input: Int, _ ends: inout Bool) -> Output?,
    end: @escaping (_ input: Int) -> Bool = { _ in true }
  ) {
    self.take = take
    self.end = end
  }

  /// Makes one of a single input, that ends with it.
  package init(_ step: @escaping (Input) -> Output?) {
    self.init(take: { value, _, _ in step(value) })
  }
}
