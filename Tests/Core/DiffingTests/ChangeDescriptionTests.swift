import ChangeDescriptions
import DataSourceTesting
import Diffing
import TestTags
import Testing

private struct Author: Hashable {
  var name: String
  var year: Int
}

private struct Book: Identifiable, Hashable, Differentiable {
  var id: Int
  var title = "T"
  var size: Int? = 1
  var author = Author(name: "A", year: 1900)
}

/// An object with fields of its own and of the class above, one of which cannot be compared.
private class Base: @unchecked Sendable {
  let id: Int
  let cycle: Base?

  init(_ id: Int, _ cycle: Base? = nil) {
    self.id = id
    self.cycle = cycle
  }
}

private final class Derived: Base, Differentiable, @unchecked Sendable {
  let weight: Double

  init(_ id: Int, _ weight: Double, _ cycle: Base? = nil) {
    self.weight = weight
    super.init(id, cycle)
  }

  var differenceIdentifier: Int { id }

  func isContentEqual(to source: Derived) -> Bool { false }
}

private struct Labelled: Differentiable, Hashable, ChangeDescribable {
  var id: Int
  var rest: String
  var differenceIdentifier: Int { id }
  var changeLabel: String? { "#\(id)" }
  var changeText: String { rest }

  func changedFields(from old: Labelled) -> [ChangeDescription.FieldChange] {
    [ChangeDescription.FieldChange(name: "rest", old: old.rest, new: nil)]
  }
}

/// One of several objects that all hold one another.
private final class Knot: Identifiable, Differentiable {
  let id: Int
  let name: String
  var links: (Knot?, Knot?, Knot?, Knot?) = (nil, nil, nil, nil)

  init(_ id: Int, _ name: String) {
    self.id = id
    self.name = name
  }

  func isContentEqual(to source: Knot) -> Bool { false }

  static func first(named names: String...) -> Knot {
    let knots = names.enumerated().map { Knot($0, $1) }
    for knot in knots { knot.links = (knots[0], knots[1], knots[2], knots[3]) }
    return knots[0]
  }
}

private func description<Element: Differentiable>(
  _ old: [Element], _ new: [Element], _ style: ChangeDescription.Style = .init()
) -> ChangeDescription {
  ChangeDescription(Changeset(from: old, to: new), from: old, to: new, style: style)
}

@Suite("A change's description")
struct ChangeDescriptionTests {
  @Test func `negative limits are treated as zero`() {
    var style = ChangeDescription.Style(lineLimit: -1, valueLength: -1, fieldLimit: -1)
    style.valueLength = -5
    let description = ChangeDescription(
      Changeset(from: ["a"], to: ["b"]), from: ["a"], to: ["b"], style: style)
    #expect(description.lines.isEmpty && description.omittedCount == 2)
  }

  @Test func `a description has a line for each element in order, and a summary`() {
    #expect(
      description(["a", "b", "c", "d", "e", "f"], ["e", "a", "x", "c", "f", "y"]).description == """
        > [4] → [0] "e"
        - [1] "b"
        + [2] "x"
        - [3] "d"
        + [5] "y"
        2 inserted, 2 deleted, 1 moved
        """)
    #expect(description([1, 2], [1, 2]).description == "nothing changed")
    #expect(description([], [7]).description == "+ [0] 7\n1 inserted")
    #expect(description([7, 8], []).lines == ["- [0] 7", "- [1] 8"])
  }

  @Test func `a move between equal offsets says that it passes others`() {
    let (a, b) = (Item(id: 1, content: 0), Item(id: 2, content: 0))
    let edited = Item(id: 1, content: 1)
    let (first, last) = (Item(id: 7, content: 0), Item(id: 8, content: 0))
    #expect(
      description([first, a, b], [b, edited, last]).lines
        == ["- [0] 7", "> [1] → [1] (past others) 1: content: 0 → 1", "+ [2] 8"])
    // Otherwise, another element moves.
    #expect(description([1, 2, 3], [3, 2, 1]).lines == ["> [2] → [0] 3", "> [0] → [2] 1"])
  }

  @Test(.reaches(.changes), arguments: 0..<100)
  func `each change has one line, also among deletions and moves`(
    seed: UInt64
  ) {
    var generator = SeededGenerator(seed: seed)
    func list() -> [Item] {
      (0..<Int.random(in: 0..<12, using: &generator)).map { _ in
        Item(
          id: .random(in: 0..<12, using: &generator), content: .random(in: 0...1, using: &generator)
        )
      }
    }
    let (old, new) = (list(), list())
    let change = Changeset(from: old, to: new)
    Coverage.note(change)
    let lines = ChangeDescription(change, from: old, to: new).lines
    let both = change.updates.filter { update in
      change.moves.contains { $0.to == update.to }
    }
    #expect(
      lines.count == change.deletions.count + change.insertions.count + change.moves.count
        + change.updates.count - both.count, "seed \(seed)")
    #expect(lines.filter { $0.hasPrefix("- ") }.count == change.deletions.count)
    for offset in change.deletions {
      #expect(lines.contains { $0.hasPrefix("- [\(offset)] ") }, "seed \(seed)")
    }
    // Those of the new version ascend.
    let places = lines.filter { !$0.hasPrefix("-") }.compactMap { line in
      line.split(separator: "]").last { $0.contains("[") }
        .flatMap { Int($0.drop { $0 != "[" }.dropFirst()) }
    }
    #expect(
      places == places.sorted() && places.count == Set(places).count, "seed \(seed): \(lines)")
  }

  @Test func `an updated element is described by its identity and its changed fields`() {
    let old = [Book(id: 5), Book(id: 6), Book(id: 7)]
    var new = old
    new[0].title = "U"
    new[0].size = nil
    new[1].author.year = 1901
    new.swapAt(1, 2)
    #expect(
      description(old, new).description == """
        ~ [0] 5: title: "T" → "U", size: 1 → nil
        > [1] → [2] 6: author.year: 1900 → 1901
        2 updated, 1 moved
        """)
    #expect(
      description([Book](), [Book(id: 1)]).lines.first?.hasPrefix("+ [0] Book(id: 1, title: ")
        == true)
  }

  @Test func `fields of superclasses are found, and cycles end`() {
    let base = Base(9, Base(8))
    let old = [Derived(1, 0.5, base), Derived(2, .nan)]
    let new = [Derived(1, 1.5, base), Derived(2, .nan)]
    let lines = description(old, new).lines
    #expect(lines.first == "~ [0] 1: weight: 0.5 → 1.5")
    // Nothing that can be seen differs.
    #expect(lines.last?.hasSuffix("no visible difference") == true)
    #expect(lines.last?.contains("Derived(id: 2, cycle: nil, weight: nan)") == true)
  }

  @Test func `each object is described once, even if it is reached on several paths`() {
    let old = Knot.first(named: "a", "b", "c", "d")
    let new = Knot.first(named: "a", "b", "x", "y")
    #expect(
      description([old], [new]).lines
        == [#"~ [0] 0: links.2.name: "c" → "x", links.3.name: "d" → "y""#])
  }

  @Test func `elements can describe themselves`() {
    let old = [Labelled(id: 1, rest: "a"), Labelled(id: 2, rest: "b"), Labelled(id: 3, rest: "c")]
    let new = [Labelled(id: 3, rest: "c"), Labelled(id: 1, rest: "x"), Labelled(id: 4, rest: "d")]
    let change = Changeset(
      deletions: [1], insertions: [2], moves: [.init(from: 2, to: 0)],
      updates: [.init(from: 0, to: 1)])
    #expect(
      ChangeDescription(change, from: old, to: new).lines == [
        "> [2] → [0] #3", "~ [1] #1: rest: a → none", "- [1] #2: b", "+ [2] #4: d",
      ])
  }

  @Test func `long values are shortened to the part that differs`() {
    let start = String(repeating: "a", count: 500)
    let style = ChangeDescription.Style(valueLength: 20)
    var (old, new) = (Book(id: 1, title: start + "x" + start), Book(id: 1, title: start + "y"))
    #expect(
      description([old], [new], style).lines == [
        "~ [0] 1: title: …aaaaaxaaaaaaaaaaaaaa… → …aaaaay\""
      ])
    #expect(
      description([], [start], style).lines == ["+ [0] \"\(String(repeating: "a", count: 19))…"])
    old.title = "short"
    new.title = "sh"
    #expect(description([old], [new], style).lines == [#"~ [0] 1: title: "short" → "sh""#])
  }

  @Test func `control characters and direction marks are escaped`() {
    let nasty = "\u{1B}[2J\n\r\t\0\u{7F}\u{9B}31m\u{202E}\u{2028}\u{FEFF}\u{85}e\u{301}👩‍🚀"
    let elements = [Labelled(id: 1, rest: nasty)]
    let lines = description([], elements).lines + description([], [nasty]).lines
    for line in lines {
      #expect(line.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control })
      #expect(!line.contains("\u{202E}") && !line.contains("\u{2028}"))
      #expect(line.contains("\\u{1B}[2J\\n\\r\\t") && line.contains("👩‍🚀"))
    }
  }

  @Test func `lines and fields above a limit are counted`() {
    let all = description([], Array(0..<100), .init(lineLimit: nil))
    #expect(all.lines.count == 100 && all.omittedCount == 0)
    let some = description([], Array(0..<100), .init(lineLimit: 3))
    #expect(some.description == "+ [0] 0\n+ [1] 1\n+ [2] 2\n… 97 more\n100 inserted")
    #expect(description([], Array(0..<100)).lines.count == 20)
    var new = Book(id: 1, title: "U")
    new.size = 2
    #expect(
      description([Book(id: 1)], [new], .init(fieldLimit: 1)).lines == [
        #"~ [0] 1: title: "T" → "U", and 1 more"#
      ])
  }

  @Test func `values that look alike are distinguished`() {
    let old = [Labelled(id: 1, rest: "é")]
    #expect(
      ChangeDescription(
        Changeset(updates: [.init(from: 0, to: 0)]), from: [["é"]], to: [["e\u{301}"]]
      ).lines == [#"~ [0] ["\u{E9}"] → ["e\u{301}"]"#])
    #expect(description(old, old).lines.isEmpty)
  }

  @Test func `lines are colored if the style says so`() {
    let style = ChangeDescription.Style(isColored: true)
    let old = [Book(id: 1), Book(id: 2), Book(id: 3)]
    let new = [Book(id: 3), Book(id: 1, title: "U"), Book(id: 2)]
    #expect(
      description(old, new, style).lines.map { $0.replacing("\u{1B}", with: "^") } == [
        "^[34m> [2] → [0]^[0m Book(id: 3, title: \"T\", size: 1, author: Author(name: \"A\", year: 1900))",
        "^[33m~ [1]^[0m 1: title: ^[31m\"T\"^[0m → ^[32m\"U\"^[0m",
      ])
    #expect(
      description([1], [2], style).lines == [
        "\u{1B}[31m- [0] 1\u{1B}[0m", "\u{1B}[32m+ [0] 2\u{1B}[0m",
      ])
  }
}
