import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives
import Testing

@Suite struct CheckOperatorTests {
  private func violation(
    of makeOutput: @escaping @Sendable (any DataSource<TestElement>) -> LiveCollection<TestElement>,
    calls: (() -> Int)? = nil
  ) -> ContractViolation? {
    do {
      try checkOperator(makeOutput, is: { $0.filter { $0.content > 0 } }, calls: calls)
      return nil
    } catch {
      return error
    }
  }

  @Test func aRightOperatorPasses() {
    #expect(violation { $0.filter { $0.content > 0 } } == nil)
  }

  @Test func wrongContentsBreakO1AndTellTheSeed() {
    let violation = violation { $0.filter { $0.content > 1 } }
    #expect(violation?.rule == "O1")
    #expect(violation?.seed != nil && violation?.step != nil)
  }

  @Test func anOperatorThatForgetsUpdatesBreaksO1() {
    #expect(violation { $0.transformed(by: Forgetful()) }?.rule == "O1")
  }

  @Test func anOperatorThatTellsTooLittleBreaksE4() {
    #expect(violation { $0.transformed(by: Untold()) }?.rule == "E4")
  }

  @Test func deletingAndInsertingInTwoStepsBreaksO2() {
    #expect(violation { Rebuilt($0).collection }?.rule == "O2")
  }

  @Test func computingAllAnewBreaksO4() {
    let calls = Locked(0)
    let violation = violation(
      of: { $0.transformed(by: Uncached { calls.withLock { $0 += 1 } }) },
      calls: { calls.withLock { $0 } })
    #expect(violation?.rule == "O4")
  }
}

private typealias Elements = [TestElement]

private func passing(_ elements: some Sequence<TestElement>) -> [TestElement] {
  elements.filter { $0.content > 0 }
}

/// Leaves updates out.
private struct Forgetful: CollectionOperator {
  func start(with input: Snapshot<TestElement>) -> [TestElement] { passing(input) }

  func apply(
    _ change: CollectionChange<TestElement>, to output: Snapshot<TestElement>
  ) -> (output: [TestElement], changeset: Changeset)? {
    if !change.changeset.updates.isEmpty { return nil }
    let result = passing(change.after)
    return (result, Changeset(from: output, to: result))
  }
}

/// Has the right contents, and tells them without the updates.
private struct Untold: CollectionOperator {
  func start(with input: Snapshot<TestElement>) -> [TestElement] { passing(input) }

  func apply(
    _ change: CollectionChange<TestElement>, to output: Snapshot<TestElement>
  ) -> (output: [TestElement], changeset: Changeset)? {
    let result = passing(change.after)
    let changeset = Changeset(from: output, to: result)
    return (
      result,
      Changeset(
        deletions: changeset.deletions, insertions: changeset.insertions, moves: changeset.moves)
    )
  }
}

/// Computes everything anew for each change.
private struct Uncached: CollectionOperator {
  let onCall: @Sendable () -> Void

  func start(with input: Snapshot<TestElement>) -> [TestElement] {
    input.filter {
      onCall()
      return $0.content > 0
    }
  }

  func apply(
    _ change: CollectionChange<TestElement>, to output: Snapshot<TestElement>
  ) -> (output: [TestElement], changeset: Changeset)? {
    let result = start(with: change.after)
    return (result, Changeset(from: output, to: result))
  }
}

/// Empties its output before it fills it again.
private final class Rebuilt: Sendable {
  let collection: LiveCollection<TestElement>

  init(_ source: any DataSource<TestElement>) {
    let output = CollectionProperty<TestElement>()
    let observation = source.observe { event in
      output.removeAll()
      output.replace(with: passing(event.snapshot))
    }
    // The result keeps what feeds it.
    collection = output.collection.map { element in
      withExtendedLifetime(observation) { element }
    }
  }
}
