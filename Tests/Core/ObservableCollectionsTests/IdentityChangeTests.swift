import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// Updates that change the identity of an element (C9).
@Suite struct IdentityChangeTests {
  /// An element that can be recognized after its identity has changed.
  struct Traced: Differentiable, Sendable, CustomStringConvertible {
    var id: Int
    var content: Int
    /// The number of the element, which differs from those of all other elements.
    let number: Int
    /// The list of a combination that the element comes from.
    var side = 0

    var differenceIdentifier: Int { id }
    // Otherwise, two elements that exchange their identities are equal, and each stays in the place of the other.
    func isContentEqual(to source: Traced) -> Bool {
      content == source.content && number == source.number
    }
    var description: String { "\(id).\(content)#\(number)" }
  }

  typealias Items = ArrayDataSource<Traced>

  @Test(.reaches(.changes(of: IdentityOperators.all)), arguments: IdentityOperators.all)
  func `an element that stays in the output is kept, whatever its identity becomes`(
    _ name: String
  ) throws {
    let first = TestRun.seed ?? 0
    // Twelve seeds have every size with every number of edits.
    for seed in first..<first + (TestRun.isLong ? 3_000 : 16) {
      var run = IdentityRun(seed: seed)
      try IdentityOperators.check(name, &run)
    }
  }
}

/// A list whose elements change their identities at random.
struct IdentityRun {
  typealias Traced = IdentityChangeTests.Traced

  let seed: UInt64
  let items: ArrayDataSource<Traced>
  /// The name of the operator.
  var name = ""
  private var random: SeededGenerator
  private var lastNumber = 0
  /// The place that each element has taken, by the number of the element.
  private(set) var places: [Int: Int] = [:]
  private let size: Int
  private let editsPerStep: Int

  init(seed: UInt64) {
    self.seed = seed
    random = SeededGenerator(seed: seed &+ 77_000)
    size = [4, 10, 200][Int(seed % 3)]
    editsPerStep = [1, 3, 6, 20][Int(seed / 3 % 4)]
    items = ArrayDataSource([])
    var elements: [Traced] = []
    for _ in 0..<size { elements.append(make()) }
    items.replace(with: elements)
    for element in elements { places[element.number] = element.number }
  }

  private mutating func make() -> Traced {
    lastNumber += 1
    return Traced(id: makeIdentity(), content: random.below(3), number: lastNumber)
  }

  private mutating func makeIdentity() -> Int {
    hasUniqueIdentities ? Int(random.next() >> 16) : random.below(max(2, size))
  }

  /// A Boolean value that indicates whether no identity repeats. Some operators pair repeated identities in another order.
  var hasUniqueIdentities: Bool { !seed.isMultiple(of: 2) }

  /// Edits the list in one transaction, and follows which element takes which place.
  mutating func step() {
    let input = RecordingObserver(items, seed: seed)
    items.transaction { draft in
      for _ in 0...random.below(editsPerStep) { edit(draft) }
    }
    guard let change = input.changes.first else { return }
    let origins = change.changeset.origins(oldCount: change.before.count)
    for (element, origin) in zip(change.after, origins) {
      let place = origin < 0 ? element.number : places[change.before[origin].number]
      places[element.number] = place
    }
  }

  private mutating func edit(_ draft: CollectionDraft<Traced>) {
    let count = draft.count
    let kind = count < 2 ? 0 : count > 2 * size ? 1 : random.below(7)
    if kind == 0 { return draft.insert(make(), at: random.below(count + 1)) }
    let (offset, other) = (random.below(count), random.below(count))
    switch kind {
    case 1: draft.remove(at: offset)
    case 2: draft.move(from: offset, to: other)
    case 3: draft[offset].content = random.below(3)
    case 4: draft[offset].id = makeIdentity()
    case 5:
      draft[offset].id = makeIdentity()
      draft[offset].content = random.below(3)
    default:
      let identity = draft[offset].id
      draft[offset].id = draft[other].id
      draft[other].id = identity
    }
  }

  /// Checks the events of an output.
  ///
  /// - Parameters:
  ///   - output: The output.
  ///   - parts: A closure that returns the elements that an element of the output consists of, and the number of the group
  ///     that keeps them together. They differ from those of all other elements of the output.
  mutating func check<Output: Differentiable & Sendable>(
    _ output: LiveCollection<Output>, _ parts: (Output) -> (elements: [Traced], group: Int)
  ) throws {
    let recorder = RecordingObserver(output, seed: seed)
    func places(_ element: Output) -> [Int] {
      let (elements, group) = parts(element)
      return [group] + elements.map { (self.places[$0.number] ?? $0.number) * 4 + $0.side }
    }
    for step in 0..<12 {
      let count = recorder.eventCount
      self.step()
      let events = recorder.events.dropFirst(count)
      guard let event = events.first, case .change(let change) = event else { continue }
      var offsets: [[Int]: Int] = [:]
      for (offset, element) in change.before.enumerated() { offsets[places(element)] = offset }
      let origins = change.after.map { offsets[places($0)] ?? -1 }
      let expected = Changeset(origins: origins, oldCount: change.before.count) { _, _ in true }
        .normalForm(from: change.before, to: change.after)
      let changeset = change.changeset
      let oldCount = change.before.count
      if events.count == 1,
        changeset.origins(oldCount: oldCount) == expected.origins(oldCount: oldCount),
        changeset.updates == expected.updates
      {
        continue
      }
      throw ContractError(
        rule: "C9",
        message: """
          \(changeset) instead of \(expected)
          from \(change.before.array) to \(change.after.array)
          """,
        seed: seed, step: step)
    }
    try recorder.check(against: output)
    Coverage.note(recorder, of: name)
  }
}

/// Operators whose outputs have elements of their inputs.
enum IdentityOperators {
  typealias Traced = IdentityChangeTests.Traced
  typealias Check = (inout IdentityRun) throws -> Void

  static func check(_ name: String, _ run: inout IdentityRun) throws {
    let check = try #require(checks[name])
    run.name = name
    try check(&run)
  }

  static var all: [String] { checks.keys.sorted() }

  private static func list(
    _ make: @escaping @Sendable (ArrayDataSource<Traced>) -> LiveCollection<Traced>
  ) -> Check {
    { run in try run.check(make(run.items)) { ([$0], 0) } }
  }

  /// The elements of a list that have another side.
  private static func second(_ items: ArrayDataSource<Traced>) -> LiveCollection<Traced> {
    items.filter { $0.number % 2 == 0 }.map { element in
      var element = element
      element.side = 1
      return element
    }
  }

  static var checks: [String: Check] {
    let parent: @Sendable (Traced) -> Int? = { $0.content == 0 ? nil : $0.number % 7 }
    return [
      "map": list { $0.map { $0 } },
      "filter": list { $0.filter { $0.content > 0 } },
      "filter by identity": list { $0.filter { $0.id % 3 > 0 } },
      "sorted": list { $0.sorted(by: \.content) },
      "sorted by identity": list { $0.sorted { $0.id % 5 > $1.id % 5 } },
      "filter.sorted": list { $0.filter { $0.content > 0 }.sorted(by: \.id) },
      "reversed": list { $0.reversed() },
      "prefix": list { $0.prefix(7) },
      "suffix": list { $0.suffix(7) },
      "dropFirst": list { $0.dropFirst(3) },
      "concatenated": list { $0.concatenated(with: second($0)) },
      "distinct": list { $0.distinct() },
      "distinct(by:)": list { $0.distinct { $0.content + $0.id % 3 } },
      "union": list { $0.union(second($0)) },
      "intersection": list { $0.intersection(second($0).filter { $0.content > 0 }) },
      "subtracting": list { $0.subtracting(second($0).filter { $0.content > 0 }) },
      "latest": list { $0.latest(5, by: \.content) },
      "expiring": list { $0.expiring(after: .seconds(1), clock: ManualClock()) },
      "throttled": list { $0.throttled(for: .zero, clock: ManualClock()) },
      "indexed": list { $0.indexed(by: \.content)[1] },
      "outline": { run in
        guard run.hasUniqueIdentities else { return }
        try run.check(run.items.outline(parent: parent)) { ([$0.element], 0) }
      },
      "joined": { run in
        try run.check(run.items.joined(with: second(run.items), on: \.content)) {
          ([$0.left, $0.right], $0.left.content)
        }
      },
      "leftJoined": { run in
        let others = second(run.items).filter { $0.content > 1 }
        try run.check(run.items.leftJoined(with: others, on: \.content, equals: \.id)) {
          ([$0.left] + ($0.right.map { [$0] } ?? []), $0.left.content)
        }
      },
      "sections.rows": { run in
        guard run.hasUniqueIdentities else { return }
        try run.check(run.items.sections(by: \.content).rows()) { row in
          switch row {
          case .header(let key, _): ([], key)
          case .element(let element): ([element], element.content)
          }
        }
      },
    ]
  }
}
