import DataSourceTesting
import Diffing
import Foundation
import TestSupport

/// All pairings of old with new offsets: for each new offset the old one, or -1.
func allOrigins(oldCount: Int, newCount: Int) -> [[Int]] {
  var result: [[Int]] = [[]]
  for _ in 0..<newCount {
    result = result.flatMap { origins in
      (-1..<oldCount).filter { $0 < 0 || !origins.contains($0) }.map { origins + [$0] }
    }
  }
  return result
}

/// Returns all changes between two numbers of elements, with all choices of updates.
func allChanges(oldCount: Int, newCount: Int, updated: Bool = true) -> [Changeset] {
  allOrigins(oldCount: oldCount, newCount: newCount).flatMap { origins in
    let kept = updated ? origins.count { $0 >= 0 } : 0
    return (0..<1 << kept).map { subset in
      var position = -1
      return Changeset(origins: origins, oldCount: oldCount) { _, _ in
        position += 1
        return subset & (1 << position) != 0
      }
    }
  }
}

/// A change with the numbers of elements that it is between.
struct CountedChange {
  var change: Changeset
  var oldCount: Int
  var newCount: Int { oldCount + change.countChange }

  /// Any change, of a few operations or of many.
  static func random(
    oldCount: Int, upTo count: Int, using generator: inout SeededGenerator
  ) -> CountedChange {
    var origins = Array(0..<oldCount)
    let most = [1, 4, count].randomElement(using: &generator) ?? 1
    for _ in 0..<Int.random(in: 0...most, using: &generator) {
      switch Int.random(in: 0..<4, using: &generator) {
      case 0: origins.insert(-1, at: .random(in: 0...origins.count, using: &generator))
      case 1 where !origins.isEmpty:
        origins.remove(at: .random(in: 0..<origins.count, using: &generator))
      case 2 where !origins.isEmpty:
        // A segment of them at a time.
        let start = Int.random(in: 0..<origins.count, using: &generator)
        let end = Int.random(in: start..<min(start + 5, origins.count), using: &generator) + 1
        let taken = Array(origins[start..<end])
        origins.removeSubrange(start..<end)
        origins.insert(
          contentsOf: taken, at: .random(in: 0...origins.count, using: &generator))
      default: break
      }
    }
    let rate = Int.random(in: 1..<10, using: &generator)
    let change = Changeset(origins: origins, oldCount: oldCount) { _, _ in
      Int.random(in: 0..<rate, using: &generator) == 1
    }
    return CountedChange(change: change, oldCount: oldCount)
  }

  /// Returns the first error in the composition of this change and the next one, or `nil`.
  ///
  /// It follows each element through both changes.
  func violation(ofComposition composed: Changeset, with next: Changeset) -> String? {
    if let violation = composed.invariantViolation(
      oldCount: oldCount, newCount: newCount + next.countChange)
    {
      return violation
    }
    let first = change.origins(oldCount: oldCount)
    let second = next.origins(oldCount: newCount)
    let origins = second.map { $0 < 0 ? -1 : first[$0] }
    if composed.origins(oldCount: oldCount) != origins {
      return "it pairs \(composed.origins(oldCount: oldCount)) and not \(origins)"
    }
    let firstUpdates = Set(change.updates.map(\.to))
    let secondUpdates = Set(next.updates.map(\.to))
    let updates = origins.indices.filter {
      origins[$0] >= 0 && (firstUpdates.contains(second[$0]) || secondUpdates.contains($0))
    }.map { Changeset.Update(from: origins[$0], to: $0) }
    if composed.updates != updates { return "its updates are not \(updates)" }
    let kept = origins.filter { $0 >= 0 }
    let longest =
      kept.count < 6 ? longestIncreasingLength(of: kept) : longestIncreasingLengthOfMany(of: kept)
    if composed.moves.count != kept.count - longest {
      return "\(composed.moves.count) moves, where \(kept.count - longest) would do"
    }
    return nil
  }
}

/// A list that changes by edits of all kinds, each with the change that it was recorded as.
struct EditedList {
  private(set) var items: [Item]
  private let ids: Range<UInt8>?

  /// - Parameters:
  ///   - count: The number of elements to begin with.
  ///   - ids: The identities to choose from. By default, each identity is used once.
  init(count: Int, ids: Range<UInt8>?, using generator: inout SeededGenerator) {
    self.ids = ids
    items = []
    for _ in 0..<count { items.append(item(using: &generator)) }
  }

  private func item(using generator: inout SeededGenerator) -> Item {
    let content = UInt8.random(in: 0..<2, using: &generator)
    if let ids { return Item(id: .random(in: ids, using: &generator), content: content) }
    // Now and then one comes back.
    var id = generator.next() % 2 == 0 ? 0 : UInt8.random(in: 0...99, using: &generator)
    while items.contains(where: { $0.id == id }) { id += 1 }
    return Item(id: id, content: content)
  }

  /// Changes the list by an arbitrary pairing, which may keep less than a difference would.
  mutating func edit(using generator: inout SeededGenerator) -> Changeset {
    let old = items
    let random = CountedChange.random(oldCount: old.count, upTo: 12, using: &generator)
    let origins = random.change.origins(oldCount: old.count)
    items = origins.filter { $0 >= 0 }.map { old[$0] }
    // The identities of inserted elements depend on the kept elements.
    var new: [Item] = []
    for origin in origins {
      if origin >= 0 {
        let old = old[origin]
        let isUpdated = generator.next() % 4 == 0
        new.append(isUpdated ? Item(id: old.id, content: 1 - old.content) : old)
      } else {
        let item = item(using: &generator)
        items.append(item)
        new.append(item)
      }
    }
    items = new
    return Changeset(origins: origins, oldCount: old.count) { _, _ in true }
      .normalForm(from: old, to: new)
  }
}
