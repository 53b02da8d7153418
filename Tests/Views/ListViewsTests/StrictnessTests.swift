import DataSourceTesting
import Diffing
import Foundation
import ListViews
import TestSupport
import TestTags
import Testing

/// Every change that the framework makes is one that the strictest view takes.
@Suite @MainActor struct StrictnessTests {
  @Test func `all changes of small lists are accepted`() throws {
    let elements = (0..<3).flatMap { id in (0..<2).map { TestElement(id, $0) } }
    let lists = everyList(upTo: TestRun.isLong ? 3 : 2, of: elements)
    try withEvery("old", in: lists) { old in
      try withEvery("new", in: lists) { new in
        let screen = Screen(old)
        screen.view.reload(using: StagedChangeset(from: old, to: new)) { screen.rows = $0 }
        try screen.view.check()
        try #require(screen.shown == new)
      }
    }
  }

  /// An ordinary run takes one of four changes.
  @Test func `all changes of small lists of sections without updates are accepted`() async {
    await take(
      everyPairOf: SectionUniverse(contents: 1, headings: 1, elementCount: 2),
      oneIn: TestRun.isLong ? 1 : 2)
  }

  @Test func `all changes of small lists of sections with updates are accepted`() async {
    await take(everyPairOf: SectionUniverse(contents: 2, headings: 2, elementCount: 1))
  }

  @Test func `a sample of changes of two sections with two elements is accepted`() async {
    await take(
      everyPairOf: SectionUniverse(contents: 2, headings: 2, elementCount: 2), oneIn: 30)
  }

  @Test(.enabled(if: TestRun.isLong))
  func `all changes of two sections with two elements are accepted`() async {
    await take(everyPairOf: SectionUniverse(contents: 2, headings: 2, elementCount: 2))
  }

  /// Takes pairs of one of so many lists with one of so many others.
  private func take(everyPairOf universe: SectionUniverse, oneIn share: Int = 1) async {
    var random = SeededGenerator(seed: 1)
    var count = 0
    for old in universe.origins() where random.oneIn(share) {
      for new in universe.targets(of: old) where random.oneIn(share) {
        count += 1
        if let violation = violation(from: old, to: new) { Issue.record("\(violation)") }
      }
      // Others need the main actor, too.
      await Task.yield()
    }
    print("a strict view: \(count) pairs of lists of sections")
    #expect(count > 300)
  }

  /// Three hundred in a plain run, a hundred thousand with `SWAPPABLE_LONG=1`, from `SWAPPABLE_SEED` on.
  @Test(.reaches(.changes(of: ["section", "element"])))
  func `changes of random lists of sections are accepted`() async {
    let count: UInt64 = TestRun.isLong ? 100_000 : 300
    let given = TestRun.seed
    let first = given ?? .random(in: 0...1 << 40)
    print("a strict view: SWAPPABLE_SEED=\(first), \(count) cases")
    for seed in first..<first + count {
      await Task.yield()
      var edits = SectionEdits(seed: seed)
      let old = edits.sections()
      let new = edits.edited(old)
      Coverage.note(SectionedChangeset(from: old, to: new))
      if let violation = violation(from: old, to: new) {
        Issue.record("seed \(seed): \(violation.prefix(2_000))")
        return
      }
    }
  }

  @Test(.reaches(.changes(of: ["section", "element"])), arguments: 0..<50 as Range<UInt64>)
  func `headings that depend on the elements are accepted`(seed: UInt64) {
    var edits = SectionEdits(seed: seed)
    let old = edits.sections()
    let new = edits.edited(old)
    func counting(_ sections: [TestSection]) -> [CountingSection] {
      sections.map { CountingSection(id: $0.model.id, elements: $0.elements) }
    }
    Coverage.note(SectionedChangeset(from: counting(old), to: counting(new)))
    #expect(violation(from: counting(old), to: counting(new)) == nil, "seed \(seed)")
  }
}

/// A section that shows how many elements it has.
private struct CountingSection: DifferentiableSection, Equatable, Identifiable {
  let id: Int
  let elements: [TestElement]

  init(id: Int, elements: [TestElement]) {
    (self.id, self.elements) = (id, elements)
  }

  init(source: CountingSection, elements: some Collection<TestElement>) {
    self.init(id: source.id, elements: Array(elements))
  }

  func isContentEqual(to source: CountingSection) -> Bool {
    elements.count == source.elements.count
  }
}

/// A generator of random lists of sections and random edits.
private struct SectionEdits {
  private var random: SeededGenerator
  private let sectionLimit: Int
  private let elementLimit: Int
  /// How many identities there are; few give many duplicates.
  private let universe: Int

  init(seed: UInt64) {
    random = SeededGenerator(seed: seed)
    // One of a hundred is of up to 50 sections of up to 50 elements, the most of a few.
    let isLarge = random.oneIn(100)
    sectionLimit = isLarge ? 50 : 1 + random.below(8)
    elementLimit = isLarge ? 50 : 1 + random.below(10)
    universe = [3, 20, 1_000, 1_000_000][random.below(4)]
  }

  private mutating func element() -> TestElement {
    TestElement(random.below(universe), random.below(2))
  }

  private mutating func section() -> TestSection {
    let count = random.below(elementLimit + 1)
    return TestSection(model: element(), elements: (0..<count).map { _ in element() })
  }

  mutating func sections() -> [TestSection] {
    (0..<random.below(sectionLimit + 1)).map { _ in section() }
  }

  mutating func edited(_ old: [TestSection]) -> [TestSection] {
    if random.oneIn(6) { return sections() }
    var sections = old
    for _ in 0...random.below(4 * sectionLimit) { edit(&sections) }
    if random.oneIn(6) { sections.shuffle(using: &random) }
    return sections
  }

  private mutating func edit(_ sections: inout [TestSection]) {
    if sections.isEmpty { return sections.append(section()) }
    let section = random.below(sections.count)
    let count = sections[section].elements.count
    switch random.below(12) {
    case 0: sections.remove(at: section)
    case 1: sections.insert(self.section(), at: section)
    case 2:
      let moved = sections.remove(at: section)
      sections.insert(moved, at: random.below(sections.count + 1))
    case 3: sections[section].model.content += 1
    case 4, 5: sections[section].elements.insert(element(), at: random.below(count + 1))
    case 6 where count > 0: sections[section].elements.remove(at: random.below(count))
    case 7 where count > 0: sections[section].elements[random.below(count)].content += 1
    case 8 where count > 0: sections[section].elements.shuffle(using: &random)
    case _ where count > 0:
      let moved = sections[section].elements.remove(at: random.below(count))
      let target = random.below(sections.count)
      sections[target].elements.insert(
        moved, at: random.below(sections[target].elements.count + 1))
    default: break
    }
  }
}
