public import Diffing
public import ObservableCollections
public import ReactiveSignals

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

/// Compares an operator over two collections and a property with a pure function.
///
/// Each seed is a run of random transactions. Each transaction changes some of the inputs, and may
/// cause at most one event. After it, the operator must have the result of the function (O1, T12),
/// and its events must follow the contract.
///
/// - Parameters:
///   - makeOutput: A closure that creates the operator. The collections have different roots.
///   - reference: A function that returns the expected contents.
///   - seeds: The runs.
///   - steps: The number of transactions of each run.
/// - Throws: A ``ContractError`` with the rule, the seed and the step.
public func checkOperator<Output: Differentiable & Sendable>(
  overSeveralInputs makeOutput:
    @escaping @Sendable (
      any DataSource<TestElement>, any DataSource<TestElement>, Property<Int>
    ) -> LiveCollection<Output>,
  is reference: @escaping @Sendable ([TestElement], [TestElement], Int) -> [Output],
  seeds: some Sequence<UInt64> = 0..<20, steps: Int = 30
) throws(ContractError) {
  for seed in seeds {
    let allowsDuplicates = seed.isMultiple(of: 2)
    var firstEditor = RandomEditor(seed: seed, allowsDuplicates: allowsDuplicates)
    var secondEditor = RandomEditor(seed: seed &+ 1_000, allowsDuplicates: allowsDuplicates)
    let first = CollectionProperty(firstEditor.makeElements())
    let second = CollectionProperty(secondEditor.makeElements())
    let value = Property(1)
    var outputs = [makeOutput(first, second, value)]
    var events = [RecordingObserver(outputs[0], seed: seed)]

    for step in 0..<steps {
      let counts = events.map(\.eventCount)
      let kinds = firstEditor.random.below(8)
      try withTransaction { () throws(ContractError) in
        if kinds & 1 != 0 { try firstEditor.step(first) }
        if kinds & 2 != 0 { try secondEditor.step(second) }
        if kinds & 4 != 0 { value.value = firstEditor.random.below(4) }
      }
      for (recorder, count) in zip(events, counts) where recorder.eventCount > count + 1 {
        throw ContractError(
          rule: "T12",
          message: "one transaction caused \(recorder.eventCount - count) events",
          seed: seed, step: step)
      }
      let expected = Snapshot(reference(Array(first.snapshot), Array(second.snapshot), value.value))
      for output in outputs where !output.snapshot.hasSameContents(as: expected) {
        throw ContractError(
          rule: "O1",
          message: "the output " + Contents.difference(of: output.snapshot, from: expected),
          seed: seed, step: step)
      }
      for (recorder, output) in zip(events, outputs) { try recorder.check(against: output) }
      if firstEditor.random.oneIn(6) {
        outputs.append(makeOutput(first, second, value))
        events.append(RecordingObserver(outputs[outputs.count - 1], seed: seed))
      }
    }
  }
}
