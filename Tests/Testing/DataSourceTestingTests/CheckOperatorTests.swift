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
  ) -> ContractError? {
    do {
      try checkOperator(makeOutput, is: { $0.filter { $0.content > 0 } }, calls: calls)
      return nil
    } catch {
      return error
    }
  }

  @Test func `a correct operator passes`() {
    #expect(violation { $0.filter { $0.content > 0 } } == nil)
  }

  @Test func `wrong contents break O1 and the error has the seed`() {
    let violation = violation { $0.filter { $0.content > 1 } }
    #expect(violation?.rule == "O1")
    #expect(violation?.seed != nil && violation?.step != nil)
  }

  @Test func `an operator that forgets updates breaks O1`() {
    #expect(violation { $0.transformed { Forgetful(input: $0) } }?.rule == "O1")
  }

  @Test func `an operator that keeps the old identity of an updated element breaks O1`() {
    #expect(violation { $0.transformed { Keyed(input: $0) } }?.rule == "O1")
  }

  @Test func `an operator whose events are incomplete breaks E4`() {
    #expect(violation { $0.transformed { Untold(input: $0) } }?.rule == "E4")
  }

  @Test func `an operator over two types that forgets one of them breaks O1`() {
    let names: @Sendable ([TestElement], [String]) -> [String] = { firsts, seconds in
      firsts.map { "\($0.id)" } + seconds
    }
    func violation(forgets: Bool) -> ContractError? {
      do {
        try checkOperator(
          over: { $0 }, and: { "\($0.id).\($0.content)" },
          { firsts, seconds, _ in
            let ids = firsts.map { "\($0.id)" }
            return forgets ? ids : ids.concatenated(with: seconds)
          }, is: { firsts, seconds, _ in names(firsts, seconds) })
        return nil
      } catch {
        return error
      }
    }
    #expect(violation(forgets: true)?.rule == "O1" && violation(forgets: false) == nil)
  }

  @Test func `an operator over a list and a property that ignores the property breaks O1`() throws {
    let prefix: @Sendable ([TestElement], Int) -> [TestElement] = { Array($0.prefix($1)) }
    try checkOperator({ list, length in list.prefix(length) }, is: prefix)
    let violation = #expect(throws: ContractError.self) {
      try checkOperator({ list, length in list.prefix(length.value) }, is: prefix)
    }
    #expect(violation?.rule == "O1" && violation?.seed != nil)
  }

  @Test func `deleting and inserting in two steps breaks O2`() {
    #expect(violation { Rebuilt($0).collection }?.rule == "O2")
  }

  @Test func `computing everything again breaks O4`() {
    let calls = Locked(0)
    let violation = violation(
      of: { source in
        source.transformed { input in
          Uncached(input: input) { calls.withLock { $0 += 1 } }
        }
      },
      calls: { calls.withLock { $0 } })
    #expect(violation?.rule == "O4")
  }
}

private typealias Elements = [TestElement]

private func passing(_ elements: some Sequence<TestElement>) -> [TestElement] {
  elements.filter { $0.content > 0 }
}

/// Ignores updates.
private struct Forgetful: CollectionOperator {
  let input: CollectionInput<TestElement>

  func start(_ output: CollectionDraft<TestElement>) {
    output.replace(with: passing(input.snapshot))
  }

  func update(_ output: CollectionDraft<TestElement>) {
    if input.change?.changeset.updates.isEmpty == false { return }
    output.replace(with: passing(input.snapshot))
  }
}

/// Finds updated elements by their identity, as if it could not change.
private struct Keyed: CollectionOperator {
  let input: CollectionInput<TestElement>

  func start(_ output: CollectionDraft<TestElement>) {
    output.replace(with: passing(input.snapshot))
  }

  func update(_ output: CollectionDraft<TestElement>) {
    guard let change = input.change else { return }
    if change.updated.contains(where: { $0.old.id != $0.new.id }) { return }
    output.replace(with: passing(input.snapshot))
  }
}

/// Has the right contents, and reports them without the updates.
private struct Untold: CollectionOperator {
  let input: CollectionInput<TestElement>

  func start(_ output: CollectionDraft<TestElement>) {
    output.replace(with: passing(input.snapshot))
  }

  func update(_ output: CollectionDraft<TestElement>) {
    let result = passing(input.snapshot)
    let changeset = Changeset(from: output.elements, to: result)
    output.replace(
      with: Snapshot(result),
      by: Changeset(
        deletions: changeset.deletions, insertions: changeset.insertions, moves: changeset.moves))
  }
}

/// Computes everything again for each change.
private struct Uncached: CollectionOperator {
  let input: CollectionInput<TestElement>
  let onCall: @Sendable () -> Void

  func start(_ output: CollectionDraft<TestElement>) {
    output.replace(
      with: input.snapshot.filter {
        onCall()
        return $0.content > 0
      })
  }

  func update(_ output: CollectionDraft<TestElement>) { start(output) }
}

/// Empties its output before it fills it again.
private final class Rebuilt: Sendable {
  let collection: LiveCollection<TestElement>

  init(_ source: any DataSource<TestElement>) {
    let output = ArrayDataSource<TestElement>()
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
