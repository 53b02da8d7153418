import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// Sections and groups whose key or order changes: rules O1, O6 and T12.
@Suite struct GroupingParameterTests {
  @Test(.reaches(.changes)) func `sections follow their input and their key`() throws {
    for isOrdered in [false, true] {
      try checkOperator(
        overSeveralInputs: { first, _, divisor in
          first.sections(by: divisor.map(key), order: isOrdered ? .ascending(\.self) : nil)
        },
        is: { first, _, divisor in
          GroupingTests.sections(first, ordered: isOrdered, key(divisor))
        }, seeds: 0..<(TestRun.isLong ? 60 : 20))
    }
  }

  @Test(.reaches(.changes)) func `sections follow their input and their order`() throws {
    try checkOperator(
      overSeveralInputs: { first, _, kind in
        first.sections(by: { $0.content }, order: kind.map(order))
      },
      is: { first, _, kind in
        // The order puts some keys at the same place. They keep the order of their first elements.
        GroupingTests.sections(first) { $0.content }.enumerated().sorted { one, other in
          let order = order(kind)
          if order.precedes(one.element.key, other.element.key) { return true }
          return !order.precedes(other.element.key, one.element.key) && one.offset < other.offset
        }.map(\.element)
      }, seeds: 0..<(TestRun.isLong ? 60 : 20))
  }

  @Test(.reaches(.changes)) func `groups follow their input, their key and their order`() throws {
    @Sendable func counts(_ sections: [GroupingTests.Section]) -> [TestElement] {
      sections.map { TestElement($0.key, $0.elements.count) }
    }
    try checkOperator(
      overSeveralInputs: { first, _, divisor in
        first.grouped(by: divisor.map(key)).map { TestElement($0.key, $0.count) }
      }, is: { first, _, divisor in counts(GroupingTests.sections(first, key(divisor))) })
    try checkOperator(
      overSeveralInputs: { first, _, kind in
        first.grouped(by: { $0.content }, order: kind.map { _ in .ascending(\.self) })
          .map { TestElement($0.key, $0.count) }
      },
      is: { first, _, _ in counts(GroupingTests.sections(first, ordered: true) { $0.content }) })
  }

  @Test func `another key moves elements, and calls the key once for each of them`() throws {
    let calls = Shared(0)
    let items = ArrayDataSource((0..<1_000).map { TestElement($0, $0 % 4) })
    let key = Property<@Sendable (TestElement) -> Int> { $0.content }
    let sections = items.sections(by: key, order: .ascending(\.self))
    let groups = sections.map { TestElement($0.key, $0.elements.count) }
    let recorder = RecordingObserver(groups)
    let changes = Shared<[SectionedChangeset]>([])
    let observation = sections.observe { event in
      if case .change(let change) = event { changes.value.append(change.sectionedChangeset()) }
    }
    key.value = { element in
      calls.value += 1
      return (element.content + element.id / 4 % 2) % 4
    }
    #expect(calls.value == 1_000)
    #expect(Array(groups.snapshot).map(\.id) == [0, 1, 2, 3])
    let change = try #require(changes.value.first)
    #expect(changes.value.count == 1)
    #expect(change.elementDeletions.isEmpty)
    #expect(change.elementInsertions.isEmpty)
    #expect(change.elementMoves.count == 500)
    try recorder.check(against: groups)
    observation.dispose()
  }

  @Test func `a new order moves sections, and visits no element`() throws {
    let calls = Shared(0)
    let items = ArrayDataSource((0..<1_000).map { TestElement($0, $0 % 10) })
    let order = Property(ElementOrder<Int>.ascending(\.self))
    let sections = items.sections(
      by: { element in
        calls.value += 1
        return element.content
      }, order: order)
    let recorder = RecordingObserver(sections)
    let before = calls.value
    order.value = order.value.reversed
    #expect(Array(sections.snapshot).map(\.key) == (0..<10).reversed())
    #expect(calls.value == before)
    let change = try #require(recorder.changes.last)
    #expect(change.changeset.moves.count == 9)
    #expect(change.changeset.updates.isEmpty)
    try recorder.check(against: sections)
  }
}

/// The key for a value of the parameter.
@Sendable private func key(_ divisor: Int) -> @Sendable (TestElement) -> Int {
  { $0.content % (divisor + 1) }
}

/// An order for a value of the parameter.
private func order(_ kind: Int) -> ElementOrder<Int> {
  switch kind {
  case 0: .ascending(\.self)
  case 1: .descending(\.self)
  default: .ascending { $0 % kind }
  }
}
