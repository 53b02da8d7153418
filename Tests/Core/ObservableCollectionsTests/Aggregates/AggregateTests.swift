import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// Rules O4 and O9: aggregates of a collection as properties.
@Suite struct AggregateTests {
  @Test(.reaches(.changes)) func `aggregates follow random edits`() throws {
    for seed in UInt64(0)..<40 {
      // Large transactions compute aggregates again instead of editing them.
      var editor = RandomEditor(
        seed: seed, size: seed % 4 == 0 ? 120 : 12, editsPerStep: seed % 4 == 1 ? 30 : 4,
        allowsDuplicates: seed % 2 == 0)
      let items = Items(editor.makeElements())
      let sources: [any DataSource<TestElement>] = [
        items, items.filter { $0.content > 0 }, items.sorted { $0.content < $1.content },
      ]
      let edits = RecordingObserver(counting: items)
      let checks = sources.map { AllAggregates(of: $0) }
      for _ in 0..<40 {
        try editor.step(items)
        for check in checks { #expect(check.problem == nil, "seed \(seed)") }
      }
      // The aggregates of a late start are the same.
      for source in sources { #expect(AllAggregates(of: source).problem == nil, "seed \(seed)") }
      Coverage.note(edits)
    }
  }

  @Test func `a value is sent only if it differs from the previous one`() {
    let items = Items([TestElement(1, 1), TestElement(2, 5)])
    let log = Log<String>([])
    let live = items.live
    let observations = [
      live.count.observe { log.append("count \($0)") },
      live.isEmpty.observe { log.append("isEmpty \($0)") },
      live.sum(of: \.content).observe { log.append("sum \($0)") },
      live.average(of: \.content).observe { log.append("average \(text($0))") },
      live.first.observe { log.append("first \(text($0))") },
      live.last.observe { log.append("last \(text($0))") },
      live.max(by: \.content).observe { log.append("max \(text($0))") },
      live.contains { $0.content > 7 }.observe { log.append("contains \($0)") },
    ]
    #expect(
      log.exchange([]) == [
        "count 2", "isEmpty false", "sum 6", "average 3.0", "first 1.1", "last 2.5", "max 2.5",
        "contains false",
      ])
    items[0] = TestElement(1, 2)
    #expect(log.exchange([]) == ["sum 7", "average 3.5", "first 1.2"])
    items.move(from: 0, to: 1)
    #expect(log.exchange([]) == ["first 2.5", "last 1.2"])
    items.insert(TestElement(3, 0), at: 1)
    #expect(log.exchange([]) == ["count 3", "average 2.3333333333333335"])
    items.removeAll()
    #expect(
      log.exchange([]) == [
        "count 0", "isEmpty true", "sum 0", "average nil", "first nil", "last nil", "max nil",
      ])
    withExtendedLifetime(observations) {}
  }

  @Test func `an update of equal content sends no first element`() {
    let items = ArrayDataSource([Reading(id: 1, value: .nan)])
    let values = Log<Double?>([])
    let observations = [
      items.live.first.observe { values.append($0?.value) },
      items.live.sum(of: \.value).observe { values.append($0) },
      items.live.average(of: \.value).observe { values.append($0) },
    ]
    #expect(values.value.count == 3)
    // NaN equals itself here, so its sum stays the same.
    items.append(Reading(id: 2, value: 1))
    items[1] = Reading(id: 2, value: 2)
    #expect(values.value.count == 3)
    items.remove(at: 0)
    #expect(values.value.dropFirst(3).map { $0 } == [2, 2, 2])
    withExtendedLifetime(observations) {}
  }

  @Test func `values that cannot be compared are sent at each change`() {
    let items = Items([1, 2])
    let range = items.live.aggregate(
      empty: (least: Int.max, greatest: Int.min), value: { ($0.id, $0.id) },
      combine: { (least: min($0.least, $1.least), greatest: max($0.greatest, $1.greatest)) })
    let log = Log<String>([])
    let observation = range.observe { log.append("\($0.least)...\($0.greatest)") }
    items.append(7)
    items.remove(at: 1)
    #expect(log.value == ["1...2", "1...7", "1...7"])
    withExtendedLifetime(observation) {}
  }

  @Test func `of equal keys the first element wins, as in a sequence`() {
    let items = Items([TestElement(1, 1), TestElement(2, 1), TestElement(3, 0), TestElement(4, 0)])
    let live = items.live
    let (byKey, byOrder) = (
      [live.min(by: \.content), live.max(by: \.content)],
      [live.min { $0.content < $1.content }, live.max { $0.content < $1.content }]
    )
    for offsets in [[0, 3], [1, 2], [3, 0], [2, 3], [0, 1]] {
      items.move(from: offsets[0], to: offsets[1])
      let expected = [
        items.snapshot.min { $0.content < $1.content },
        items.snapshot.max { $0.content < $1.content },
      ]
      #expect(byKey.map(\.value) == expected)
      #expect(byOrder.map(\.value) == expected)
    }
  }

  @Test func `elements whose key is NaN count only if there are no others`() {
    let items = ArrayDataSource([
      Reading(id: 1, value: .nan), Reading(id: 2, value: 2), Reading(id: 3, value: .nan),
      Reading(id: 4, value: 1),
    ])
    let (least, greatest) = (items.live.min(by: \.value), items.live.max(by: \.value))
    #expect(least.value?.id == 4 && greatest.value?.id == 2)
    items.move(from: 0, to: 3)
    #expect(least.value?.id == 4 && greatest.value?.id == 2)
    items.removeAll { !$0.value.isNaN }
    #expect(least.value?.id == 3 && greatest.value?.id == 3)
  }

  @Test func `numbers themselves have a least and a greatest`() {
    let numbers = ArrayDataSource([3, 1, 2])
    let (least, greatest) = (numbers.live.min(), numbers.live.max())
    let sum = numbers.live.sum { $0 }
    numbers.append(7)
    #expect(least.value == 1 && greatest.value == 7 && sum.value == 13)
  }

  @Test func `a sum of integers that overflows is the nearest number`() {
    let numbers = ArrayDataSource([Int.max, 5])
    let (sum, average) = (numbers.live.sum { $0 }, numbers.live.average { $0 })
    #expect(sum.value == .max)
    #expect(average.value == 0x1p62)
    numbers[1] = -5
    #expect(sum.value == .max - 5)
    numbers[0] = .min
    #expect(sum.value == .min)
    numbers.removeAll()
    #expect(sum.value == 0 && average.value == nil)
  }

  @Test func `empty and not loaded collections have the same aggregates`() {
    let source = Items(status: .loading)
    let log = Log<Int>([])
    let all = AllAggregates(of: source)
    let observation = source.live.count.observe { log.append($0) }
    let sum = source.live.sum { Double($0.content) }
    #expect(all.problem == nil && sum.value.bitPattern == 0)
    source.setStatus(.failed(SourceError(code: "gone", message: "it is gone")))
    source.publish([], status: .loaded)
    #expect(log.value == [0])
    source.publish([1, 2], status: .loaded)
    #expect(log.value == [0, 2])
    #expect(all.problem == nil)
    withExtendedLifetime(observation) {}
  }

  @Test(arguments: TestRun.isLong ? [1_000, 100_000, 1_000_000] : [1_000, 100_000])
  func `closures are called for changed elements only`(count: Int) {
    let items = Items((0..<count).map { TestElement($0, $0 % 7) })
    let (values, combinations) = (Shared(0), Shared(0))
    @Sendable func content(_ element: TestElement) -> Int {
      values.modify { $0 += 1 }
      return element.content
    }
    let aggregates = (
      items.live.sum { Double(content($0)) }, items.live.min { content($0) },
      items.live.contains { content($0) > 6 },
      items.live.aggregate(
        empty: 0, value: { content($0) },
        combine: { one, other in
          combinations.modify { $0 += 1 }
          return one &+ other
        })
    )
    let visits = items.collection.node.domain.visits
    #expect(values.value == 4 * count)
    func calls(of edit: () -> Void) -> Int {
      (values.value, combinations.value) = (0, 0)
      edit()
      // One edit of the tree, or two for a move.
      #expect(combinations.value < 2 * 256)
      return values.value
    }
    let middle = count / 2
    #expect(calls { items[middle] = TestElement(middle, 9) } == 4)
    #expect(calls { items.insert(TestElement(-1, 1), at: middle) } == 4)
    #expect(calls { items.remove(at: middle + 1) } == 0)
    #expect(calls { items.move(from: 3, to: count - 3) } == 0)
    // Exactly one node for each aggregate.
    #expect(items.collection.node.domain.visits - visits == 4 * 4)
    items.transaction { draft in
      (values.value, combinations.value) = (0, 0)
      for index in 0..<(count / 10) { draft[index * 10].content += 1 }
    }
    #expect(values.value == 4 * (count / 10))
    #expect(aggregates.0.value == Double(items.snapshot.reduce(0) { $0 + $1.content }))
    #expect(aggregates.3.value == items.snapshot.reduce(0) { $0 + $1.content })
  }

  /// A hundred thousand edits with `SWAPPABLE_LONG=1`, and two thousand otherwise.
  @Test(.reaches(.changes)) func `a sum equals the sum of the contents to the last bit`() throws {
    let seed = TestRun.seed ?? 5
    var editor = RandomEditor<Reading>(
      seed: seed, size: 300,
      kinds: RandomEdit.allCases.filter { $0 != .removeAll }
        + Array(repeating: .insertMany, count: 9),
      make: { Reading(id: Int($0.next() >> 40), value: Reading.random(&$0)) },
      change: { $0.value = Reading.random(&$1) })
    let items = ArrayDataSource<Reading>()
    let edits = RecordingObserver(counting: items)
    let (sum, average) = (items.live.sum(of: \.value), items.live.average(of: \.value))
    let steps = TestRun.isLong ? 100_000 : 2_000
    for step in 1...steps {
      try editor.step(items)
      guard step.isMultiple(of: 40) else { continue }
      var exact = ReferenceNumber()
      for item in items.snapshot { exact += ReferenceNumber(item.value) }
      #expect(exact.isRounded(to: sum.value), "seed \(seed), step \(step)")
      if let average = average.value {
        #expect(
          exact.isRounded(to: average, dividedBy: items.count), "seed \(seed), step \(step)")
      }
    }
    Coverage.note(edits)
  }
}

private func text(_ value: (some Any)?) -> String { value.map { "\($0)" } ?? "nil" }

/// An element with a floating-point number.
private struct Reading: Differentiable, Identifiable, Sendable {
  var id: Int
  var value: Double

  func isContentEqual(to source: Reading) -> Bool { value.bitPattern == source.value.bitPattern }

  static func random(_ random: inout SeededGenerator) -> Double {
    let magnitude = Double(
      sign: .plus, exponent: random.below(200) - 100,
      significand: Double.random(in: 1..<2, using: &random))
    return random.oneIn(2) ? magnitude : -magnitude
  }
}
