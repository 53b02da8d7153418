import Diffing
import Testing

private func path(_ section: Int, _ element: Int) -> SectionedChangeset.Path {
  SectionedChangeset.Path(section: section, element: element)
}

@Suite("A difference of sections")
struct SectionedChangesetTests {
  private let sample = SectionedChangeset(
    sections: Changeset(deletions: [1], moves: [.init(from: 2, to: 0)]),
    elementDeletions: [path(0, 0)], elementInsertions: [path(0, 1)],
    elementMoves: [.init(from: path(2, 0), to: path(1, 2))],
    elementUpdates: [.init(from: path(2, 0), to: path(1, 2))])

  @Test func `a sectioned changeset is empty if nothing changed`() {
    let list = [section("0", "1 2"), section("1")]
    #expect(SectionedChangeset(from: list, to: list).isEmpty)
    #expect(SectionedChangeset(from: [Section](), to: []) == .empty)
    #expect(SectionedChangeset(from: list, to: [section("0", "1 2"), section("1")]).isEmpty)
    #expect(SectionedChangeset.empty.inverse == .empty)
    #expect(SectionedChangeset.empty.changeCount == 0)
    #expect(!sample.isEmpty)
    #expect(sample.changeCount == 6)
  }

  @Test func `a description has the parts that are not empty`() {
    #expect("\(SectionedChangeset.empty)" == "SectionedChangeset()")
    #expect(
      "\(sample)"
        == "SectionedChangeset(sections: Changeset(deletions: [1], moves: [2->0]), "
        + "elementDeletions: [0.0], elementInsertions: [0.1], elementMoves: [2.0->1.2], "
        + "elementUpdates: [2.0->1.2])")
  }

  @Test
  func `a sectioned changeset has an inverse`() {
    #expect(
      sample.inverse
        == SectionedChangeset(
          sections: Changeset(insertions: [1], moves: [.init(from: 0, to: 2)]),
          elementDeletions: [path(0, 1)], elementInsertions: [path(0, 0)],
          elementMoves: [.init(from: path(1, 2), to: path(2, 0))],
          elementUpdates: [.init(from: path(1, 2), to: path(2, 0))]))
    #expect(sample.inverse.inverse == sample)
  }

  @Test func `the difference of a single section is the difference of its elements`() {
    let (old, new) = (items("0 1 2"), items("2 4 0' 3"))
    #expect(
      SectionedChangeset(
        from: [Section(model: items("7")[0], elements: old)],
        to: [Section(model: items("7")[0], elements: new)])
        == SectionedChangeset(elements: Changeset(from: old, to: new)))
  }

  @Test func `element operations do not repeat section operations`() {
    // From a kept section to a kept one.
    #expect(
      SectionedChangeset(
        from: [section("0", "5 6"), section("1")], to: [section("0", "6"), section("1", "5'")])
        == SectionedChangeset(
          elementMoves: [.init(from: path(0, 0), to: path(1, 0))],
          elementUpdates: [.init(from: path(0, 0), to: path(1, 0))]))
    // Out of a deleted section.
    #expect(
      SectionedChangeset(
        from: [section("0", "5 6"), section("1")], to: [section("1", "5'")])
        == SectionedChangeset(
          sections: Changeset(deletions: [0]), elementInsertions: [path(0, 0)]))
    // Into an inserted section.
    #expect(
      SectionedChangeset(
        from: [section("1", "5")], to: [section("0", "5 6"), section("1")])
        == SectionedChangeset(
          sections: Changeset(insertions: [0]), elementDeletions: [path(0, 0)]))
    // Both.
    #expect(
      SectionedChangeset(from: [section("0", "5 6")], to: [section("1", "6' 5")])
        == SectionedChangeset(sections: Changeset(deletions: [0], insertions: [0])))
    // Carried along.
    #expect(
      SectionedChangeset(
        from: [section("0", "5 6"), section("1"), section("2")],
        to: [section("1"), section("2"), section("0", "5' 6")])
        == SectionedChangeset(
          sections: Changeset(moves: [.init(from: 0, to: 2)]),
          elementUpdates: [.init(from: path(0, 0), to: path(2, 0))]))
  }

  @Test func `an element stays in its section rather than move to another one`() {
    #expect(
      SectionedChangeset(
        from: [section("0", "5 5"), section("1", "5")],
        to: [section("0", "5"), section("1", "5 5")])
        == SectionedChangeset(elementMoves: [.init(from: path(0, 1), to: path(1, 1))]))
    // The first 5 that left goes where the first one came.
    #expect(
      SectionedChangeset(
        from: [section("0", "5"), section("1", "5"), section("2"), section("3")],
        to: [section("0"), section("1"), section("2", "5"), section("3", "5")]
      ).elementMoves == [
        .init(from: path(0, 0), to: path(2, 0)), .init(from: path(1, 0), to: path(3, 0)),
      ])
    // Sections of one identity.
    #expect(
      SectionedChangeset(
        from: [section("0", "1"), section("0", "2")],
        to: [section("0", "1"), section("0", "2"), section("0", "3")])
        == SectionedChangeset(sections: Changeset(insertions: [2])))
  }

  @Test func `moves between moved sections are in order`() {
    let old = [section("0", "1 2 9"), section("1", "3 4 9"), section("2", "5 6 7"), section("3")]
    let new = [
      section("2", "9 1 5"), section("0", "3 2 6"), section("3", "7 9"), section("1", "4"),
    ]
    #expect(sectionedViolation(from: old, to: new) == nil)
    #expect(SectionedChangeset(from: old, to: new).elementMoves.count == 6)
  }

  @Test func `a section decides about its own content`() {
    let old = [Counting(id: 0, elements: items("1 2")), Counting(id: 1, elements: items("3"))]
    let new = [Counting(id: 0, elements: items("1")), Counting(id: 1, elements: items("4"))]
    let change = SectionedChangeset(from: old, to: new)
    #expect(change.sections.updates == [.init(from: 0, to: 0)])
    #expect(change.elementDeletions == [path(0, 1), path(1, 0)])
    #expect(sectionedViolation(from: old, to: new, headingsShowElements: true) == nil)
    #expect(
      StagedChangeset(change, from: old, to: new).last?.changeset
        == SectionedChangeset(sections: Changeset(updates: [.init(from: 0, to: 0)])))
  }

  @Test func `elements with shared storage are not compared`() {
    let rows = (0..<100).map { Incomparable(id: $0) }
    let old = [ArraySection(model: "a", elements: rows), ArraySection(model: "b", elements: [])]
    let new = [ArraySection(model: "b", elements: []), ArraySection(model: "a", elements: rows)]
    let change = SectionedChangeset(from: old, to: new)
    #expect(change.sections.moves.count == 1)
    #expect(change.changeCount == 1)
  }

  @Test func `any collection of sections of any collection can be compared`() {
    let old = [Ranged(id: 0, elements: 0..<4), Ranged(id: 1, elements: 7..<9)]
    let new = [Ranged(id: 1, elements: 6..<9), Ranged(id: 0, elements: 2..<4)]
    let change = SectionedChangeset(from: old[...], to: ContiguousArray(new))
    #expect(change.elementDeletions == [path(0, 0), path(0, 1)])
    #expect(change.elementInsertions == [path(0, 0)])
    #expect(change.applying(to: old[...], with: ContiguousArray(new)) == new)
  }

  @Test func `equal values with different bytes are recognized`() {
    func chapter(_ title: String, _ words: [String]) -> ArraySection<String, String> {
      ArraySection(
        model: [title, "of a book"].joined(separator: " "),
        elements: words.map { [$0, "that takes up space of its own"].joined(separator: " ") })
    }
    let old = [chapter("caf\u{E9}", ["one", "na\u{EF}ve"]), chapter("second", ["two"])]
    let new = [chapter("second", ["nai\u{308}ve", "two"]), chapter("cafe\u{301}", ["one"])]
    let change = SectionedChangeset(from: old, to: new)
    #expect(change.sections.changeCount == 1)
    #expect(change.elementMoves == [.init(from: path(0, 1), to: path(0, 0))])
    #expect(change.changeCount == 2)
    #expect(sectionedViolation(from: old, to: new) == nil)
  }

  @Test func `sections and elements can be objects`() {
    let pages = (0..<4).map { Page(id: $0) }
    let old = [Book(id: 0, elements: Array(pages[..<2])), Book(id: 1, elements: [pages[2]])]
    let new = [Book(id: 1, elements: [pages[2], pages[0]]), Book(id: 0, elements: [pages[3]])]
    let change = SectionedChangeset(from: old, to: new)
    #expect(change.sections.moves.count == 1)
    #expect(change.elementMoves == [.init(from: path(0, 0), to: path(0, 1))])
    #expect(change.applying(to: old, with: new).map(\.elements) == new.map(\.elements))
    #expect(StagedChangeset(change, from: old, to: new).last?.data == new)
  }

  @Test func `applying reads only new values from the new version`() {
    let old = [section("0", "1 2"), section("1", "3")]
    let new = [section("1", "3 1"), section("2", "4"), section("0'", "2'")]
    let change = SectionedChangeset(from: old, to: new)
    #expect(change.applying(to: old, with: new) == new)
    let decoy = [section("9", "8 8"), section("2", "4"), section("0'", "2'")]
    #expect(change.applying(to: old, with: decoy) == new)
  }

  @Test func `applying to sections of other counts traps`() async {
    await #expect(processExitsWith: .failure) {
      _ = SectionedChangeset(sections: Changeset(deletions: [0]))
        .applying(to: [section("0"), section("1")], with: [section("0"), section("1")])
    }
    await #expect(processExitsWith: .failure) {
      _ = SectionedChangeset(elementDeletions: [path(0, 0)])
        .applying(to: [section("0", "1 2")], with: [section("0", "1 2")])
    }
    await #expect(processExitsWith: .failure) {
      _ = StagedChangeset(
        SectionedChangeset(elementDeletions: [path(0, 0)], elementInsertions: [path(0, 0)]),
        from: [section("0", "1 2")], to: [section("0", "1")])
    }
  }

  @Test(arguments: [
    (SectionedChangeset(sections: Changeset(deletions: [2])), "sections, C1"),
    (SectionedChangeset(elementDeletions: [path(0, 2)]), "C1"),
    (SectionedChangeset(elementInsertions: [path(2, 0)]), "C2"),
    (SectionedChangeset(elementMoves: [.init(from: path(0, 0), to: path(1, 2))]), "C3"),
    (SectionedChangeset(elementMoves: [.init(from: path(0, 0), to: path(0, 0))]), "C3"),
    (SectionedChangeset(elementUpdates: [.init(from: path(0, -1), to: path(0, 0))]), "C4"),
    (SectionedChangeset(elementUpdates: [.init(from: path(0, 0), to: path(1, 0))]), "C4"),
    (SectionedChangeset(elementMoves: [.init(from: path(0, 0), to: path(1, 0))]), "C5"),
    (SectionedChangeset(elementDeletions: [path(0, 0)]), "C5"),
    (SectionedChangeset(sections: Changeset(deletions: [1])), "sections, C5"),
    (
      SectionedChangeset(
        sections: Changeset(deletions: [1], insertions: [1]), elementDeletions: [path(1, 0)]),
      "C1"
    ),
  ])
  func `a violation names the rule that the changeset breaks`(
    change: SectionedChangeset, rule: String
  ) {
    let violation = change.invariantViolation(oldCounts: [2, 2], newCounts: [2, 2])
    #expect(violation?.hasPrefix(rule) == true, "\(change): \(violation ?? "no violation")")
  }

  #if DEBUG
    @Test
    func `a sectioned changeset with paths out of order traps`() async {
      await #expect(processExitsWith: .failure) {
        _ = SectionedChangeset(elementDeletions: [path(1, 0), path(0, 1)])
      }
      await #expect(processExitsWith: .failure) {
        _ = SectionedChangeset(elementInsertions: [path(1, 0), path(1, 0)])
      }
      await #expect(processExitsWith: .failure) {
        _ = SectionedChangeset(
          elementDeletions: [path(1, 0)], elementMoves: [.init(from: path(1, 0), to: path(0, 0))])
      }
      await #expect(processExitsWith: .failure) {
        _ = SectionedChangeset(
          elementInsertions: [path(0, 0)], elementMoves: [.init(from: path(1, 0), to: path(0, 0))])
      }
      await #expect(processExitsWith: .failure) {
        _ = SectionedChangeset(
          elementUpdates: [
            .init(from: path(1, 0), to: path(0, 0)), .init(from: path(1, 1), to: path(0, 0)),
          ])
      }
    }
  #endif
}

/// A section whose heading tells how many elements there are.
struct Counting: DifferentiableSection, Equatable {
  let id: Int
  let elements: [Item]

  init(id: Int, elements: [Item]) {
    self.id = id
    self.elements = elements
  }

  init(source: Counting, elements: some Collection<Item>) {
    self.init(id: source.id, elements: Array(elements))
  }

  var differenceIdentifier: Int { id }
  func isContentEqual(to source: Counting) -> Bool { elements.count == source.elements.count }
}

/// A section of a collection that is no array.
private struct Ranged: DifferentiableSection, Equatable {
  let id: Int
  let elements: ArraySlice<Int>

  init(id: Int, elements: some Collection<Int>) {
    self.id = id
    self.elements = Array(elements)[...]
  }

  init(source: Ranged, elements: some Collection<Int>) {
    self.init(id: source.id, elements: elements)
  }

  var differenceIdentifier: Int { id }
  func isContentEqual(to source: Ranged) -> Bool { true }
}

/// An element that is its own identity.
private final class Page: Identifiable, Equatable, Differentiable {
  let id: Int

  init(id: Int) {
    self.id = id
  }

  static func == (lhs: Page, rhs: Page) -> Bool { lhs === rhs }
}

/// A section that is an object.
private final class Book: DifferentiableSection, Equatable {
  let id: Int
  let elements: [Page]

  init(id: Int, elements: [Page]) {
    self.id = id
    self.elements = elements
  }

  convenience init(source: Book, elements: some Collection<Page>) {
    self.init(id: source.id, elements: Array(elements))
  }

  var differenceIdentifier: Int { id }
  func isContentEqual(to source: Book) -> Bool { id == source.id }
  static func == (lhs: Book, rhs: Book) -> Bool { lhs === rhs }
}

/// An element that must not be asked for anything.
private struct Incomparable: Differentiable {
  let id: Int

  var differenceIdentifier: Int {
    Issue.record("It was asked for its identity.")
    return id
  }

  func isContentEqual(to source: Incomparable) -> Bool {
    Issue.record("It was compared.")
    return false
  }
}
