import DataSourceTesting
import Diffing
import Synchronizers
import TestSupport
import TestTags
import Testing

/// Copies of a list that are merged in pairs, each pair with a base of its own.
@Suite struct MergeTopologyTests {
  private struct Copies {
    var lists: [[Letter]]
    private var links: [(mine: Int, theirs: Int, base: [Letter])]

    init(_ count: Int, of list: [Letter], linked pairs: [(Int, Int)]) {
      lists = Array(repeating: list, count: count)
      links = pairs.map { ($0.0, $0.1, list) }
    }

    /// Merges a pair. Returns a Boolean value that indicates whether a list has changed.
    mutating func merge(_ link: Int) -> Bool {
      let (mine, theirs, base) = links[link]
      let merged = ThreeWayMerge(base: base, mine: lists[mine], theirs: lists[theirs]).merged
      let isChanged = lists[mine] != merged || lists[theirs] != merged
      (lists[mine], lists[theirs], links[link].base) = (merged, merged, merged)
      return isChanged
    }

    /// Merges all pairs, in turn. Returns a Boolean value that indicates whether a list has changed.
    mutating func changeAll() -> Bool {
      var isChanged = false
      for link in links.indices { isChanged = merge(link) || isChanged }
      return isChanged
    }

    /// The lists and the bases, which decide what happens next.
    var state: [[Letter]] { lists + links.map(\.base) }
  }

  private static func edited(_ list: [Letter], _ random: inout SeededGenerator) -> [Letter] {
    var list = list
    for _ in 0..<random.below(5) {
      switch random.below(4) {
      case 0 where !list.isEmpty: list.remove(at: random.below(list.count))
      case 1 where !list.isEmpty:
        list.insert(list.remove(at: random.below(list.count)), at: random.below(list.count + 1))
      case 2 where !list.isEmpty:
        let offset = random.below(list.count)
        list[offset] = Letter.list("\(list[offset].key)\(1 + random.below(9))")[0]
      default:
        let name = Character(UnicodeScalar(UInt8(ascii: "A") + UInt8(random.below(20))))
        guard !list.contains(where: { $0.key == name }) else { continue }
        list.insert(Letter.list("\(name)")[0], at: random.below(list.count + 1))
      }
    }
    return list
  }

  @Test(.reaches(.changes), arguments: 0..<40 as Range<UInt64>)
  func `copies whose links are a tree become equal`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<20 {
      let count = 2 + random.below(6)
      var pairs = (1..<count).map { child in
        let parent = random.below(child)
        return random.oneIn(2) ? (child, parent) : (parent, child)
      }
      pairs.shuffle(using: &random)
      var copies = Copies(count, of: Letter.list("A B C D E F"), linked: pairs)
      for copy in 0..<count {
        let edited = Self.edited(copies.lists[copy], &random)
        Coverage.note(Changeset(from: copies.lists[copy], to: edited))
        copies.lists[copy] = edited
      }
      var turns = 0
      while turns <= 2 * count, copies.changeAll() { turns += 1 }
      #expect(turns <= 2 * count, "seed \(seed), links \(pairs)")
      #expect(Set(copies.lists).count == 1, "seed \(seed), links \(pairs)")
    }
  }

  @Test(arguments: [
    // The order goes round, with equal elements.
    ["A B D7 E C F", "A B C E D F", "A C B D E F"],
    // An edit goes round.
    ["A1", "A2", "A3"],
  ])
  func `three copies in a ring may never become equal`(lists: [String]) {
    let base = lists[0].count > 2 ? "A B C D E F" : "A"
    var copies = Copies(3, of: Letter.list(base), linked: [(0, 1), (1, 2), (2, 0)])
    copies.lists = lists.map { Letter.list($0) }
    var seen: Set<[[Letter]]> = []
    while copies.changeAll(), seen.insert(copies.state).inserted {}
    // The copies are in a state in which they were before, and still change.
    let isChanged = copies.changeAll()
    #expect(isChanged)
    #expect(Set(copies.lists).count > 1)
  }
}
