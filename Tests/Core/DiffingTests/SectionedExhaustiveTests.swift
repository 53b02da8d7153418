import DataSourceTesting
import Diffing
import Foundation
import TestSupport
import Testing

@Suite("The difference of all small lists of sections")
struct SectionedExhaustiveTests {

  /// An ordinary run takes one of three pairs.
  @Test func `all lists of 2 sections with up to 2 elements follow all rules`() async {
    await check(Universe(contents: 1, headings: 1, elementCount: 2), oneIn: TestRun.isLong ? 1 : 3)
  }

  /// An ordinary run takes one of three pairs.
  @Test func `all lists of 2 sections with 1 element and updates follow all rules`() async {
    await check(Universe(contents: 2, headings: 2, elementCount: 1), oneIn: TestRun.isLong ? 1 : 3)
  }

  @Test func `some lists of 2 sections with up to 2 elements and updates follow all rules`() async {
    await check(Universe(contents: 2, headings: 2, elementCount: 2), oneIn: 1_000)
  }

  @Test(.enabled(if: TestRun.isLong))
  func `all lists of 2 sections with up to 2 elements and updates follow all rules`() async {
    await check(Universe(contents: 2, headings: 2, elementCount: 2))
  }

  /// Checks all pairs of which none is the same as another but for names.
  ///
  /// Each thread makes its own lists: counting references to shared ones would cost more than all else.
  private func check(_ universe: Universe, oneIn share: Int = 1) async {
    let parts = max(2, ProcessInfo.processInfo.activeProcessorCount)
    await withTaskGroup(of: (count: Int, violation: String?).self) { group in
      for part in 0..<parts {
        group.addTask {
          await withCheckedContinuation { continuation in
            Thread.detachNewThread {
              continuation.resume(
                returning: universe.firstViolation(inPart: part, of: parts, oneIn: share))
            }
          }
        }
      }
      var count = 0
      for await result in group {
        count += result.count
        if let violation = result.violation { Issue.record("\(violation)") }
      }
      print("\(count) pairs of lists of sections")
    }
  }
}

/// The sections and elements that lists are made of: two identities of each, up to two sections.
private struct Universe {
  /// How many contents an element can have, and a section.
  let contents: UInt8
  let headings: UInt8
  /// How many elements a section has at most.
  let elementCount: Int

  func lists() -> [[Section]] {
    func items(_ contents: UInt8) -> [Item] {
      (0..<2).flatMap { id in (0..<contents).map { Item(id: id, content: $0) } }
    }
    let elements = allLists(upTo: elementCount, of: items(contents))
    let sections = items(headings).flatMap { model in
      elements.map { Section(model: model, elements: $0) }
    }
    return [[]] + sections.map { [$0] }
      + sections.flatMap { first in sections.map { [first, $0] } }
  }

  func firstViolation(
    inPart part: Int, of parts: Int, oneIn share: Int
  ) -> (count: Int, violation: String?) {
    let lists = lists()
    var generator = SeededGenerator(seed: UInt64(part))
    var count = 0
    let olds = lists.filter { SectionNames().named($0) != nil }
    for old in stride(from: part, to: olds.count, by: parts) {
      guard let names = SectionNames().named(olds[old]) else { continue }
      for new in lists {
        if share > 1 && Int.random(in: 0..<share, using: &generator) > 0 { continue }
        guard names.named(new) != nil else { continue }
        count += 1
        if let violation = sectionedViolation(from: olds[old], to: new) {
          return (count, violation)
        }
      }
    }
    return (count, nil)
  }
}
