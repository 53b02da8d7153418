import DataSourceTesting
import Diffing
import TestTags
import Testing

@Suite("A changeset of a known pairing")
struct PairingTests {
  @Test(.reaches(.changes), arguments: 0..<60)
  func `a changeset has the given pairing and minimal moves`(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    // Few segments, many, and single elements: each is searched in another way.
    let segment = [40, 4, 1][Int(seed % 3)]
    let oldCount = 600
    var blocks = stride(from: 0, to: oldCount, by: segment).map { Array($0..<$0 + segment) }
    blocks.shuffle(using: &generator)
    var origins = blocks.flatMap { $0 }
    for _ in 0..<20 {
      origins.remove(at: .random(in: 0..<origins.count, using: &generator))
      origins.insert(-1, at: .random(in: 0...origins.count, using: &generator))
    }
    let updated = Set((0..<50).map { _ in Int.random(in: 0..<oldCount, using: &generator) })
    var asked: [Int] = []
    let change = Changeset(origins: origins, oldCount: oldCount) { old, new in
      #expect(origins[new] == old)
      asked.append(new)
      return updated.contains(old)
    }
    #expect(asked == origins.indices.filter { origins[$0] >= 0 })
    #expect(change.invariantViolation(oldCount: oldCount, newCount: origins.count) == nil)
    #expect(change.origins(oldCount: oldCount) == origins)
    Coverage.note(change)
    #expect(Set(change.updates.map(\.from)) == updated.intersection(origins))
    let kept = origins.filter { $0 >= 0 }
    #expect(change.moves.count == kept.count - longestIncreasingLengthOfMany(of: kept))
  }

  @Test
  func `moves are minimal for all arrangements of 6 elements`() {
    func visit(_ origins: [Int], rest: [Int]) {
      if rest.isEmpty {
        let change = Changeset(origins: origins, oldCount: 6) { _, _ in false }
        if change.moves.count != 6 - longestIncreasingLength(of: origins)
          || change.origins(oldCount: 6) != origins
          || Patch(change, from: 0..<6, to: origins).applying(to: 0..<6) != origins
        {
          Issue.record("\(origins): \(change)")
        }
      }
      for position in rest.indices {
        var rest = rest
        let next = rest.remove(at: position)
        visit(origins + [next], rest: rest)
      }
    }
    visit([], rest: Array(0..<6))
  }

  @Test
  func `of minimal choices, updated elements move, and then those at other offsets`() {
    /// Calls a closure with all arrangements of some of 5 old offsets, and up to one inserted element.
    func visit(_ origins: [Int], rest: [Int], _ body: ([Int]) -> Void) {
      body(origins)
      for position in rest.indices {
        var rest = rest
        let next = rest.remove(at: position)
        visit(origins + [next], rest: rest, body)
      }
    }
    visit([], rest: [0, 1, 2, 3, 4, -1]) { origins in
      for updated in origins {
        let best = fewestMoves(origins, updated: updated)
        let new = origins.map {
          Item(id: $0 < 0 ? 9 : UInt8($0), content: $0 >= 0 && $0 == updated ? 1 : 0)
        }
        let difference = Changeset(from: (0..<5).map { Item(id: $0, content: 0) }, to: new)
        let paired = Changeset(origins: origins, oldCount: 5) { old, _ in old == updated }
        let all = Changeset(
          deletions: difference.deletions, insertions: difference.insertions,
          moves: origins.enumerated().filter { $0.element >= 0 }.map {
            .init(from: $0.element, to: $0.offset)
          }, updates: difference.updates)
        for change in [difference, paired, all.withLeastMoves] {
          let moves = change.moves.filter { move in origins[move.to] != updated }
          let found = [
            change.moves.count, moves.count, change.moves.count { $0.from == $0.to },
          ]
          if found[0] != best[0] || found[1] != best[1] && change != all.withLeastMoves
            || found[1] == best[1] && found[2] != best[2]
          {
            Issue.record("\(origins), \(updated): \(change), but best is \(best)")
          }
        }
      }
    }
  }

  /// The least numbers of moves, of moves that are no updates, and of moves between equal offsets.
  private func fewestMoves(_ origins: [Int], updated: Int) -> [Int] {
    let kept = origins.indices.filter { origins[$0] >= 0 }
    var best: [Int] = []
    for choice in 0..<1 << kept.count {
      let (stay, move) = (
        kept.enumerated().filter { choice >> $0.offset & 1 == 1 }.map(\.element),
        kept.enumerated().filter { choice >> $0.offset & 1 == 0 }.map(\.element)
      )
      guard zip(stay, stay.dropFirst()).allSatisfy({ origins[$0] < origins[$1] }) else { continue }
      let numbers = [
        move.count, move.count { origins[$0] != updated }, move.count { origins[$0] == $0 },
      ]
      if best.isEmpty || numbers.lexicographicallyPrecedes(best) { best = numbers }
    }
    return best
  }

  @Test(arguments: [64, 65, 100, 101])
  func `a reversal moves no element of equal offsets, unless others are updated`(count: Int) {
    let old = (0..<UInt8(count)).map { Item(id: $0, content: 0) }
    #expect(!Changeset(from: old, to: old.reversed()).moves.contains { $0.from == $0.to })
    for updated in [0, 5, count / 2, count - 1] {
      var new = Array(old.reversed())
      new[updated] = Item(id: new[updated].id, content: 1)
      let moves = Changeset(from: old, to: new).moves
      #expect(moves.count == count - 1 && moves.contains { $0.to == updated })
      let isMiddle = updated == count / 2 && !count.isMultiple(of: 2)
      #expect(moves.contains { $0.from == $0.to } == isMiddle)
    }
    let changed = old.reversed().map { Item(id: $0.id, content: 1) }
    #expect(Changeset(from: old, to: changed).moves.count == count - 1)
  }

  private func normalForm(of change: Changeset, from old: [Item], to new: [Item]) -> Changeset {
    change.normalForm(from: old, to: new)
  }

  @Test func `the normal form pairs equal identities and drops idle updates`() {
    let a = Item(id: 0, content: 0)
    let b = Item(id: 1, content: 0)
    let c = Item(id: 2, content: 0)
    // Taken out and put in again elsewhere.
    let moved = Changeset(deletions: [0], insertions: [2])
    #expect(
      normalForm(of: moved, from: [a, b, c], to: [b, c, a])
        == Changeset(moves: [.init(from: 0, to: 2)]))
    // Replaced by another content of the same identity.
    let replaced = Changeset(deletions: [1], insertions: [1])
    #expect(
      normalForm(of: replaced, from: [a, b, c], to: [a, Item(id: 1, content: 1), c])
        == Changeset(updates: [.init(from: 1, to: 1)]))
    #expect(normalForm(of: replaced, from: [a, b, c], to: [a, b, c]) == .empty)
    // Written with equal content.
    let written = Changeset(updates: [.init(from: 0, to: 0), .init(from: 1, to: 1)])
    #expect(
      normalForm(of: written, from: [a, b], to: [a, Item(id: 1, content: 1)])
        == Changeset(updates: [.init(from: 1, to: 1)]))
    // Nothing in common: as recorded.
    let unrelated = Changeset(deletions: [0], insertions: [0])
    #expect(normalForm(of: unrelated, from: [a], to: [b]) == unrelated)
    // By turns: the first deleted with the first inserted.
    let twice = Changeset(deletions: [0, 1], insertions: [0])
    #expect(normalForm(of: twice, from: [a, a], to: [a]) == Changeset(deletions: [1]))
  }

  @Test(.reaches(.changes), arguments: 0..<200)
  func `the normal form of recorded edits follows all rules`(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    func random() -> Item {
      Item(
        id: .random(in: 0..<8, using: &generator), content: .random(in: 0..<2, using: &generator))
    }
    let old = (0..<Int.random(in: 0..<12, using: &generator)).map { _ in random() }
    var new = old
    var origins = Array(old.indices)
    var touched: Set<Int> = []
    for _ in 0..<Int.random(in: 0..<10, using: &generator) {
      switch Int.random(in: 0..<4, using: &generator) {
      case 0:
        let offset = Int.random(in: 0...new.count, using: &generator)
        new.insert(random(), at: offset)
        origins.insert(-1, at: offset)
      case 1 where !new.isEmpty:
        let offset = Int.random(in: 0..<new.count, using: &generator)
        new.remove(at: offset)
        origins.remove(at: offset)
      case 2 where !new.isEmpty:
        let source = Int.random(in: 0..<new.count, using: &generator)
        let destination = Int.random(in: 0..<new.count, using: &generator)
        new.insert(new.remove(at: source), at: destination)
        origins.insert(origins.remove(at: source), at: destination)
      case 3 where !new.isEmpty:
        let offset = Int.random(in: 0..<new.count, using: &generator)
        new[offset] = Item(
          id: new[offset].id, content: .random(in: 0..<2, using: &generator))
        touched.insert(origins[offset])
      default: break
      }
    }
    let change = Changeset(origins: origins, oldCount: old.count) { old, _ in
      touched.contains(old)
    }.normalForm(from: old, to: new)
    #expect(violation(of: change, from: old, to: new) == nil, "seed \(seed)")
    let deleted = Set(change.deletions.map { old[$0].id })
    #expect(deleted.isDisjoint(with: change.insertions.map { new[$0].id }), "seed \(seed)")
    // What was paired by the edits stays paired.
    let paired = change.origins(oldCount: old.count)
    for (new, old) in origins.enumerated() where old >= 0 { #expect(paired[new] == old) }
  }
}
