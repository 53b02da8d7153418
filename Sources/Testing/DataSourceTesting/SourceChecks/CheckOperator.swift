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
/// - Throws: A ``ContractError`` with the rule, the seed and the step. If the random edits of 200 or
///   more transactions never delete, insert, update or move an element, the rule is `coverage`.
public func checkOperator<Output: Differentiable & Sendable>(
  _ makeOutput: @escaping @Sendable (any DataSource<TestElement>) -> LiveCollection<Output>,
  is reference: @escaping @Sendable ([TestElement]) -> [Output],
  seeds: some Sequence<UInt64> = 0..<20, steps: Int = 30, calls: (() -> Int)? = nil
) throws(ContractError) {
  var coverage = EditorCoverage()
  for seed in seeds {
    // Every other run repeats identities.
    let editor = RandomEditor(seed: seed, allowsDuplicates: seed.isMultiple(of: 2))
    var run = OperatorCheck(
      makeOutput: makeOutput, reference: reference, calls: calls, editor: editor)
    coverage.add(try run.perform(steps), steps: run.editor.step)
  }
  try coverage.check()
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
package func checkOperator<Input: Differentiable & Sendable, Output: Differentiable & Sendable>(
  _ makeOutput: @escaping @Sendable (any DataSource<Input>) -> LiveCollection<Output>,
  is reference: @escaping @Sendable ([Input]) -> [Output], editor: RandomEditor<Input>,
  steps: Int = 30, calls: (() -> Int)? = nil
) throws(ContractError) {
  var run = OperatorCheck(
    makeOutput: makeOutput, reference: reference, calls: calls, editor: editor)
  _ = try run.perform(steps)
}

/// Compares an operator over one collection and a property with a pure function.
///
///     try checkOperator({ list, n in list.prefix(n) }, is: { elements, n in Array(elements.prefix(n)) })
///
/// Each seed is a run of random transactions. Each transaction changes the collection, the property,
/// both or none, and may cause at most one event. After it, the operator must have the result of the
/// function (O1, T12), and its events must follow the contract.
///
/// - Parameters:
///   - makeOutput: A closure that creates the operator. The value of the property is first 1, and
///     then in `0..<4`.
///   - reference: A function that returns the expected contents for the contents of the collection
///     and the value of the property.
///   - seeds: The seeds. Each seed is one run.
///   - steps: The number of transactions of each run.
/// - Throws: A ``ContractError`` with the rule, the seed and the step.
public func checkOperator<Output: Differentiable & Sendable>(
  _ makeOutput:
    @escaping @Sendable (any DataSource<TestElement>, Property<Int>) -> LiveCollection<Output>,
  is reference: @escaping @Sendable ([TestElement], Int) -> [Output],
  seeds: some Sequence<UInt64> = 0..<20, steps: Int = 30
) throws(ContractError) {
  try checkOperator(
    overSeveralInputs: { list, _, value in makeOutput(list, value) },
    is: { elements, _, value in reference(elements, value) }, seeds: seeds, steps: steps)
}

/// Compares an operator over two collections and a property with a pure function.
///
/// Each seed is a run of random transactions. Each transaction changes some of the inputs, and may
/// cause at most one event. After it, the operator must have the result of the function (O1, T12),
/// and its events must follow the contract.
///
/// - Parameters:
///   - makeOutput: A closure that creates the operator. The collections have different roots. The
///     value of the property is first 1, and then in `0..<4`.
///   - reference: A function that returns the expected contents for the contents of both collections
///     and the value of the property.
///   - seeds: The seeds. Each seed is one run.
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
  try checkOperator(
    over: { $0 }, and: { $0 }, makeOutput, is: reference, seeds: seeds, steps: steps)
}

/// Compares an operator over two collections of different types and a property with a pure function.
///
///     try checkOperator(
///       over: { Order(id: $0.id, customerID: $0.content) }, and: { Customer(id: $0.id) },
///       { orders, customers, _ in orders.joined(with: customers, on: \.customerID) },
///       is: { orders, customers, _ in pairs(orders, customers) })
///
/// Each seed is a run of random transactions, with and without duplicate identities. Each
/// transaction changes some of the inputs, and may cause at most one event. After it, the operator
/// must have the result of the function (O1, T12), and its events must follow the contract. Further
/// operators are created between transactions.
///
/// - Parameters:
///   - first: A function that converts a random element to an element of the first collection. The
///     identity should depend only on the `id`, which is below 12 if identities repeat. The content,
///     in `0..<3`, is suited for a reference to another element.
///   - second: A function that converts a random element to an element of the second collection.
///   - makeOutput: A closure that creates the operator. The collections have different roots. Ignore
///     the property, whose values are in `0..<4`, if the operator has no parameter.
///   - reference: A function that returns the expected contents for the contents of both collections
///     and the value of the property.
///   - seeds: The seeds. Each seed is one run.
///   - steps: The number of transactions of each run.
/// - Throws: A ``ContractError`` with the rule, the seed and the step.
public func checkOperator<
  First: Differentiable & Sendable, Second: Differentiable & Sendable,
  Output: Differentiable & Sendable
>(
  over first: @escaping @Sendable (TestElement) -> First,
  and second: @escaping @Sendable (TestElement) -> Second,
  _ makeOutput:
    @escaping @Sendable (any DataSource<First>, any DataSource<Second>, Property<Int>)
    -> LiveCollection<Output>,
  is reference: @escaping @Sendable ([First], [Second], Int) -> [Output],
  seeds: some Sequence<UInt64> = 0..<20, steps: Int = 30
) throws(ContractError) {
  var (firstReach, secondReach) = (EditorCoverage(), EditorCoverage())
  for seed in seeds {
    let allowsDuplicates = seed.isMultiple(of: 2)
    var firstEditor = RandomEditor(seed: seed, allowsDuplicates: allowsDuplicates)
    var secondEditor = RandomEditor(seed: seed &+ 1_000, allowsDuplicates: allowsDuplicates)
    let firstRoot = ArrayDataSource(firstEditor.makeElements())
    let secondRoot = ArrayDataSource(secondEditor.makeElements())
    let (firsts, seconds) = (firstRoot.map(first), secondRoot.map(second))
    let value = Property(1)
    let inputs = [firstRoot, secondRoot].map { RecordingObserver(counting: $0) }
    var outputs = [makeOutput(firsts, seconds, value)]
    var events = [RecordingObserver(outputs[0], seed: seed)]

    for step in 0..<steps {
      let counts = events.map(\.eventCount)
      let kinds = firstEditor.random.below(8)
      try withTransaction { () throws(ContractError) in
        if kinds & 1 != 0 { try firstEditor.step(firstRoot) }
        if kinds & 2 != 0 { try secondEditor.step(secondRoot) }
        if kinds & 4 != 0 { value.value = firstEditor.random.below(4) }
      }
      for (recorder, count) in zip(events, counts) where recorder.eventCount > count + 1 {
        throw ContractError(
          rule: "T12",
          message: "one transaction caused \(recorder.eventCount - count) events",
          seed: seed, step: step)
      }
      let expected = Snapshot(
        reference(Array(firsts.snapshot), Array(seconds.snapshot), value.value))
      for output in outputs where !output.snapshot.hasSameContents(as: expected) {
        throw ContractError(
          rule: "O1",
          message: "the output " + Contents.difference(of: output.snapshot, from: expected),
          seed: seed, step: step)
      }
      for (recorder, output) in zip(events, outputs) { try recorder.check(against: output) }
      if firstEditor.random.oneIn(6) {
        outputs.append(makeOutput(firsts, seconds, value))
        events.append(RecordingObserver(outputs[outputs.count - 1], seed: seed))
      }
    }
    firstReach.add(inputs[0].operations, steps: firstEditor.step)
    secondReach.add(inputs[1].operations, steps: secondEditor.step)
    Coverage.note(events[0])
  }
  try firstReach.check()
  try secondReach.check()
}
