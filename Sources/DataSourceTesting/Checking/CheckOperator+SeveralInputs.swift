public import Diffing
public import ObservableCollections
public import ReactiveSignals

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
/// - Throws: A ``ContractViolation`` with the rule, the seed and the step.
public func checkOperator<Output: Differentiable & Sendable>(
  overSeveralInputs makeOutput:
    @escaping @Sendable (
      any DataSource<TestElement>, any DataSource<TestElement>, Property<Int>
    ) -> LiveCollection<Output>,
  is reference: @escaping @Sendable ([TestElement], [TestElement], Int) -> [Output],
  seeds: some Sequence<UInt64> = 0..<20, steps: Int = 30
) throws(ContractViolation) {
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
      try withTransaction { () throws(ContractViolation) in
        if kinds & 1 != 0 { try firstEditor.step(first) }
        if kinds & 2 != 0 { try secondEditor.step(second) }
        if kinds & 4 != 0 { value.value = firstEditor.random.below(4) }
      }
      for (recorder, count) in zip(events, counts) where recorder.eventCount > count + 1 {
        throw ContractViolation(
          rule: "T12",
          message: "one transaction caused \(recorder.eventCount - count) events",
          seed: seed, step: step)
      }
      let expected = Snapshot(reference(Array(first.snapshot), Array(second.snapshot), value.value))
      for output in outputs where !output.snapshot.hasSameContents(as: expected) {
        throw ContractViolation(
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
