public import Diffing
public import ObservableCollections

/// Holds an operator against a pure function that says what it should hold.
///
///     try checkOperator({ $0.filter { $0.content > 0 } }, is: { $0.filter { $0.content > 0 } })
///
/// Each seed is a run of random transactions; after each, the operator must hold what the function
/// makes of its input (O1), its events must obey the contract (E, C), and an element of one
/// identity must not be both deleted and inserted (O2). The operator is attached anew at any time: between
/// transactions, inside one, and inside an observer. With duplicate identities and without.
///
/// - Parameters:
///   - makeOutput: Makes the operator's result.
///   - reference: What it should hold, for each input.
///   - seeds: The runs.
///   - steps: How many transactions each run has.
///   - calls: How often the operator's closure was called so far; checked against rule O4: not more
///     than once for each element inserted or updated. Only where one instance of it counts.
/// - Throws: ``ContractViolation`` with rule, seed and step.
public func checkOperator<Output: Differentiable & Sendable>(
  _ makeOutput: @escaping @Sendable (any DataSource<TestElement>) -> LiveCollection<Output>,
  is reference: @escaping @Sendable ([TestElement]) -> [Output],
  seeds: some Sequence<UInt64> = 0..<20, steps: Int = 30, calls: (() -> Int)? = nil
) throws(ContractViolation) {
  for seed in seeds {
    // Every other run repeats identities.
    let editor = RandomEditor(seed: seed, allowsDuplicates: seed.isMultiple(of: 2))
    try checkOperator(makeOutput, is: reference, editor: editor, steps: steps, calls: calls)
  }
}

/// Holds an operator against a pure function, over elements of any type, for one run.
///
/// - Parameters:
///   - makeOutput: Makes the operator's result.
///   - reference: What it should hold, for each input.
///   - editor: Edits the input; its seed is told with a violation.
///   - steps: How many transactions the run has.
///   - calls: How often the operator's closure was called so far; checked against rule O4.
/// - Throws: ``ContractViolation`` with rule, seed and step.
public func checkOperator<Input: Differentiable & Sendable, Output: Differentiable & Sendable>(
  _ makeOutput: @escaping @Sendable (any DataSource<Input>) -> LiveCollection<Output>,
  is reference: @escaping @Sendable ([Input]) -> [Output], editor: RandomEditor<Input>,
  steps: Int = 30, calls: (() -> Int)? = nil
) throws(ContractViolation) {
  var run = OperatorCheck(
    makeOutput: makeOutput, reference: reference, calls: calls, editor: editor)
  try run.perform(steps)
}
