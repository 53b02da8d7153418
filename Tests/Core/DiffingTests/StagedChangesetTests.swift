import DataSourceTesting
import Diffing
import TestTags
import Testing

private func path(_ section: Int, _ element: Int) -> SectionedChangeset.Path {
  SectionedChangeset.Path(section: section, element: element)
}

@Suite("A staged change")
struct StagedChangesetTests {
  private typealias Linear = StagedChangeset<Item, Changeset>
  private typealias Sectioned = StagedChangeset<Section, SectionedChangeset>

  private func stages(from old: String, to new: String) -> Linear {
    StagedChangeset(from: items(old), to: items(new))
  }

  @Test func `an empty difference has no stages`() {
    #expect(stages(from: "", to: "").isEmpty)
    #expect(stages(from: "0 1 2", to: "0 1 2").isEmpty)
    #expect(StagedChangeset(from: [section("0", "1")], to: [section("0", "1")]).isEmpty)
    #expect("\(stages(from: "0", to: "0"))" == "[]")
  }

  @Test func `empty stages are left out`() {
    #expect(
      stages(from: "0 1 2", to: "0 2")
        == Linear(stages: [.init(data: items("0 2"), changeset: Changeset(deletions: [1]))]))
    #expect(
      stages(from: "0 1 2", to: "0' 1 2")
        == Linear(stages: [
          .init(data: items("0' 1 2"), changeset: Changeset(updates: [.init(from: 0, to: 0)]))
        ]))
    let reversed = stages(from: "0 1 2 3", to: "3 2 1 0")
    #expect(reversed.count == 1)
    #expect(reversed.first?.data == items("3 2 1 0"))
    #expect(reversed.first?.changeset.moves.count == 3)
    #expect(reversed.first?.changeset.changeCount == 3)
  }

  @Test func `a list has updates, then deletions, then insertions and moves`() {
    let staged = stages(from: "0 1 2", to: "2 4 0' 3")
    #expect(staged.count == 3)
    #expect(
      staged[0]
        == .init(data: items("0' 1 2"), changeset: Changeset(updates: [.init(from: 0, to: 0)])))
    #expect(staged[1] == .init(data: items("0' 2"), changeset: Changeset(deletions: [1])))
    #expect(staged[2].data == items("2 4 0' 3"))
    #expect(staged[2].changeset.insertions == [1, 3])
    #expect(staged[2].changeset.moves == [.init(from: 0, to: 2)])
    #expect("\(staged[1])" == "Changeset(deletions: [1]): [0', 2]")
    #expect(stageViolation(from: items("0 1 2"), to: items("2 4 0' 3")) == nil)
  }

  @Test func `origins of moves are offsets after the deletions`() {
    #expect(
      stages(from: "0 1 2 3 4", to: "4 2 3")
        == Linear(stages: [
          .init(data: items("2 3 4"), changeset: Changeset(deletions: [0, 1])),
          .init(data: items("4 2 3"), changeset: Changeset(moves: [.init(from: 2, to: 0)])),
        ]))
  }

  @Test func `sections are inserted and updated`() {
    #expect(
      StagedChangeset(from: [section("1")], to: [section("1"), section("2")])
        == Sectioned(stages: [
          .init(
            data: [section("1"), section("2")],
            changeset: SectionedChangeset(sections: Changeset(insertions: [1])))
        ]))
    #expect(
      StagedChangeset(from: [section("0")], to: [section("0'")])
        == Sectioned(stages: [
          .init(
            data: [section("0'")],
            changeset: SectionedChangeset(
              sections: Changeset(updates: [.init(from: 0, to: 0)])))
        ]))
  }

  @Test func `all kinds of operations make five stages`() {
    let old = [section("0", "1 2"), section("1", "3"), section("2", "4")]
    let new = [section("2'", "4' 5"), section("9", "8"), section("0", "2")]
    let staged = StagedChangeset(from: old, to: new)
    #expect(
      staged
        == Sectioned(stages: [
          .init(
            data: [section("0", "1 2"), section("1", "3"), section("2", "4'")],
            changeset: SectionedChangeset(
              elementUpdates: [.init(from: path(2, 0), to: path(2, 0))])),
          .init(
            data: [section("0", "2"), section("2", "4'")],
            changeset: SectionedChangeset(
              sections: Changeset(deletions: [1]), elementDeletions: [path(0, 0)])),
          .init(
            data: [section("2", "4'"), section("9", "8"), section("0", "2")],
            changeset: SectionedChangeset(
              sections: Changeset(
                insertions: [1], moves: staged[2].changeset.sections.moves))),
          .init(
            data: [section("2", "4' 5"), section("9", "8"), section("0", "2")],
            changeset: SectionedChangeset(elementInsertions: [path(0, 1)])),
          .init(
            data: new,
            changeset: SectionedChangeset(sections: Changeset(updates: [.init(from: 0, to: 0)]))),
        ]))
    #expect(staged[2].changeset.sections.moves.count == 1)
    #expect(sectionedViolation(from: old, to: new) == nil)
  }

  @Test
  func `an element that is moved and updated takes two stages`() {
    let old = [section("0", "1 2 3"), section("1", "4"), section("2")]
    let new = [section("2"), section("1", "2' 4"), section("0", "3")]
    let staged = StagedChangeset(from: old, to: new)
    #expect(staged.count == 4)
    #expect(staged[0].changeset.elementUpdates == [.init(from: path(0, 1), to: path(0, 1))])
    #expect(staged[1].changeset.elementDeletions == [path(0, 0)])
    // The section is where it will be, and the deletion is past.
    let origin = path(2, 0)
    #expect(staged[3].changeset.elementMoves == [.init(from: origin, to: path(1, 0))])
    #expect(sectionedViolation(from: old, to: new) == nil)
  }

  @Test func `kept elements have new values from the first stage on, sections in the last`() {
    func tagged(_ id: Int, _ tag: String, _ elements: [Tagged]) -> ArraySection<Tagged, Tagged> {
      ArraySection(model: Tagged(id: id, tag: tag), elements: elements)
    }
    let old = [
      tagged(0, "old", [Tagged(id: 0, tag: "old"), Tagged(id: 1, tag: "old")]),
      tagged(1, "old", [Tagged(id: 2, tag: "old")]),
    ]
    let new = [
      tagged(0, "new", [Tagged(id: 1, tag: "new"), Tagged(id: 3, tag: "new")])
    ]
    let staged = StagedChangeset(from: old, to: new)
    #expect(
      staged.map(\.data) == [[tagged(0, "old", [Tagged(id: 1, tag: "new")])], new])

    let list = StagedChangeset(
      from: old[0].elements, to: new[0].elements)
    #expect(list.map(\.data) == [[Tagged(id: 1, tag: "new")], new[0].elements])
  }

  @Test func `sections can be compared as elements`() {
    let staged: StagedChangeset<Section, Changeset> = StagedChangeset(
      from: [section("0", "1")], to: [section("0", "2"), section("1")])
    let update = Changeset(updates: [.init(from: 0, to: 0)])
    #expect(staged.map(\.changeset) == [update, Changeset(insertions: [1])])
  }

  @Test func `a change that does not fit the versions traps`() async {
    await #expect(processExitsWith: .failure) {
      _ = StagedChangeset(Changeset(deletions: [0]), from: [1, 2], to: [1, 2])
    }
    await #expect(processExitsWith: .failure) {
      _ = StagedChangeset(SectionedChangeset.empty, from: [section("0")], to: [])
    }
  }

  @Test(.reaches(.changes), arguments: 0..<100)
  func `the stages of random lists lead to the new version`(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    func list() -> [Item] {
      (0..<Int.random(in: 0..<30, using: &generator)).map { _ in
        Item(
          id: .random(in: 0..<20, using: &generator), content: .random(in: 0..<2, using: &generator)
        )
      }
    }
    let (old, new) = (list(), list())
    #expect(stageViolation(from: old, to: new) == nil, "seed \(seed): \(old) to \(new)")
  }

  @Test func `the model of a strict view accepts and rejects the right batches`() {
    let old = [section("0", "1 2"), section("1", "3")]
    func refusal(_ change: SectionedChangeset, _ data: [Section]) -> String? {
      var view = BatchUpdateModel(old)
      return view.perform(change, data: data)
    }
    let move = SectionedChangeset.Move(from: path(0, 0), to: path(1, 0))
    #expect(
      refusal(
        SectionedChangeset(elementMoves: [move]), [section("0", "2"), section("1", "1 3")]) == nil)
    #expect(refusal(.empty, old) != nil)
    #expect(refusal(SectionedChangeset(elementMoves: [move]), old) != nil)
    #expect(
      refusal(
        SectionedChangeset(elementDeletions: [path(0, 0)]), [section("0", "1"), section("1", "3")])
        != nil)
    #expect(
      refusal(
        SectionedChangeset(elementUpdates: [.init(from: path(0, 0), to: path(0, 0))]), old) != nil)
    #expect(
      refusal(
        SectionedChangeset(
          sections: Changeset(deletions: [1]), elementDeletions: [path(1, 0)]),
        [section("0", "1 2")]) != nil)
    #expect(
      refusal(
        SectionedChangeset(
          sections: Changeset(moves: [.init(from: 0, to: 1)]), elementDeletions: [path(0, 0)]),
        [section("1", "3"), section("0", "2")]) != nil)
  }
}

/// An element with a tag that belongs neither to the identity nor to the content.
private struct Tagged: Differentiable, Equatable {
  let id: Int
  let tag: String

  var differenceIdentifier: Int { id }
  func isContentEqual(to source: Tagged) -> Bool { true }
}
