import Diffing
import Testing

// Each conforms by one empty extension, from outside the module that declares the protocol.

private struct Row: Identifiable, Hashable {
  let id: Int
  var name: String
}
extension Row: Differentiable {}

private struct Reading: Identifiable, Equatable {
  let id: String
  var value: Double
}
extension Reading: Differentiable {}

private struct Point: Hashable {
  var x: Int
  var y: Int
}
extension Point: Differentiable {}

private enum Suit: CaseIterable {
  case clubs, hearts
}
extension Suit: Differentiable {}

private enum Level: String {
  case low, high
}
extension Level: Differentiable {}

private enum Entry: Identifiable, Equatable {
  case heading(String)
  case row(Int, String)

  var id: Int {
    switch self {
    case .heading: -1
    case .row(let id, _): id
    }
  }
}
extension Entry: Differentiable {}

private final class Node: Identifiable, Equatable {
  let name: String

  init(name: String) {
    self.name = name
  }

  static func == (lhs: Node, rhs: Node) -> Bool { lhs.name == rhs.name }
}
extension Node: Differentiable {}

private final class Account: Identifiable, Hashable, Sendable {
  let id: Int
  let owner: String

  init(id: Int, owner: String) {
    self.id = id
    self.owner = owner
  }

  static func == (lhs: Account, rhs: Account) -> Bool {
    lhs.id == rhs.id && lhs.owner == rhs.owner
  }

  func hash(into hasher: inout Hasher) { hasher.combine(id) }
}
extension Account: Differentiable {}

private struct Box<Value: Equatable>: Identifiable, Equatable {
  let id: Int
  var value: Value
}
extension Box: Differentiable {}

private struct Pair<First, Second> {
  var first: First
  var second: Second
}
extension Pair: Equatable where First: Equatable, Second: Equatable {}
extension Pair: Hashable where First: Hashable, Second: Hashable {}
extension Pair: Differentiable where First: Hashable, Second: Hashable {}

private struct Tagged<Tag: Hashable, Value: Hashable>: Identifiable, Hashable {
  let id: Tag
  var value: Value
}
extension Tagged: Differentiable {}

// Identity and content of its own, though both have defaults.
private struct Custom: Identifiable, Hashable, Differentiable {
  let id: Int
  var key: String
  var note: String

  var differenceIdentifier: String { key }

  func isContentEqual(to source: Custom) -> Bool { note == source.note }
}

// Identity of its own, content by default.
private struct Keyed: Equatable, Differentiable {
  let key: Int
  var note: String

  var differenceIdentifier: Int { key }
}

@Suite("A type that conforms by an empty extension")
struct ConformanceTests {
  @Test func `an identifiable type is identified by its id and compared using ==`() {
    #expect(Row(id: 1, name: "a").differenceIdentifier == 1)
    #expect(!Row(id: 1, name: "a").isContentEqual(to: Row(id: 1, name: "b")))
    #expect(Reading(id: "a", value: 1).differenceIdentifier == "a")
    #expect(!Reading(id: "a", value: 1).isContentEqual(to: Reading(id: "a", value: 2)))
    #expect(Entry.row(3, "a").differenceIdentifier == 3)
    #expect(Account(id: 4, owner: "a").differenceIdentifier == 4)
    #expect(Box(id: 5, value: "a").differenceIdentifier == 5)
    #expect(Tagged(id: "t", value: 6).differenceIdentifier == "t")
  }

  @Test func `an identifiable type is identified by its id in generic code`() {
    func identifier<T: Differentiable>(of value: T) -> T.DifferenceIdentifier {
      value.differenceIdentifier
    }
    #expect(identifier(of: Row(id: 1, name: "a")) == 1)
    #expect(identifier(of: Account(id: 4, owner: "a")) == 4)
    #expect(identifier(of: Tagged(id: "t", value: 6)) == "t")
    #expect(identifier(of: Custom(id: 1, key: "k", note: "")) == "k")
  }

  @Test func `a hashable type without an id is its own identity`() {
    #expect(Point(x: 1, y: 2).differenceIdentifier == Point(x: 1, y: 2))
    #expect(Suit.clubs.differenceIdentifier == .clubs)
    #expect(Level.low.differenceIdentifier == .low)
    #expect(Pair(first: 1, second: "a").differenceIdentifier == Pair(first: 1, second: "a"))
  }

  @Test func `a type can define its identity and content`() {
    let old = Custom(id: 1, key: "k", note: "n")
    #expect(Changeset(from: [old], to: [Custom(id: 2, key: "k", note: "n")]).isEmpty)
    #expect(
      Changeset(from: [Keyed(key: 1, note: "a")], to: [Keyed(key: 1, note: "b")])
        == Changeset(updates: [.init(from: 0, to: 0)]))
  }

  @Test func `elements are recognized, moved and updated`() {
    #expect(
      Changeset(
        from: [Row(id: 1, name: "a"), Row(id: 2, name: "b"), Row(id: 3, name: "c")],
        to: [Row(id: 3, name: "d"), Row(id: 1, name: "a"), Row(id: 2, name: "b")])
        == Changeset(moves: [.init(from: 2, to: 0)], updates: [.init(from: 2, to: 0)]))
    let node = Node(name: "a")
    #expect(Changeset(from: [node, Node(name: "b")], to: [node]) == Changeset(deletions: [1]))
    #expect(
      Changeset(from: [Node(name: "a")], to: [Node(name: "a")])
        == Changeset(deletions: [0], insertions: [0]))
    let accounts = (0..<3).map { Account(id: $0, owner: "a") }
    #expect(Changeset(from: accounts, to: (0..<3).map { Account(id: $0, owner: "a") }).isEmpty)
    #expect(
      Changeset(from: accounts, to: [accounts[0], Account(id: 1, owner: "b"), accounts[2]])
        == Changeset(updates: [.init(from: 1, to: 1)]))
  }
}

@Suite("A standard type")
struct StandardTypeTests {
  private func check<Element: Differentiable & Equatable>(_ elements: Element...) {
    #expect(violation(from: elements, to: elements.reversed()) == nil)
    #expect(Changeset(from: elements, to: elements.map { $0 }).isEmpty)
  }

  @Test func `standard types conform to Differentiable`() {
    check("a", "b", "é")
    check("a"[...], "b"[...])
    check(Character("a"), Character("b"))
    check(Unicode.Scalar(1), Unicode.Scalar(2))
    check(true, false)
    check(1, 2, 3)
    check(Int8(1), 2)
    check(Int16(1), 2)
    check(Int32(1), 2)
    check(Int64(1), 2)
    check(Int128(1), 2)
    check(UInt(1), 2)
    check(UInt8(1), 2)
    check(UInt16(1), 2)
    check(UInt32(1), 2)
    check(UInt64(1), 2)
    check(UInt128(1), 2)
    check(1.5, 2.5)
    check(Float(1.5), 2.5)
    check(Duration.seconds(1), .seconds(2))
    check(ObjectIdentifier(Node.self), ObjectIdentifier(Account.self))
    check(Int?.some(1), nil, 2)
    check([1, 2], [], [2, 1])
    check([1, 2][...], [])
    check(ContiguousArray([1, 2]), [])
    check([1, 2] as Set, [])
    check(["a": 1], [:])
    check(0..<1, 0..<2)
    check(0...1, 0...2)
  }

  @Test func `optionals and collections have the identity and the content of their elements`() {
    let old: [Row?] = [Row(id: 1, name: "a"), nil]
    let new: [Row?] = [nil, Row(id: 1, name: "b")]
    let change = Changeset(from: old, to: new)
    #expect(change.moves.count == 1)
    #expect(change.updates == [.init(from: 0, to: 1)])
    #expect(
      Changeset(from: [[Row(id: 1, name: "a")], []], to: [[Row(id: 1, name: "b")], []])
        == Changeset(updates: [.init(from: 0, to: 0)]))
    #expect(
      Changeset(from: [[Row(id: 1, name: "a")]], to: [[Row(id: 2, name: "a")]])
        == Changeset(deletions: [0], insertions: [0]))
  }

  @Test func `the identity of a floating-point number is an equivalence relation`() {
    let silent = Double.nan
    let other = Double(nan: 5, signaling: false)
    #expect(silent.differenceIdentifier == silent.differenceIdentifier)
    #expect(silent.differenceIdentifier != other.differenceIdentifier)
    #expect(silent.isContentEqual(to: silent))
    #expect((0.0).differenceIdentifier == (-0.0).differenceIdentifier)
    #expect((0.0).differenceIdentifier.hashValue == (-0.0).differenceIdentifier.hashValue)
    #expect((0.0).isContentEqual(to: -0.0))
    #expect("\((1.5).differenceIdentifier)" == "1.5")
    #expect(Float.nan.differenceIdentifier == Float.nan.differenceIdentifier)
    #expect(Float(0).differenceIdentifier == Float(-0.0).differenceIdentifier)
    #expect(Changeset(from: [0.0, .nan, 1], to: [-0.0, .nan, 1]).isEmpty)
    #expect(Changeset(from: [.nan, 1, 2.0], to: [1, 2, .nan]).moves == [.init(from: 0, to: 2)])
  }
}
