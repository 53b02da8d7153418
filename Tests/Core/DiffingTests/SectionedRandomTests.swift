import DataSourceTesting
import Diffing
import Foundation
import TestSupport
import TestTags
import Testing

@Suite("The difference of random lists of sections")
struct SectionedRandomTests {
  private static let seeds =
    TestRun.isLong ? 20_000 : 150

  /// A list of sections; identities are drawn from so few that they occur twice, or from many.
  private func list(
    sections: Int, elements: Int, universe: UInt8, using generator: inout SeededGenerator
  ) -> [Section] {
    func item(_ bound: UInt8) -> Item {
      Item(
        id: .random(in: 0..<bound, using: &generator),
        content: .random(in: 0..<2, using: &generator))
    }
    return (0..<Int.random(in: 0...sections, using: &generator)).map { _ in
      Section(
        model: item(max(2, UInt8(sections))),
        elements: (0..<Int.random(in: 0...elements, using: &generator)).map { _ in item(universe) })
    }
  }

  /// Edits sections and elements at random places.
  private func edited(
    _ list: [Section], steps: Int, universe: UInt8, using generator: inout SeededGenerator
  ) -> [Section] {
    var list = list
    for _ in 0..<steps where !list.isEmpty {
      let section = Int.random(in: 0..<list.count, using: &generator)
      let count = list[section].elements.count
      let item = Item(
        id: .random(in: 0..<universe, using: &generator),
        content: .random(in: 0..<2, using: &generator))
      switch Int.random(in: 0..<10, using: &generator) {
      case 0:
        let moved = list.remove(at: section)
        list.insert(moved, at: .random(in: 0...list.count, using: &generator))
      case 1:
        list[section].model = Item(id: list[section].model.id, content: item.content)
      case 2: list.remove(at: section)
      case 3: list.insert(Section(model: item, elements: [item]), at: section)
      case 4, 5:
        list[section].elements.insert(item, at: .random(in: 0...count, using: &generator))
      case 6 where count > 0:
        list[section].elements.remove(at: .random(in: 0..<count, using: &generator))
      case 7 where count > 0:
        let element = Int.random(in: 0..<count, using: &generator)
        list[section].elements[element] = Item(
          id: list[section].elements[element].id, content: item.content)
      case _ where count > 0:
        let element = list[section].elements.remove(
          at: .random(in: 0..<count, using: &generator))
        let target = Int.random(in: 0..<list.count, using: &generator)
        list[target].elements.insert(
          element, at: .random(in: 0...list[target].elements.count, using: &generator))
      default: break
      }
    }
    return list
  }

  @Test(.reaches(.changes(of: ["section", "element"])))
  func `random lists of sections follow all rules`() {
    for seed in 0..<Self.seeds {
      var generator = SeededGenerator(seed: UInt64(seed))
      let universe: UInt8 = [3, 20, 250][seed % 3]
      let old = list(sections: 8, elements: 15, universe: universe, using: &generator)
      let new = edited(old, steps: seed % 40, universe: universe, using: &generator)
      let unrelated = list(sections: 8, elements: 15, universe: universe, using: &generator)
      for other in [new, unrelated, new.shuffled(using: &generator)] {
        guard let violation = sectionedViolation(from: old, to: other) else { continue }
        Issue.record("seed \(seed): \(violation)")
        return
      }
    }
  }

  @Test(
    .reaches("section: deletion", "section: insertion", "section: move", .changes(of: ["element"])),
    arguments: 0..<60) func `headings that show their elements follow all rules`(seed: UInt64)
  {
    var generator = SeededGenerator(seed: seed)
    let old = list(sections: 5, elements: 6, universe: 20, using: &generator)
    let new = edited(old, steps: 10, universe: 20, using: &generator)
    func counting(_ list: [Section]) -> [Counting] {
      list.map { Counting(id: Int($0.model.id), elements: $0.elements) }
    }
    #expect(
      sectionedViolation(from: counting(old), to: counting(new), headingsShowElements: true) == nil,
      "seed \(seed)")
  }

  @Test func `the difference of many large sections is as small as the edits`() {
    let old = (0..<200).map { section in
      ArraySection(model: section, elements: (0..<100).map { section * 1_000 + $0 })
    }
    var new = old
    let element = new[17].elements.remove(at: 50)
    new[180].elements.insert(element, at: 3)
    new[90].elements.swapAt(4, 80)
    new.insert(new.remove(at: 199), at: 0)
    new.remove(at: 60)
    let change = SectionedChangeset(from: old, to: new)
    #expect(change.elementMoves.count == 3)
    #expect(change.sections.changeCount == 2)
    #expect(change.changeCount == 5)
    #expect(sectionedViolation(from: old, to: new) == nil)
  }
}
