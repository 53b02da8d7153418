import Diffing
import Testing

private struct Row: Identifiable, Equatable, Differentiable {
  let id: Int
  var name: String
}

private struct Other: Identifiable, Equatable, Differentiable {
  let id: Int
  var name: String
}

@Suite("A wrapped value")
struct AnyDifferentiableTests {
  @Test func `a wrapped value has the identity and the content of its value`() {
    let row = AnyDifferentiable(Row(id: 1, name: "one"))
    let renamed = AnyDifferentiable(Row(id: 1, name: "two"))
    #expect(row.differenceIdentifier == renamed.differenceIdentifier)
    #expect(row.differenceIdentifier.hashValue == renamed.differenceIdentifier.hashValue)
    #expect(!renamed.isContentEqual(to: row))
    #expect(row.isContentEqual(to: AnyDifferentiable(Row(id: 1, name: "one"))))
    #expect(
      row.differenceIdentifier != AnyDifferentiable(Row(id: 2, name: "one")).differenceIdentifier)
  }

  @Test func `wrapped values of different types differ`() {
    let row = AnyDifferentiable(Row(id: 1, name: "one"))
    let other = AnyDifferentiable(Other(id: 1, name: "one"))
    #expect(row.differenceIdentifier != other.differenceIdentifier)
    #expect(!row.isContentEqual(to: other))
    let numbers = [AnyDifferentiable(1), AnyDifferentiable(UInt8(1)), AnyDifferentiable(Int?(1))]
    #expect(Set(numbers.map(\.differenceIdentifier)).count == 3)
  }

  @Test func `a wrapped value returns its value and is not wrapped twice`() {
    let row = AnyDifferentiable(Row(id: 1, name: "one"))
    #expect(row.base as? Row == Row(id: 1, name: "one"))
    #expect(AnyDifferentiable(row).base is Row)
    let erased: any Differentiable & Sendable = row
    #expect(AnyDifferentiable(erased).base is Row)
    #expect("\(AnyDifferentiable("text"))" == "text")
    #expect("\(row.differenceIdentifier)" == "1")
  }

  @Test func `a wrapped NaN equals itself`() {
    let value = AnyDifferentiable(Double.nan)
    #expect(value.isContentEqual(to: AnyDifferentiable(Double.nan)))
    #expect(value.differenceIdentifier == AnyDifferentiable(Double.nan).differenceIdentifier)
  }

  @Test func `wrapped values are recognized in lists and in sections`() {
    let old = [AnyDifferentiable("heading"), AnyDifferentiable(Row(id: 0, name: "zero"))]
    let new = [
      AnyDifferentiable(Row(id: 0, name: "naught")), AnyDifferentiable(0),
      AnyDifferentiable("heading"),
    ]
    let change = Changeset(from: old, to: new)
    #expect(change.insertions == [1])
    #expect(change.moves.count == 1)
    #expect(change.updates == [.init(from: 1, to: 0)])

    let sections = [
      ArraySection(model: AnyDifferentiable(1), elements: old),
      ArraySection(model: AnyDifferentiable("one"), elements: []),
    ]
    let changed = [
      ArraySection(model: AnyDifferentiable("one"), elements: Array(old[1...])),
      ArraySection(model: AnyDifferentiable(1), elements: Array(old[..<1])),
    ]
    let sectioned = SectionedChangeset(from: sections, to: changed)
    #expect(sectioned.changeCount == 2)
    #expect(sectioned.elementMoves.count == 1)
    #expect(StagedChangeset(from: sections, to: changed).count == 2)
  }
}
