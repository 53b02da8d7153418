import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import Testing

/// Every change between short lists, for each operator and each value of its parameter.
@Suite struct OperatorExhaustiveTests {
  private typealias Output = (
    source: LiveCollection<TestElement>, contents: ([TestElement], Int) -> [TestElement]
  )

  /// The operators over a list and a parameter.
  private static func outputs(_ items: Items, _ value: Property<Int>) -> [Output] {
    [
      (
        items.map { TestElement($0.id, $0.content + 1) },
        { input, _ in
          input.map { TestElement($0.id, $0.content + 1) }
        }
      ),
      (items.filter { $0.content == 0 }, { input, _ in input.filter { $0.content == 0 } }),
      (items.filter(by: value) { $0.id > $1 }, { input, value in input.filter { $0.id > value } }),
      (
        items.filter(by: value, effect: { $1 > $0 ? .narrowing : .widening }) { $0.id > $1 },
        { input, value in input.filter { $0.id > value } }
      ),
      (
        items.sorted(by: \.content), { input, _ in stablySorted(input) { $0.content < $1.content } }
      ),
      (
        items.sorted(by: value.map { $0 == 1 ? .ascending(\.id) : .descending(\.content) }),
        { input, value in
          stablySorted(input) { value == 1 ? $0.id < $1.id : $0.content > $1.content }
        }
      ),
      (items.reversed(), { input, _ in input.reversed() }),
      (items.prefix(value), { input, value in Array(input.prefix(value)) }),
      (items.suffix(value), { input, value in Array(input.suffix(value)) }),
      (items.dropFirst(value), { input, value in Array(input.dropFirst(value)) }),
      (
        items.window(value.map { $0..<$0 + 2 }),
        { input, value in
          Array(input[(value..<value + 2).clamped(to: 0..<input.count)])
        }
      ),
      (
        items.concatenated(with: items.filter { $0.content == 0 }),
        { input, _ in
          input + input.filter { $0.content == 0 }
        }
      ),
    ]
  }

  @Test func `each change between short lists with repeated identities`() throws {
    let elements = [TestElement(1, 0), TestElement(1, 1), TestElement(2, 0)]
    try check(everyList(upTo: 3, of: elements), values: [1])
  }

  @Test func `each change between orders of four elements, and each change of the parameter`()
    throws
  {
    let lists = everyList(upTo: 4, of: [1, 2, 3, 4]).filter { Set($0).count == $0.count }
      .map { list in list.map { TestElement($0, ($0 + list.count) % 2) } }
    try check(lists, values: [1, 2])
  }

  private func check(_ lists: [[TestElement]], values: [Int]) throws {
    let (items, value) = (Items(), Property(1))
    let outputs = Self.outputs(items, value)
    let recorders = outputs.map { RecordingObserver($0.source, keeps: 3) }
    for before in lists {
      for after in lists {
        items.replace(with: before)
        withTransaction {
          items.replace(with: after)
          value.value = values[after.count % values.count]
        }
        for (position, output) in outputs.enumerated() {
          try #require(
            output.source.snapshot.hasSameContents(
              as: Snapshot(output.contents(after, value.value))),
            "operator \(position), from \(before) to \(after)")
        }
      }
    }
    for (recorder, output) in zip(recorders, outputs) { try recorder.check(against: output.source) }
  }
}

private func stablySorted(
  _ elements: [TestElement], _ precedes: (TestElement, TestElement) -> Bool
) -> [TestElement] {
  elements.enumerated().sorted { one, other in
    if precedes(one.element, other.element) { return true }
    return !precedes(other.element, one.element) && one.offset < other.offset
  }.map(\.element)
}
