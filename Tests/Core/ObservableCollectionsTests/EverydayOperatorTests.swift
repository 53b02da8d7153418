import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import Testing

/// Joins that keep one side, elements with the one before them, properties of elements, and totals as rows.
@Suite(.timeLimit(.minutes(10))) struct EverydayOperatorTests {
  private typealias Pair = JoinedPair<TestElement?, TestElement?>

  private static let key: @Sendable (TestElement) -> Int? = { $0.content == 1 ? nil : $0.id / 2 }
  private static let otherKey: @Sendable (TestElement) -> Int? = { $0.id / 3 }

  private static func matches(_ element: TestElement, in other: [TestElement]) -> Bool {
    other.contains { key(element) != nil && key(element) == otherKey($0) }
  }

  // MARK: Joins

  @Test func `semi-joins and anti-joins equal filters`() throws {
    try checkOperator(
      overSeveralInputs: { list, other, _ in
        list.semiJoined(with: other, on: Self.key, equals: Self.otherKey)
      }, is: { list, other, _ in list.filter { Self.matches($0, in: other) } })
    try checkOperator(
      overSeveralInputs: { list, other, _ in
        list.antiJoined(with: other, on: Self.key, equals: Self.otherKey)
      }, is: { list, other, _ in list.filter { !Self.matches($0, in: other) } })
    try checkOperator(
      { list in list.semiJoined(with: list, on: { $0.content }) },
      is: { list in list.filter { element in list.contains { $0.id == element.content } } })
    try checkOperator(
      { list in list.antiJoined(with: list, on: { $0.content }) },
      is: { list in list.filter { element in !list.contains { $0.id == element.content } } })
  }

  @Test func `a full join has the pairs, and the rest of both sides`() throws {
    try checkOperator(
      overSeveralInputs: { list, other, _ in
        list.fullJoined(with: other, on: Self.key, equals: Self.otherKey)
      },
      is: { list, other, _ in
        let pairs = list.flatMap { left -> [Pair] in
          let matches: [TestElement?] = other.filter {
            Self.key(left) != nil && Self.key(left) == Self.otherKey($0)
          }
          return (matches.isEmpty ? [nil] : matches).map { Pair(left: left, right: $0) }
        }
        let rest = other.filter { right in
          !list.contains { Self.key($0) != nil && Self.key($0) == Self.otherKey(right) }
        }
        return pairs + rest.map { Pair(left: nil, right: $0) }
      })
  }

  /// The form of an event does not depend on the size of the change (C9).
  @Test(arguments: [1, 3, 6])
  func `updates of identities stay updates in a full join`(count: Int) throws {
    let (left, right) = (Items([TestElement(100, 0)]), Items((0..<8).map { TestElement($0, 0) }))
    let joined = left.fullJoined(with: right, on: { $0.id }, equals: { $0.id })
    let events = RecordingObserver(joined)
    right.transaction { draft in
      for number in 0..<count { draft[number] = TestElement(1_000 + number, 0) }
    }
    let changeset = try #require(events.changes.last).changeset
    #expect(changeset.updates.count == count && changeset.changeCount == count)
    try events.check(against: joined)
  }

  @Test func `the first match inserts, and the last one that goes deletes`() {
    let (orders, customers) = (
      Items([TestElement(1, 7)]), Items([TestElement(7, 0), TestElement(8, 0)])
    )
    let active = customers.semiJoined(with: orders, on: { $0.id }, equals: { $0.content })
    let events = RecordingObserver(active)
    orders.append(TestElement(2, 7))
    #expect(events.changes.isEmpty)
    orders.update(at: 0) { $0.content = 8 }
    #expect(active.snapshot.map(\.id) == [7, 8])
    orders.removeAll()
    #expect(active.snapshot.isEmpty && events.changes.count == 2)
  }

  // MARK: The one before

  @Test func `an element is made from the one before it`() throws {
    try checkOperator(
      { list in
        list.map(withPrevious: { TestElement($0.id, $0.content * 100 + ($1?.content ?? 9)) })
      },
      is: { list in
        list.indices.map { offset in
          let previous = offset > 0 ? list[offset - 1].content : 9
          return TestElement(list[offset].id, list[offset].content * 100 + previous)
        }
      })
  }

  @Test func `only an element with another one before it is made again`() {
    let items = Items((0..<1_000).map { TestElement($0, 0) })
    let calls = Shared(0)
    let output = items.map(withPrevious: { element, previous in
      calls.modify { $0 += 1 }
      return TestElement(element.id, previous?.id ?? -1)
    })
    func cost(_ edit: () -> Void) -> Int {
      calls.value = 0
      edit()
      return calls.value
    }
    #expect(output.snapshot.count == 1_000)
    #expect(cost { items.remove(at: 500) } == 1)
    #expect(cost { items.insert(TestElement(2_000, 0), at: 3) } == 2)
    #expect(cost { items.update(at: 9) { $0.content = 1 } } == 2)
    #expect(cost { items.move(from: 10, to: 900) } == 3)
  }

  // MARK: Properties of elements

  /// An element with a property of its own.
  private struct Device: Differentiable, Sendable {
    let id: Int
    var name = ""
    let level: Property<Int>

    var differenceIdentifier: Int { id }
    func isContentEqual(to source: Device) -> Bool { name == source.name && level === source.level }
  }

  @Test func `the property of each element is followed`() throws {
    let devices = ArrayDataSource((0..<4).map { Device(id: $0, level: Property($0)) })
    let levels = devices.map(each: \.level) { TestElement($0.id, $1) }
    let high = devices.filter(byEach: \.level) { $1 > 1 }
    let sorted = devices.sorted(byEach: \.level)
    let events = RecordingObserver(levels)
    #expect(levels.snapshot.map(\.content) == [0, 1, 2, 3])
    devices.snapshot[0].level.value = 7
    #expect(levels.snapshot.map(\.content) == [7, 1, 2, 3])
    #expect(high.snapshot.map(\.id) == [0, 2, 3] && sorted.snapshot.map(\.id) == [1, 2, 3, 0])
    #expect(events.changes.map(\.changeset.updates.count) == [1])
    let gone = devices.snapshot[1].level
    devices.remove(at: 1)
    devices.move(from: 2, to: 0)
    #expect(levels.snapshot.map(\.id) == [3, 0, 2] && high.snapshot.map(\.id) == [3, 0, 2])
    gone.value = 99
    #expect(events.changes.count == 3)
    withTransaction {
      devices.snapshot[0].level.value = 0
      devices.append(Device(id: 9, level: Property(5)))
    }
    #expect(high.snapshot.map(\.id) == [0, 2, 9] && sorted.snapshot.map(\.id) == [3, 2, 9, 0])
    #expect(events.changes.count == 4)
    try events.check(against: levels)
  }

  // MARK: Pauses

  @Test func `changes during a pause become one`() throws {
    let (items, isPaused) = (Items([TestElement(1, 0)]), Property(true))
    let shown = items.paused(while: isPaused)
    let events = RecordingObserver(shown)
    #expect(shown.snapshot.count == 1)
    for number in 2...5 { items.append(TestElement(number, 0)) }
    items.remove(at: 0)
    #expect(events.changes.isEmpty)
    isPaused.value = false
    #expect(shown.snapshot.hasSameContents(as: items.snapshot) && events.changes.count == 1)
    items.append(TestElement(6, 0))
    #expect(events.changes.count == 2)
    isPaused.value = true
    items.append(TestElement(7, 0))
    items.remove(at: 5)
    isPaused.value = false
    #expect(events.changes.count == 2)
    try events.check(against: shown)
  }

  @Test func `the first contents are shown during a pause`() {
    let (items, isPaused) = (Items(status: .loading), Property(true))
    let shown = items.paused(while: isPaused)
    items.publish([TestElement(1, 0)], status: .loaded)
    #expect(shown.snapshot.map(\.id) == [1] && shown.status == .loaded)
    items.append(TestElement(2, 0))
    #expect(shown.snapshot.map(\.id) == [1])
  }

  // MARK: Totals

  private struct Total: Hashable, Identifiable, Sendable, Differentiable {
    let id: Int
    let sum: Int
    let count: Int
  }

  @Test func `totals of groups are rows`() throws {
    let rows: @Sendable (any DataSource<TestElement>) -> LiveCollection<Total> = { list in
      list.aggregated(by: { $0.content }) { group in
        ReadOnlyProperty(combining: group.live.sum(of: \.id), group.live.count) {
          Total(id: group.key, sum: $0, count: $1)
        }
      }
    }
    let items = Items([TestElement(1, 0), TestElement(2, 1), TestElement(3, 0)])
    let totals = rows(items)
    let events = RecordingObserver(totals)
    #expect(
      Array(totals.snapshot) == [Total(id: 0, sum: 4, count: 2), Total(id: 1, sum: 2, count: 1)])
    items.append(TestElement(10, 1))
    #expect(totals.snapshot[1] == Total(id: 1, sum: 12, count: 2) && events.changes.count == 1)
    items.move(from: 0, to: 1)
    #expect(events.changes.count == 2 && totals.snapshot.map(\.id) == [1, 0])
    items.update(at: 0) { $0.content = 0 }
    items.remove(at: 3)
    #expect(Array(totals.snapshot) == [Total(id: 0, sum: 6, count: 3)])
    try events.check(against: totals)
    var random = SeededGenerator(seed: TestRun.seed ?? 3)
    for _ in 1...300 {
      items.replace(with: (0..<random.below(12)).map { TestElement($0, random.below(4)) })
      let expected = Dictionary(grouping: items.snapshot, by: \.content)
      try #require(totals.snapshot.count == expected.count)
      for total in totals.snapshot {
        try #require(total.sum == expected[total.id]?.reduce(0) { $0 + $1.id })
        try #require(total.count == expected[total.id]?.count)
      }
    }
  }

  @Test func `aggregates up to an element follow it`() {
    let items = Items((1...5).map { TestElement($0, $0 * 10) })
    let identity = Property<Int?>(4)
    let (balance, position) = (
      items.live(upTo: 3).sum(of: \.content), items.live(upTo: identity).count
    )
    #expect(balance.value == 60 && position.value == 4)
    items.insert(TestElement(9, 1), at: 0)
    #expect(balance.value == 61 && position.value == 5)
    items.append(TestElement(8, 1_000))
    items.move(from: 3, to: 0)
    #expect(balance.value == 30)
    items.remove(at: 0)
    #expect(balance.value == 0)
    identity.value = nil
    #expect(position.value == 0)
    identity.value = 9
    #expect(position.value == 1)
  }

  // MARK: Orders

  @Test func `orders for people`() {
    func sorted(_ texts: [String]) -> [String] {
      texts.sorted(by: ElementOrder<String>.natural(\.self).precedes)
    }
    let ordered = [
      "", "0", "00", "1", "01", "2", "10", "100000000000000000000000", "A", "a", "b1", "B2", "b02",
      "b10", "b10a", "é", "file 9.txt", "File 10.txt",
    ]
    for _ in 1...20 { #expect(sorted(ordered.shuffled()) == sorted(ordered)) }
    #expect(sorted(["img10", "IMG2", "img1", "Img02"]) == ["img1", "IMG2", "Img02", "img10"])
    #expect(sorted(["a", "1", "-", "٣", "2"]) == ["1", "2", "٣", "-", "a"])
    let due = ElementOrder<Int?>.ascending({ $0 }, missing: .last)
    #expect([3, nil, 1].sorted(by: due.precedes) == [1, 3, nil])
    let first = ElementOrder<Int?>.descending({ $0 }, missing: .first)
    #expect([3, nil, 1, 4].sorted(by: first.precedes) == [nil, 4, 3, 1])
    #expect([3, nil, 1].sorted(by: due.reversed.precedes) == [nil, 3, 1])
  }
}
