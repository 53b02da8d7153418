import DataSourceTesting
import Diffing
import TestSupport
import TestTags
import Testing

/// An identity of which all have one hash.
private struct OneHash: Hashable, Differentiable {
  let id: Int
  func hash(into hasher: inout Hasher) {}
}

/// An element that breaks what equality and hashes promise.
private struct Unruly: Hashable, Differentiable {
  enum Fault: CaseIterable {
    case notReflexive, notSymmetric, notTransitive, equalOfOtherHash, different
  }

  /// The answers of elements that answer differently each time.
  static let answers = Shared(SeededGenerator(seed: 1))

  let id: Int
  let fault: Fault

  static func == (lhs: Unruly, rhs: Unruly) -> Bool {
    switch lhs.fault {
    case .notReflexive: false
    case .notSymmetric: lhs.id < rhs.id
    case .notTransitive: abs(lhs.id - rhs.id) <= 1
    case .equalOfOtherHash: lhs.id / 4 == rhs.id / 4
    case .different: answers.modify { $0.oneIn(2) }
    }
  }

  func hash(into hasher: inout Hasher) {
    if fault == .equalOfOtherHash { hasher.combine(id) }
    if fault == .different { hasher.combine(Self.answers.modify { $0.oneIn(2) }) }
  }
}

/// An element without bytes.
private struct Nothing: Hashable, Differentiable {}

private enum Shape: Hashable, Differentiable {
  case point
  case circle(Int8)
  indirect case pair(Shape, Shape)
  case named(String, Double)
}

/// An element with unused bytes between its fields.
private struct Gapped: Hashable, Differentiable {
  var small: UInt8
  var large: Int
  var flag: Bool
}

/// An element of more bytes than are compared at once.
private struct Large: Identifiable, Differentiable {
  let id: Int
  var words = (0, 0, 0, 0, 0, 0, 0, 0)
  var more = (0, 0, 0, 0, 0, 0, 0, 0)
  var last = 0
  func isContentEqual(to source: Large) -> Bool { last == source.last }
}

private class Animal: Hashable, Differentiable, @unchecked Sendable {
  let name: String

  init(_ name: String) {
    self.name = name
  }

  var differenceIdentifier: String { name }
  func isContentEqual(to source: Animal) -> Bool { type(of: self) == type(of: source) }
  static func == (lhs: Animal, rhs: Animal) -> Bool { lhs.name == rhs.name }
  func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

private final class Dog: Animal, @unchecked Sendable {
  override var differenceIdentifier: String { "dog " + name }
}

/// An element that computes differences in its own comparison.
private struct Nested: Differentiable, Hashable {
  let values: [Int]

  var differenceIdentifier: Int {
    Changeset(from: 0..<100, to: values).insertions.count + (values.first ?? 0)
  }

  func isContentEqual(to source: Nested) -> Bool {
    Changeset(from: source.values, to: values).isEmpty
  }
}

@Suite("A difference of elements that are hard to tell apart")
struct HardElementTests {
  @Test(.reaches(.rearrangements), arguments: 0..<10)
  func `a difference is correct if all hashes are equal`(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let old = (0..<150).map { _ in OneHash(id: .random(in: 0..<100, using: &generator)) }
    let new = (0..<150).map { _ in OneHash(id: .random(in: 0..<100, using: &generator)) }
    #expect(violation(from: old, to: new) == nil, "seed \(seed)")
    #expect(violation(from: old, to: old.shuffled(using: &generator)) == nil, "seed \(seed)")
  }

  @Test(arguments: Unruly.Fault.allCases)
  fileprivate func `faulty equality and hashes do not cause a trap`(fault: Unruly.Fault) {
    var generator = SeededGenerator(seed: 1)
    let seed = TestRun.seed ?? .random(in: 0 ... .max)
    if fault == .different {
      print("seed \(seed)")
      Unruly.answers.value = SeededGenerator(seed: seed)
    }
    for count in [0, 1, 5, 40, 150] {
      let old = (0..<count).map { Unruly(id: $0 % 90, fault: fault) }
      let new = (0..<150).map { _ in
        Unruly(id: .random(in: 0..<90, using: &generator), fault: fault)
      }
      for (old, new) in [(old, new), (new, old), (old, old.shuffled(using: &generator))] {
        let change = Changeset(from: old, to: new)
        #expect(
          change.invariantViolation(oldCount: old.count, newCount: new.count) == nil,
          "seed \(seed)")
        #expect(
          Patch(change, from: old, to: new).applying(to: old).count == new.count, "seed \(seed)")
        let before = [ArraySection(model: 0, elements: old), ArraySection(model: 1, elements: new)]
        let after = [ArraySection(model: 1, elements: old), ArraySection(model: 0, elements: new)]
        #expect(
          SectionedChangeset(from: before, to: after).applying(to: before, with: after).count == 2,
          "seed \(seed)")
      }
    }
  }

  @Test func `elements without bytes, with padding and with many bytes are compared correctly`() {
    let nothing = [Nothing](repeating: Nothing(), count: 5)
    #expect(Changeset(from: nothing, to: nothing.dropLast()) == Changeset(deletions: [4]))
    #expect(Changeset(from: [], to: nothing).insertions.count == 5)

    var generator = SeededGenerator(seed: 2)
    let gapped = (0..<200).map { Gapped(small: UInt8($0), large: -$0, flag: $0 % 3 == 0) }
    #expect(violation(from: gapped, to: gapped.shuffled(using: &generator)) == nil)
    #expect(Changeset(from: gapped, to: gapped.map { $0 }).isEmpty)

    let large = (0..<200).map { Large(id: $0) }
    var changed = large
    changed[7].last = 1
    changed[9].more.7 = 1
    #expect(Changeset(from: large, to: changed) == Changeset(updates: [.init(from: 7, to: 7)]))
    changed.reverse()
    #expect(Changeset(from: large, to: changed).updates == [.init(from: 7, to: 192)])
    #expect(Changeset(from: large, to: changed).moves.count == 199)
  }

  @Test func `enumerations with values and nested optionals are compared correctly`() {
    var generator = SeededGenerator(seed: 3)
    func name() -> String { ["a name of many", "bytes"].joined(separator: " ") }
    let shapes: [Shape] = (0..<60).flatMap { number -> [Shape] in
      [
        .point, .circle(Int8(number)), .named(name(), Double(number)),
        .pair(.circle(Int8(number)), .named(name(), 0)),
      ]
    }
    #expect(violation(from: shapes, to: shapes.shuffled(using: &generator)) == nil)
    #expect(Changeset(from: [Shape.named("0", 0.0)], to: [.named("0", -0.0)]).isEmpty)
    let optionals: [Int??] = [1, nil, .some(nil), 2]
    #expect(violation(from: optionals, to: [.some(nil), 2, 1, nil]) == nil)
    #expect(Changeset(from: optionals, to: [1, .some(nil), 2]) == Changeset(deletions: [1]))
  }

  @Test func `objects of a class hierarchy use their own identities`() {
    let old = [Animal("a"), Dog("a"), Animal("dog a"), Dog("b")]
    let new = [Dog("b"), Animal("a"), Animal("dog a")]
    let change = Changeset(from: old, to: new)
    #expect(change.deletions == [2])
    #expect(change.moves == [.init(from: 3, to: 0)])
    #expect(change.updates == [.init(from: 1, to: 2)])
  }

  @Test func `a difference can be computed inside another one`() {
    let old = (0..<40).map { Nested(values: [$0, $0 + 1, 200 + $0 % 2]) }
    #expect(violation(from: old, to: Array(old.reversed())) == nil)
    #expect(Changeset(from: old, to: old.map { Nested(values: $0.values.map { $0 }) }).isEmpty)
  }

  @Test func `canonically equal strings are equal identities and contents`() {
    struct Text: Identifiable, Equatable, Differentiable {
      let id: Int
      var text: String
    }
    for (one, other) in [
      ("\u{212A}", "K"), ("\u{E9}", "e\u{301}"), ("\u{AC00}", "\u{1100}\u{1161}"),
    ] {
      for rest in ["", " and so many more that it needs storage"] {
        #expect(Changeset(from: [one + rest], to: [other + rest]).isEmpty)
        #expect(
          Changeset(from: [Text(id: 0, text: one + rest)], to: [Text(id: 0, text: other + rest)])
            .isEmpty)
        let old = (0..<100).map { "\(one) \($0)\(rest)" }
        let new = (0..<100).reversed().map { "\(other) \($0)\(rest)" }
        #expect(Changeset(from: old, to: new).moves.count == 99)
        #expect(Changeset(from: old, to: new).changeCount == 99)
      }
    }
  }

  @Test func `a difference of very long lists follows all rules`() {
    let count = TestRun.isLong ? 1_000_000 : 100_000
    let old = Array(0..<count)
    var edited = old
    for offset in stride(from: 0, to: count, by: 1_000) { edited[offset] = -1 - offset }
    edited.swapAt(7, count - 9)
    let rotated = Array(old[(count / 2)...] + old[..<(count / 2)])
    for (new, moves) in [(edited, 2), (rotated, count / 2), (Array(old.reversed()), count - 1)] {
      let change = Changeset(from: old, to: new)
      #expect(change.moves.count == moves)
      #expect(change.applying(to: old, with: new) == new)
    }
    #expect(Changeset(from: old, to: old.map { $0 + count }).changeCount == 2 * count)
  }
}
