import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives
import TestSupport
import TestTags
import Testing

/// Joins beside functions of arrays: rules O1, O2, O4 and O8.
@Suite struct JoinTests {
  /// The content is the key. Every third element has none.
  @Sendable private static func key(_ element: TestElement) -> Int? {
    element.content == 2 ? nil : element.content
  }

  @Test(.reaches(.changes)) func `a join of a root with a part of itself follows it`() throws {
    try checkOperator(
      { $0.joined(with: $0.filter { $0.id % 2 == 0 }, on: Self.key, equals: Self.key) },
      is: { JoinOracle.joined($0, $0.filter { $0.id % 2 == 0 }, Self.key, Self.key) },
      seeds: 0..<(TestRun.isLong ? 24 : 8))
    try checkOperator(
      { $0.leftJoined(with: $0.filter { $0.id % 2 == 0 }, on: Self.key, equals: Self.key) },
      is: { JoinOracle.leftJoined($0, $0.filter { $0.id % 2 == 0 }, Self.key, Self.key) },
      seeds: 0..<(TestRun.isLong ? 24 : 8))
  }

  @Test(.reaches(.changes))
  func `a join of a collection with itself has the old and the new side in one pass`() throws {
    try checkOperator(
      { $0.joined(with: $0, on: \.content, equals: \.content) },
      is: { JoinOracle.joined($0, $0, { $0.content }, { $0.content }) },
      seeds: 0..<(TestRun.isLong ? 24 : 8))
    try checkOperator(
      { $0.leftJoined(with: $0, on: { $0.content + 1 }) },
      is: { JoinOracle.leftJoined($0, $0, { $0.content + 1 }, { $0.id }) },
      seeds: 0..<(TestRun.isLong ? 24 : 8))
  }

  @Test(.reaches(.changes)) func `joins over two roots follow both`() throws {
    try checkOperator(
      overSeveralInputs: { first, second, _ in
        first.joined(with: second, on: Self.key, equals: Self.key)
      }, is: { first, second, _ in JoinOracle.joined(first, second, Self.key, Self.key) },
      seeds: 0..<(TestRun.isLong ? 24 : 8))
    try checkOperator(
      overSeveralInputs: { first, second, _ in
        first.leftJoined(with: second, on: Self.key, equals: Self.key)
      }, is: { first, second, _ in JoinOracle.leftJoined(first, second, Self.key, Self.key) },
      seeds: 0..<(TestRun.isLong ? 24 : 8))
    try checkOperator(
      overSeveralInputs: { first, second, limit in
        first.filter(by: limit) { $0.content < $1 }.leftJoined(with: second, on: Self.key)
      },
      is: { first, second, limit in
        JoinOracle.leftJoined(first.filter { $0.content < limit }, second, Self.key, { $0.id })
      }, seeds: 0..<(TestRun.isLong ? 24 : 8))
  }

  private struct Customer: Hashable, Identifiable, Sendable, Differentiable {
    let id: Int
    var name: String
  }

  @Test(.reaches(.changes)) func `a join of two types and a parameter follows all of them`() throws
  {
    try checkOperator(
      over: { $0 }, and: { Customer(id: $0.id, name: "Customer \($0.content)") },
      { orders, customers, limit in
        orders.joined(with: customers, on: \.content).filter(by: limit) { $0.left.id % 4 != $1 }
      },
      is: { orders, customers, limit in
        orders.flatMap { order in
          customers.filter { $0.id == order.content && order.id % 4 != limit }
            .map { JoinedPair(left: order, right: $0) }
        }
      }, seeds: 0..<(TestRun.isLong ? 24 : 8))
  }

  /// The lists are so long that small changes are followed one by one, and large ones are not.
  @Test(
    .reaches(.changes(of: ["joined", "leftJoined"])),
    arguments: UInt64(0)..<(TestRun.isLong ? 8 : 3))
  func `long lists follow small and large changes`(seed: UInt64)
    throws
  {
    let (first, second) = (Items([]), Items([]))
    let key: @Sendable (TestElement) -> Int? = { $0.id % 9 == 0 ? nil : $0.id / 3 + $0.content }
    let output = first.joined(with: second, on: key, equals: key)
    let leftOutput = first.leftJoined(with: second, on: key)
    let recorders = (
      RecordingObserver(output, keeps: 3, seed: seed),
      RecordingObserver(leftOutput, keeps: 3, seed: seed)
    )
    for size in [1, 3, 40] {
      var editor = RandomEditor<TestElement>(
        seed: seed, size: 400, editsPerStep: size, allowsDuplicates: true, kinds: RandomEdit.small)
      for items in [first, second] { items.replace(with: editor.makeElements()) }
      for step in 0..<40 {
        try withTransaction {
          if !step.isMultiple(of: 4) { try editor.step(first) }
          if !step.isMultiple(of: 3) { try editor.step(second) }
        }
        let (lefts, rights) = (Array(first.snapshot), Array(second.snapshot))
        try #require(
          output.snapshot.hasSameContents(as: Snapshot(JoinOracle.joined(lefts, rights, key, key))),
          "seed \(seed), step \(step)")
        try #require(
          leftOutput.snapshot.hasSameContents(
            as: Snapshot(JoinOracle.leftJoined(lefts, rights, key, { $0.id }))),
          "left, seed \(seed), step \(step)")
      }
    }
    try recorders.0.check(against: output)
    try recorders.1.check(against: leftOutput)
    Coverage.note(recorders.0, of: "joined")
    Coverage.note(recorders.1, of: "leftJoined")
  }
}

/// Joins of arrays.
enum JoinOracle {
  typealias Key = (TestElement) -> Int?

  static func joined(
    _ lefts: [TestElement], _ rights: [TestElement], _ key: Key, _ otherKey: Key
  ) -> [JoinedPair<TestElement, TestElement>] {
    lefts.flatMap { left in
      rights.filter { key(left) != nil && key(left) == otherKey($0) }
        .map { JoinedPair(left: left, right: $0) }
    }
  }

  static func leftJoined(
    _ lefts: [TestElement], _ rights: [TestElement], _ key: Key, _ otherKey: Key
  ) -> [JoinedPair<TestElement, TestElement?>] {
    lefts.flatMap { left in
      let matches: [TestElement?] = rights.filter {
        key(left) != nil && key(left) == otherKey($0)
      }
      return (matches.isEmpty ? [nil] : matches).map { JoinedPair(left: left, right: $0) }
    }
  }
}
