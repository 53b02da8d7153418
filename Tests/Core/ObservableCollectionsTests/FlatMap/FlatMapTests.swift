import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives
import TestSupport
import TestTags
import Testing

/// `flatMap` beside the one of arrays: rules O1, O2, O4 and O8.
@Suite struct FlatMapTests {
  /// The children of neighbors have common identities. The content decides their number and order.
  @Sendable static func children(_ parent: TestElement) -> [TestElement] {
    let children = (0..<parent.id % 4).map { TestElement(parent.id + $0, parent.content / 2) }
    return parent.content == 1 ? children.reversed() : children
  }

  @Test(.reaches(.changes)) func `flatMap follows its input and calls its closure once`() throws {
    let calls = Locked(0)
    try checkOperator(
      { source in
        source.flatMap { parent in
          calls.withLock { $0 += 1 }
          return Self.children(parent)
        }
      }, is: { $0.flatMap(Self.children) }, seeds: 0..<30, calls: { calls.withLock { $0 } })
  }

  @Test(.reaches(.changes)) func `flatMap over lists with parameters follows both`() throws {
    try checkOperator(
      overSeveralInputs: { first, second, limit in
        first.union(second).prefix(limit.map { $0 * 3 }).flatMap(Self.children)
      },
      is: { first, second, limit in
        SetOracle.union(first, second).prefix(limit * 3).flatMap(Self.children)
      }, seeds: 0..<(TestRun.isLong ? 24 : 8))
  }

  /// The list is so long that small changes are followed one by one, and large ones are not.
  @Test(.reaches(.changes), arguments: UInt64(0)..<(TestRun.isLong ? 8 : 3))
  func `a long list follows small and large changes`(seed: UInt64)
    throws
  {
    let items = Items([])
    let output = items.flatMap(Self.children)
    let recorder = RecordingObserver(output, keeps: 3, seed: seed)
    for size in [1, 3, 40] {
      var editor = RandomEditor<TestElement>(
        seed: seed, size: 400, editsPerStep: size, allowsDuplicates: true, kinds: RandomEdit.small)
      items.replace(with: editor.makeElements())
      for step in 0..<60 {
        try editor.step(items)
        try #require(
          output.snapshot.hasSameContents(
            as: Snapshot(Array(items.snapshot).flatMap(Self.children))),
          "seed \(seed), step \(step)")
      }
    }
    try recorder.check(against: output)
    Coverage.note(recorder)
  }
}
