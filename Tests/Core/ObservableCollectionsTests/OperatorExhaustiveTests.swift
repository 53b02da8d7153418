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

  /// The operators that group and combine elements.
  private static func combinations(_ items: Items, _ value: Property<Int>) -> [Output] {
    let others = items.filter { $0.id % 2 == 0 }
    let key: @Sendable (TestElement) -> Int? = { $0.content == 1 ? nil : $0.id / 2 }
    let children: @Sendable (TestElement) -> [TestElement] = { [$0, TestElement(5, $0.id)] }
    let parent: @Sendable (TestElement) -> Int? = { $0.content == 0 ? nil : $0.id - 1 }
    var outputs: [Output] = []
    func add(
      _ source: LiveCollection<TestElement>,
      _ contents: @escaping ([TestElement], Int) -> [TestElement]
    ) { outputs.append((source, contents)) }
    func even(_ input: [TestElement]) -> [TestElement] { input.filter { $0.id % 2 == 0 } }
    func grouped(_ input: [TestElement]) -> [TestElement] {
      GroupingTests.sections(input) { $0.content }.flatMap(\.elements)
    }
    add(items.sections(by: \.content).flatMap { $0.elements }) { input, _ in grouped(input) }
    add(items.grouped(by: \.content).flatMap { $0.elements }) { input, _ in grouped(input) }
    add(items.indexed(by: \.content)[1]) { input, _ in input.filter { $0.content == 1 } }
    add(items.distinct()) { input, _ in SetOracle.distinct(input) }
    add(items.distinct(by: \.content)) { input, _ in SetOracle.distinctContents(input) }
    add(items.reversed().union(others)) { input, _ in
      SetOracle.union(input.reversed(), even(input))
    }
    add(items.reversed().intersection(others)) { input, _ in
      SetOracle.intersection(input.reversed(), even(input))
    }
    add(items.subtracting(others)) { input, _ in SetOracle.subtraction(input, even(input)) }
    add(items.joined(with: items, on: key, equals: key).map(\.left)) { input, _ in
      JoinOracle.joined(input, input, key, key).map(\.left)
    }
    add(items.leftJoined(with: others, on: key).map { $0.right ?? $0.left }) { input, _ in
      JoinOracle.leftJoined(input, even(input), key, { $0.id }).map { $0.right ?? $0.left }
    }
    add(items.chunked(into: 2).flatMap { $0.elements }) { input, _ in input }
    add(items.chunked(into: 2).map(summary)) { input, _ in chunkSummaries(input, of: 2) }
    add(items.chunked(into: value).map(summary)) { input, value in chunkSummaries(input, of: value)
    }
    add(items.flatMap(children)) { input, _ in input.flatMap(children) }
    add(items.flatMap { parent in items.filter { $0.content == parent.content } }) { input, _ in
      input.flatMap { parent in input.filter { $0.content == parent.content } }
    }
    let expansion = value.map { OutlineRow<TestElement>.Expansion([$0]) }
    let outline = items.outline(parent: parent, isExpanded: expansion)
    add(outline.map { TestElement($0.element.id, $0.depth) }) { input, value in
      outlineRows(input, parent: parent, isExpanded: { $0 == value })
        .map { TestElement($0.element.id, $0.depth) }
    }
    add(items.latest(value, by: \.content)) { input, value in latest(value, of: input) }
    add(items.expiring(after: .seconds(1), clock: ManualClock())) { input, _ in input }
    add(items.debounced(for: .zero, clock: ManualClock())) { input, _ in input }
    add(items.throttled(for: .zero, clock: ManualClock())) { input, _ in input }
    return outputs
  }

  /// Joins that keep one side or both, neighbors, properties of elements, totals and selections.
  private static func everyday(_ items: Items, _ value: Property<Int>) -> [Output] {
    let others = items.filter { $0.id % 2 == 0 }
    let key: @Sendable (TestElement) -> Int? = { $0.content == 1 ? nil : $0.id / 2 }
    var outputs: [Output] = []
    func add(
      _ source: LiveCollection<TestElement>,
      _ contents: @escaping ([TestElement], Int) -> [TestElement]
    ) { outputs.append((source, contents)) }
    func even(_ input: [TestElement]) -> [TestElement] { input.filter { $0.id % 2 == 0 } }
    func isMatched(_ element: TestElement, _ input: [TestElement]) -> Bool {
      even(input).contains { $0.id == key(element) }
    }
    add(items.semiJoined(with: others, on: key)) { input, _ in
      input.filter { isMatched($0, input) }
    }
    add(items.antiJoined(with: others, on: key)) { input, _ in
      input.filter { !isMatched($0, input) }
    }
    let full = items.fullJoined(with: others, on: key, equals: \.id)
    add(full.map { TestElement($0.left?.id ?? -1, $0.right?.id ?? -1) }) { input, _ in
      let rest = even(input).filter { right in !input.contains { key($0) == right.id } }
      return JoinOracle.leftJoined(input, even(input), key, { $0.id })
        .map { TestElement($0.left.id, $0.right?.id ?? -1) } + rest.map { TestElement(-1, $0.id) }
    }
    add(items.map(withPrevious: { TestElement($0.id, ($1?.id ?? 7) * 10 + ($1?.content ?? 7)) })) {
      input, _ in
      zip(input, [TestElement(7, 7)] + input).map { TestElement($0.id, $1.id * 10 + $1.content) }
    }
    add(items.map(each: { _ in value }) { TestElement($0.id, $1) }) { input, value in
      input.map { TestElement($0.id, value) }
    }
    add(items.filter(byEach: { element in value.map { element.id > $0 } })) { input, value in
      input.filter { $0.id > value }
    }
    add(items.sorted(byEach: { element in value.map { $0 == 1 ? element.content : -element.id } }))
    { input, value in
      stablySorted(input) { value == 1 ? $0.content < $1.content : $0.id > $1.id }
    }
    let totals = items.aggregated(by: \.content) { group in
      group.live.sum(of: \.id).map { TestElement(group.key, $0) }
    }
    add(totals) { input, _ in
      GroupingTests.sections(input) { $0.content }.map { section in
        TestElement(section.key, section.elements.reduce(0) { $0 + $1.id })
      }
    }
    add(items.paused(while: value.map { $0 > 9 })) { input, _ in input }
    let selection = items.selection(whenGone: .remember)
    selection.select(1)
    add(selection.selected) { input, _ in input.filter { $0.id == 1 } }
    add(selection.unselected) { input, _ in input.filter { $0.id != 1 } }
    let single = items.distinct()
    add(single.prefix(single.live(upTo: 2).count)) { input, _ in
      let single = SetOracle.distinct(input)
      return single.firstIndex { $0.id == 2 }.map { Array(single[...$0]) } ?? []
    }
    return outputs
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
    let outputs =
      Self.outputs(items, value) + Self.combinations(items, value)
      + Self.everyday(items, value)
    let recorders = outputs.map { RecordingObserver($0.source, keeps: 3) }
    // An ordinary run takes one of seven changes.
    let stride = TestRun.isLong ? 1 : 7
    for (number, before) in lists.enumerated() {
      for (position, after) in lists.enumerated() where (number + position) % stride == 0 {
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
