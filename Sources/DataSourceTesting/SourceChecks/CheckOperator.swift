public import Diffing
public import ObservableCollections

/// Compares an operator with a pure function.
///
///     try checkOperator({ $0.filter { $0.content > 0 } }, is: { $0.filter { $0.content > 0 } })
///
/// Each seed is a run of random transactions, with and without duplicate identities. After each
/// transaction, the operator must have the result of the function (O1). Its events must follow the
/// contract (E, C), and no element may be both deleted and inserted (O2). Further operators are
/// created at any time: between transactions, inside a transaction, and inside an observer.
///
/// - Parameters:
///   - makeOutput: A closure that creates the operator.
///   - reference: A function that returns the expected contents for an input.
///   - seeds: The seeds. Each seed is one run.
///   - steps: The number of transactions of each run.
///   - calls: A closure that returns the number of calls of the operator's closure so far. There
///     may be at most one call for each inserted or updated element (O4).
/// - Throws: A ``ContractError`` with the rule, the seed and the step.
public func checkOperator<Output: Differentiable & Sendable>(
  _ makeOutput: @escaping @Sendable (any DataSource<TestElement>) -> LiveCollection<Output>,
  is reference: @escaping @Sendable ([TestElement]) -> [Output],
  seeds: some Sequence<UInt64> = 0..<20, steps: Int = 30, calls: (() -> Int)? = nil
) throws(ContractError) {
  for seed in seeds {
    // Every other run repeats identities.
    let editor = RandomEditor(seed: seed, allowsDuplicates: seed.isMultiple(of: 2))
    try checkOperator(makeOutput, is: reference, editor: editor, steps: steps, calls: calls)
  }
}

/// Compares an operator over elements of any type with a pure function, in one run.
///
/// - Parameters:
///   - makeOutput: A closure that creates the operator.
///   - reference: A function that returns the expected contents for an input.
///   - editor: The editor of the input. Errors contain its seed.
///   - steps: The number of transactions.
///   - calls: A closure that returns the number of calls of the operator's closure so far (O4).
/// - Throws: A ``ContractError`` with the rule, the seed and the step.
public func checkOperator<Input: Differentiable & Sendable, Output: Differentiable & Sendable>(
  _ makeOutput: @escaping @Sendable (any DataSource<Input>) -> LiveCollection<Output>,
  is reference: @escaping @Sendable ([Input]) -> [Output], editor: RandomEditor<Input>,
  steps: Int = 30, calls: (() -> Int)? = nil
) throws(ContractError) {
  var run = OperatorCheck(
    makeOutput: makeOutput, reference: reference, calls: calls, editor: editor)
  try run.perform(steps)
}
