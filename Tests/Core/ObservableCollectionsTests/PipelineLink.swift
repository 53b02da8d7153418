import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport

/// The contents of the roots of a pipeline, and the values of its parameters.
struct PipelineWorld {
  var roots: [[TestElement]]
  var parameters: [Int]
}

/// A pipeline of operators, and its expected contents.
struct Pipeline {
  let source: any DataSource<TestElement>
  let text: String
  /// The name of the last operator, or `nil` if there is none.
  var name: String?
  let contents: @Sendable (PipelineWorld) -> [TestElement]
}

/// The next operator of a pipeline, over its end and a parameter.
struct PipelineLink {
  let input: Pipeline
  let parameter: Property<Int>
  /// The number of the parameter.
  let index: Int
  /// A Boolean value that indicates whether the input is too long for operators that make it longer.
  let isLong: Bool

  private var source: any DataSource<TestElement> { input.source }

  /// The pipeline with one more operator, which depends on the input and the parameter.
  private func next(
    _ text: String, _ output: LiveCollection<TestElement>,
    _ transform: @escaping @Sendable ([TestElement], Int) -> [TestElement]
  ) -> Pipeline {
    let name = String(text.filter { !$0.isNumber })
    return Pipeline(source: output, text: "\(input.text).\(text)", name: name) {
      [input, index] world in
      transform(input.contents(world), world.parameters[index])
    }
  }

  /// A pipeline over this one and another one.
  private func both(
    _ text: String, _ output: LiveCollection<TestElement>, _ other: Pipeline,
    _ transform: @escaping @Sendable ([TestElement], [TestElement]) -> [TestElement]
  ) -> Pipeline {
    let texts = "(\(input.text)).\(text)(\(other.text))"
    return Pipeline(source: output, text: texts, name: text) { [input] world in
      transform(input.contents(world), other.contents(world))
    }
  }

  /// Pipelines over this one, which end with each of the operators.
  func each(with other: Pipeline) -> [Pipeline] {
    (0..<Self.simpleCount).map(simple) + (0..<Self.groupingCount).map(grouping)
      + (0..<Self.treeCount).map(tree) + (0..<Self.timedCount).map(timed)
      + (0..<Self.combinedCount).map { combined($0, with: other) }
      + (0..<Self.everydayCount).map { everyday($0, with: other) }
  }

  /// The names of all operators.
  static let names: [String] = {
    let root = Pipeline(source: ArrayDataSource<TestElement>(), text: "root") { $0.roots[0] }
    let link = PipelineLink(input: root, parameter: Property(0), index: 0, isLong: false)
    return link.each(with: root).compactMap(\.name)
  }()

  /// The kinds of operations of each operator.
  ///
  /// Chunks are numbered in order, so they never move. An update changes the key of the index, so the element leaves the
  /// list of its key.
  static let operations = Coverage.Cases(
    Coverage.Cases.changes(of: names).names.filter {
      !["chunked(into: ): move", "indexed: update"].contains($0)
    })

  // The numbers of the kinds below.
  static let simpleCount = 15

  /// Operators over single elements, orders and windows.
  func simple(_ kind: Int) -> Pipeline {
    switch kind {
    case 0:
      return next("map", source.map { TestElement($0.id, $0.content + 1) }) { input, _ in
        input.map { TestElement($0.id, $0.content + 1) }
      }
    case 1:
      return next("filter", source.filter { $0.id % 3 != 0 }) { input, _ in
        input.filter { $0.id % 3 != 0 }
      }
    case 2:
      return next("compactMap", source.compactMap(halved)) { input, _ in input.compactMap(halved) }
    case 3:
      return next(
        "filter(by: \(index))", source.filter(by: parameter) { $0.content % 5 >= $1 }
      ) { input, limit in input.filter { $0.content % 5 >= limit } }
    case 4:
      return next(
        "filter(by: \(index), effect:)",
        source.filter(by: parameter, effect: { $1 >= $0 ? .narrowing : .widening }) {
          $0.id % 5 >= $1
        }
      ) { input, limit in input.filter { $0.id % 5 >= limit } }
    case 5:
      return next("sorted(by: content)", source.sorted(by: \.content)) { input, _ in
        stablySorted(input, .ascending(\.content))
      }
    case 6:
      return next("sorted", source.sorted { $0.id % 4 > $1.id % 4 }) { input, _ in
        stablySorted(input, .descending { $0.id % 4 })
      }
    case 7:
      return next("sorted(by: \(index))", source.sorted(by: parameter.map(order))) { input, kind in
        stablySorted(input, order(kind))
      }
    case 8: return next("reversed", source.reversed()) { input, _ in input.reversed() }
    case 9: return next("prefix", source.prefix(7)) { input, _ in Array(input.prefix(7)) }
    case 10:
      return next("prefix(\(index))", source.prefix(parameter.map { $0 * 6 })) { input, count in
        Array(input.prefix(count * 6))
      }
    case 11:
      return next("suffix(\(index))", source.suffix(parameter.map { $0 * 6 })) { input, count in
        Array(input.suffix(count * 6))
      }
    case 12:
      return next("dropFirst(\(index))", source.dropFirst(parameter)) { input, count in
        Array(input.dropFirst(count))
      }
    case 13:
      let half = source.live.count.map { $0 / 2 }
      return next("suffix(half)", source.suffix(half)) { input, _ in
        Array(input.suffix(input.count / 2))
      }
    default:
      return next("window(\(index))", source.window(parameter.map { $0 * 4..<$0 * 5 + 3 })) {
        input, page in
        Array(input[(page * 4..<page * 5 + 3).clamped(to: 0..<input.count)])
      }
    }
  }

  static let groupingCount = 11

  /// Sections, groups, indexes and distinct elements.
  func grouping(_ kind: Int) -> Pipeline {
    let key: @Sendable (TestElement) -> Int = { ($0.id + $0.content) % 4 }
    switch kind {
    case 0:
      return next("sections", source.sections(by: \.content).flatMap { $0.elements }) { input, _ in
        GroupingTests.sections(input) { $0.content }.flatMap(\.elements)
      }
    case 1:
      let output = source.sections(by: key, order: .ascending(\.self)).flatMap { $0.elements }
      return next("sections(order:)", output) { input, _ in
        GroupingTests.sections(input, ordered: true, key).flatMap(\.elements)
      }
    case 2:
      let output = source.sections(by: key).sections { $0.elements.count % 3 }
        .flatMap { $0.elements.flatMap(\.elements) }
      return next("sections of sections", output) { input, _ in
        let sections = GroupingTests.sections(input, key)
        var counts: [Int] = []
        for section in sections where !counts.contains(section.elements.count % 3) {
          counts.append(section.elements.count % 3)
        }
        return counts.flatMap { count in
          sections.filter { $0.elements.count % 3 == count }.flatMap(\.elements)
        }
      }
    case 3:
      let output = source.grouped(by: key).map { TestElement($0.key, $0.count) }
      return next("grouped", output) { input, _ in
        GroupingTests.sections(input, key).map { TestElement($0.key, $0.elements.count) }
      }
    case 4:
      return next("grouped.flatMap", source.grouped(by: key).flatMap { $0.elements }) { input, _ in
        GroupingTests.sections(input, key).flatMap(\.elements)
      }
    case 5:
      return next("indexed", source.indexed(by: key)[1]) { input, _ in
        input.filter { key($0) == 1 }
      }
    case 6:
      let output = source.sections(by: parameter.map(divided)).flatMap { $0.elements }
      return next("sections(by: \(index))", output) { input, value in
        GroupingTests.sections(input) { divided(by: value)($0) }.flatMap(\.elements)
      }
    case 7:
      let output = source.sections(by: key, order: parameter.map(order)).flatMap { $0.elements }
      return next("sections(order: \(index))", output) { input, value in
        sections(GroupingTests.sections(input, key), in: order(value)).flatMap(\.elements)
      }
    case 8:
      let output = source.sections(by: key).rows().map { row in
        switch row {
        case .header(let key, let count): TestElement(10_000 + key, count)
        case .element(let element): element
        }
      }
      return next("sections.rows", output) { input, _ in
        GroupingTests.sections(input, key).flatMap {
          [TestElement(10_000 + $0.key, $0.elements.count)] + Array($0.elements)
        }
      }
    case 9:
      let output = source.chunked(into: parameter.map { $0 + 1 }).map(summary)
      return next("chunked(into: \(index))", output) { input, size in
        chunkSummaries(input, of: size + 1)
      }
    default:
      return next("distinct(by:)", source.distinct(by: \.content)) { input, _ in
        SetOracle.distinctContents(input)
      }
    }
  }

  static let treeCount = 6

  /// Operators that put elements in the place of others, and trees.
  func tree(_ kind: Int) -> Pipeline {
    let parent: @Sendable (TestElement) -> Int? = { $0.content == 0 ? nil : $0.id % 7 }
    switch kind {
    case 0 where !isLong:
      return next("flatMap", source.flatMap(FlatMapTests.children)) { input, _ in
        input.flatMap(FlatMapTests.children)
      }
    case 1:
      // The time and the number of elements grow with the square of the number of parents.
      let parents = source.prefix(12)
      let output = parents.flatMap { parent in parents.filter { $0.content == parent.content } }
      return next("prefix.flatMap to lists", output) { input, _ in
        let parents = input.prefix(12)
        return parents.flatMap { parent in parents.filter { $0.content == parent.content } }
      }
    case 2:
      let output = source.outline(
        parent: parent,
        isExpanded: parameter.map { OutlineRow<TestElement>.Expansion([$0, $0 + 2]) })
      return next(
        "outline(\(index))", output.map { TestElement($0.element.id, $0.depth) }
      ) { input, value in
        outlineRows(input, parent: parent, isExpanded: { $0 == value || $0 == value + 2 })
          .map { TestElement($0.element.id, $0.depth) }
      }
    case 3:
      return next("outline", source.outline(parent: parent).map(\.element)) { input, _ in
        outlineRows(input, parent: parent).map(\.element)
      }
    case 4:
      return next("few identities", source.map { TestElement($0.id % 10, $0.content) }) {
        input, _ in input.map { TestElement($0.id % 10, $0.content) }
      }
    default:
      return next("distinct", source.distinct()) { input, _ in SetOracle.distinct(input) }
    }
  }

  static let timedCount = 5

  /// Operators whose results depend on the time, which stands still.
  func timed(_ kind: Int) -> Pipeline {
    let clock = ManualClock()
    switch kind {
    case 0:
      return next("expiring", source.expiring(after: .seconds(1), clock: clock)) { input, _ in
        input
      }
    case 1:
      return next("debounced", source.debounced(for: .zero, clock: clock)) { input, _ in input }
    case 2:
      return next("throttled", source.throttled(for: .zero, clock: clock)) { input, _ in input }
    case 3:
      return next("latest", source.latest(5, by: \.content)) { input, _ in latest(5, of: input) }
    default:
      return next("latest(\(index))", source.latest(parameter.map { $0 * 7 }, by: \.content)) {
        input, count in latest(count * 7, of: input)
      }
    }
  }

  static let combinedCount = 9

  /// Operators over two collections.
  func combined(_ kind: Int, with other: Pipeline) -> Pipeline {
    let key: @Sendable (TestElement) -> Int? = {
      $0.content % 5 == 4 ? nil : $0.id / 2 + $0.content
    }
    switch kind {
    case 0:
      return both("union", source.union(other.source), other, SetOracle.union)
    case 1:
      let output = source.intersection(other.source)
      return both("intersection", output, other, SetOracle.intersection)
    case 2:
      let output = source.subtracting(other.source)
      return both("subtracting", output, other, SetOracle.subtraction)
    case 3 where !isLong:
      let output = source.joined(with: other.source, on: \.content).map(\.left)
      return both("joined on content", output, other) { lefts, rights in
        JoinOracle.joined(lefts, rights, { $0.content }, { $0.id }).map(\.left)
      }
    case 4 where !isLong:
      let output = source.joined(with: other.source, on: \.id, equals: key).map(pair)
      return both("joined", output, other) { lefts, rights in
        JoinOracle.joined(lefts, rights, { $0.id }, key).map(pair)
      }
    case 5 where !isLong:
      let output = source.leftJoined(with: other.source, on: key, equals: key).map(pair)
      return both("leftJoined", output, other) { lefts, rights in
        JoinOracle.leftJoined(lefts, rights, key, key).map(pair)
      }
    case 6 where !isLong:
      let output = source.joined(with: source, on: key, equals: \.id).map(pair)
      return next("joined with itself", output) { input, _ in
        JoinOracle.joined(input, input, key, { $0.id }).map(pair)
      }
    case 7 where !isLong:
      let output = source.leftJoined(with: source.reversed(), on: key).map(pair)
      return next("leftJoined with its reverse", output) { input, _ in
        JoinOracle.leftJoined(input, input.reversed(), key, { $0.id }).map(pair)
      }
    default:
      return both("concatenated", source.concatenated(with: other.source), other) { $0 + $1 }
    }
  }

  static let everydayCount = 11

  /// Joins that keep one side or both, neighbors, properties of elements, totals and selections.
  func everyday(_ kind: Int, with other: Pipeline) -> Pipeline {
    let key: @Sendable (TestElement) -> Int? = { $0.content % 5 == 4 ? nil : $0.id / 2 }
    let value = parameter
    switch kind {
    case 0:
      let output = source.semiJoined(with: other.source, on: key, equals: \.content)
      return both("semiJoined", output, other) { lefts, rights in
        lefts.filter { left in rights.contains { $0.content == key(left) } }
      }
    case 1:
      let output = source.antiJoined(with: other.source, on: key)
      return both("antiJoined", output, other) { lefts, rights in
        lefts.filter { left in !rights.contains { $0.id == key(left) } }
      }
    case 2 where !isLong:
      let output = source.fullJoined(with: other.source, on: key, equals: key)
        .map { pair(JoinedPair(left: $0.left ?? TestElement(999, 0), right: $0.right)) }
      return both("fullJoined", output, other) { lefts, rights in
        let unmatched = rights.filter { right in
          !lefts.contains { key($0) != nil && key($0) == key(right) }
        }
        return JoinOracle.leftJoined(lefts, rights, key, key).map(pair)
          + unmatched.map { pair(JoinedPair(left: TestElement(999, 0), right: $0)) }
      }
    case 3:
      let output = source.map(withPrevious: {
        TestElement($0.id, ($0.content + ($1?.id ?? 9)) % 100)
      })
      return next("map(withPrevious:)", output) { input, _ in
        zip(input, [TestElement(9, 0)] + input).map {
          TestElement($0.id, ($0.content + $1.id) % 100)
        }
      }
    case 4:
      let output = source.map(each: { _ in value }) {
        TestElement($0.id, $0.content + $1)
      }
      return next("map(each: \(index))", output) { input, value in
        input.map { TestElement($0.id, $0.content + value) }
      }
    case 5:
      let output = source.filter(byEach: { element in value.map { element.id % 5 >= $0 } })
      return next("filter(byEach: \(index))", output) { input, value in
        input.filter { $0.id % 5 >= value }
      }
    case 6:
      let output = source.sorted(byEach: { element in
        value.map { ($0 + element.id) % 5 }
      })
      return next("sorted(byEach: \(index))", output) { input, value in
        stablySorted(input, .ascending { (value + $0.id) % 5 })
      }
    case 7:
      let output = source.aggregated(by: { $0.id % 7 }) { group in
        group.live.sum(of: \.content).map { TestElement(group.key, $0 % 100) }
      }
      return next("aggregated", output) { input, _ in
        GroupingTests.sections(input) { $0.id % 7 }.map { section in
          TestElement(section.key, section.elements.reduce(0) { $0 + $1.content } % 100)
        }
      }
    case 8:
      // The pauses end together with the steps.
      let output = source.paused(while: value.map { $0 > 9 })
      return next("paused", output) { input, _ in input }
    case 9:
      // Which elements are selected depends on the past, but each one is in one of the lists.
      let selection = source.selection()
      selection.selectAll { $0.id % 2 == 0 }
      let order = ElementOrder<TestElement>.ascending(\.id).then(.ascending(\.content))
      let output = selection.unselected.concatenated(with: selection.selected).sorted(by: order)
      return next("selection", output) { input, _ in stablySorted(input, order) }
    default:
      // Of several elements with the identity, the one counts that was found first.
      let single = source.distinct()
      let limit = single.live(upTo: value.map { Optional($0) }).count
      return next("live(upTo: \(index))", single.dropFirst(limit)) { input, value in
        let single = SetOracle.distinct(input)
        return Array(single.dropFirst(single.firstIndex { $0.id == value }.map { $0 + 1 } ?? 0))
      }
    }
  }
}

@Sendable private func pair(_ pair: JoinedPair<TestElement, TestElement>) -> TestElement {
  TestElement(pair.left.id, pair.right.id % 3 + pair.right.content)
}

@Sendable private func pair(_ pair: JoinedPair<TestElement, TestElement?>) -> TestElement {
  TestElement(pair.left.id, pair.right.map { $0.id % 3 + $0.content } ?? 9)
}

@Sendable private func halved(_ element: TestElement) -> TestElement? {
  element.content % 3 == 0 ? nil : TestElement(element.id / 2, element.content / 2)
}

/// The elements with the greatest contents, in the order of the input. Of equal ones, the last ones count.
@Sendable func latest(_ count: Int, of input: [TestElement]) -> [TestElement] {
  input.indices.sorted { (input[$0].content, $0) < (input[$1].content, $1) }
    .suffix(count).sorted().map { input[$0] }
}

/// The number of a chunk, and a number that depends on all of its elements.
@Sendable func summary(_ chunk: ListSection<Int, TestElement>) -> TestElement {
  summary(chunk.key, Array(chunk.elements))
}

/// The summaries of the chunks of a list.
@Sendable func chunkSummaries(_ input: [TestElement], of size: Int) -> [TestElement] {
  stride(from: 0, to: input.count, by: size).map {
    summary($0 / size, Array(input[$0..<min($0 + size, input.count)]))
  }
}

@Sendable private func summary(_ number: Int, _ elements: [TestElement]) -> TestElement {
  TestElement(
    number,
    elements.reduce(elements.count) { ($0 * 31 + $1.id % 100 * 7 + $1.content % 100) % 1_000 })
}

@Sendable private func order(_ kind: Int) -> ElementOrder<TestElement> {
  switch kind {
  case 0: .ascending(\.content)
  case 1: .descending(\.content)
  case 2: ElementOrder.ascending(\.content).then(.descending(\.id))
  case 3: ElementOrder.ascending(\.content).reversed
  default: ElementOrder { $0.id % 3 < $1.id % 3 }
  }
}

@Sendable private func stablySorted(
  _ elements: [TestElement], _ order: ElementOrder<TestElement>
) -> [TestElement] {
  elements.enumerated().sorted { one, other in
    if order.precedes(one.element, other.element) { return true }
    return !order.precedes(other.element, one.element) && one.offset < other.offset
  }.map(\.element)
}

/// A key for a value of a parameter.
@Sendable private func divided(by value: Int) -> @Sendable (TestElement) -> Int {
  { $0.content % (value + 1) }
}

/// An order for a value of a parameter. The remainders are equal for some keys.
@Sendable private func order(_ value: Int) -> ElementOrder<Int> {
  value == 0 ? .descending(\.self) : .ascending { $0 % value }
}

/// Sorts sections. Those that are equal in the order stay in theirs.
private func sections(
  _ sections: [GroupingTests.Section], in order: ElementOrder<Int>
) -> [GroupingTests.Section] {
  sections.enumerated().sorted { one, other in
    if order.precedes(one.element.key, other.element.key) { return true }
    return !order.precedes(other.element.key, one.element.key) && one.offset < other.offset
  }.map(\.element)
}
