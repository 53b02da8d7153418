import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives
import TestSupport
import TestTags
import Testing

/// Set operators beside functions of arrays: rules O1, O2, O4 and O8.
@Suite struct SetTests {
  // MARK: Random changes

  @Test(.reaches(.changes)) func `distinct follows its input whatever is done to it`() throws {
    try checkOperator(
      { $0.distinct() }, is: SetOracle.distinct, seeds: 0..<(TestRun.isLong ? 30 : 10))
  }

  @Test(.reaches(.changes)) func `distinct by a key follows its input and reads each key once`()
    throws
  {
    let calls = Locked(0)
    try checkOperator(
      { source in
        source.distinct { element in
          calls.withLock { $0 += 1 }
          return element.content
        }
      }, is: SetOracle.distinctContents, seeds: 0..<(TestRun.isLong ? 30 : 10),
      calls: { calls.withLock { $0 } })
  }

  @Test(.reaches(.changes)) func `sets over parts of one root follow it`() throws {
    let isEven: @Sendable (TestElement) -> Bool = { $0.content % 2 == 0 }
    try checkOperator(
      { $0.filter { $0.content < 2 }.union($0.filter(isEven)) },
      is: { SetOracle.union($0.filter { $0.content < 2 }, $0.filter(isEven)) },
      seeds: 0..<(TestRun.isLong ? 30 : 10))
    try checkOperator(
      { $0.intersection($0.filter(isEven)) },
      is: { SetOracle.intersection($0, $0.filter(isEven)) }, seeds: 0..<(TestRun.isLong ? 30 : 10))
    try checkOperator(
      { $0.subtracting($0.filter(isEven)) },
      is: { SetOracle.subtraction($0, $0.filter(isEven)) }, seeds: 0..<(TestRun.isLong ? 30 : 10))
  }

  @Test(.reaches(.changes)) func `sets of one collection with itself follow it`() throws {
    try checkOperator({ $0.union($0) }, is: { $0 }, seeds: 0..<(TestRun.isLong ? 20 : 7))
    try checkOperator({ $0.intersection($0) }, is: { $0 }, seeds: 0..<(TestRun.isLong ? 20 : 7))
    try checkOperator({ $0.subtracting($0) }, is: { _ in [] }, seeds: 0..<(TestRun.isLong ? 20 : 7))
    try checkOperator({ $0.union($0.reversed()) }, is: { $0 }, seeds: 0..<(TestRun.isLong ? 20 : 7))
  }

  @Test(.reaches(.changes)) func `sets over two roots follow both`() throws {
    try checkOperator(
      overSeveralInputs: { first, second, _ in first.union(second) },
      is: { first, second, _ in SetOracle.union(first, second) },
      seeds: 0..<(TestRun.isLong ? 30 : 10))
    try checkOperator(
      overSeveralInputs: { first, second, _ in first.intersection(second) },
      is: { first, second, _ in SetOracle.intersection(first, second) },
      seeds: 0..<(TestRun.isLong ? 30 : 10))
    try checkOperator(
      overSeveralInputs: { first, second, _ in first.subtracting(second) },
      is: { first, second, _ in SetOracle.subtraction(first, second) },
      seeds: 0..<(TestRun.isLong ? 30 : 10))
  }

  @Test(.reaches(.changes)) func `sets over lists with parameters follow both`() throws {
    try checkOperator(
      overSeveralInputs: { first, second, limit in
        first.prefix(limit).union(second.filter(by: limit) { $0.content >= $1 }).distinct()
      },
      is: { first, second, limit in
        SetOracle.distinct(
          SetOracle.union(Array(first.prefix(limit)), second.filter { $0.content >= limit }))
      }, seeds: 0..<(TestRun.isLong ? 30 : 10))
  }

  /// The lists are so long that small changes are followed one by one, and large ones are not.
  @Test(
    .reaches(
      .changes(of: SetOracle.names.filter { $0 != "distinct(by:)" }), "distinct(by:): deletion",
      "distinct(by:): insertion"), arguments: UInt64(0)..<(TestRun.isLong ? 8 : 3))
  func `long lists follow small and large changes`(seed: UInt64)
    throws
  {
    let (first, second) = (Items([]), Items([]))
    let outputs = SetOracle.outputs(first, second)
    let recorders = outputs.map { RecordingObserver($0.source, keeps: 3, seed: seed) }
    for size in [1, 40] {
      var editor = RandomEditor<TestElement>(
        seed: seed, size: 400, editsPerStep: size,
        allowsDuplicates: seed.isMultiple(of: 2), kinds: RandomEdit.small)
      for items in [first, second] { items.replace(with: editor.makeElements()) }
      for step in 0..<60 {
        try withTransaction {
          try editor.step(first)
          if step.isMultiple(of: 3) { try editor.step(second) }
        }
        for (number, output) in outputs.enumerated() {
          let expected = output.contents(Array(first.snapshot), Array(second.snapshot))
          try #require(
            output.source.snapshot.hasSameContents(as: Snapshot(expected)),
            "operator \(number), seed \(seed), step \(step)")
        }
      }
    }
    for (number, (recorder, output)) in zip(recorders, outputs).enumerated() {
      try recorder.check(against: output.source)
      Coverage.note(recorder, of: SetOracle.names[number])
    }
  }
}

extension RandomEdit {
  /// Edits of a few elements.
  static let small: [RandomEdit] = [
    .append, .insert, .insertMany, .remove, .removeMany, .move, .update, .replaceIdentity,
    .exchange, .cancelOut,
  ]
}

/// Sets of arrays.
enum SetOracle {
  typealias Contents = @Sendable ([TestElement], [TestElement]) -> [TestElement]

  /// The names of the operators in `outputs`.
  static let names = [
    "distinct", "distinct(by:)", "union", "intersection", "subtracting", "union.distinct",
  ]

  /// All operators over two lists.
  static func outputs(
    _ first: Items, _ second: Items
  ) -> [(source: LiveCollection<TestElement>, contents: Contents)] {
    [
      (first.distinct(), { first, _ in distinct(first) }),
      (first.distinct(by: \.content), { first, _ in distinctContents(first) }),
      (first.union(second), union), (first.intersection(second), intersection),
      (first.subtracting(second), subtraction),
      (second.union(first).distinct(), { distinct(union($1, $0)) }),
    ]
  }

  @Sendable static func distinct(_ elements: [TestElement]) -> [TestElement] {
    var seen: Set<Int> = []
    return elements.filter { seen.insert($0.id).inserted }
  }

  @Sendable static func distinctContents(_ elements: [TestElement]) -> [TestElement] {
    var seen: Set<Int> = []
    return elements.filter { seen.insert($0.content).inserted }
  }

  @Sendable static func union(_ one: [TestElement], _ other: [TestElement]) -> [TestElement] {
    var counts = Dictionary(one.map { ($0.id, 1) }, uniquingKeysWith: +)
    return one
      + other.filter { element in
        counts[element.id, default: 0] -= 1
        return counts[element.id, default: 0] < 0
      }
  }

  @Sendable static func intersection(
    _ one: [TestElement], _ other: [TestElement]
  ) -> [TestElement] {
    var counts = Dictionary(other.map { ($0.id, 1) }, uniquingKeysWith: +)
    return one.filter { element in
      counts[element.id, default: 0] -= 1
      return counts[element.id, default: 0] >= 0
    }
  }

  @Sendable static func subtraction(
    _ one: [TestElement], _ other: [TestElement]
  ) -> [TestElement] {
    var counts = Dictionary(one.map { ($0.id, 1) }, uniquingKeysWith: +)
    for element in other { counts[element.id, default: 0] -= 1 }
    return one.filter { element in
      counts[element.id, default: 0] -= 1
      return counts[element.id, default: 0] >= 0
    }
  }
}
