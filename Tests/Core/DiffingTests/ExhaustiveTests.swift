import Diffing
import Foundation
import TestSupport
import Testing

@Suite("The difference of all small lists")
struct ExhaustiveTests {
  @Test
  func `lists of up to 4 elements of 3 identities and 2 contents follow all rules`() async {
    // On threads of its own: it takes long, and other tests wait for the ones that tasks share.
    let parts = max(2, ProcessInfo.processInfo.activeProcessorCount)
    await withTaskGroup(of: String?.self) { group in
      for part in 0..<parts {
        group.addTask {
          await withCheckedContinuation { continuation in
            Thread.detachNewThread {
              continuation.resume(returning: Self.firstViolation(inPart: part, of: parts))
            }
          }
        }
      }
      for await violation in group {
        if let violation { Issue.record("\(violation)") }
      }
    }
  }

  /// Each part makes its own lists: counting references to shared ones would cost more than all else.
  private static func firstViolation(inPart part: Int, of parts: Int) -> String? {
    let cases = Case.all(upTo: 4)
    // An ordinary run takes one of five pairs.
    let share = TestRun.isLong ? 1 : 5
    for oldOffset in stride(from: part, to: cases.count, by: parts) {
      let old = cases[oldOffset]
      for newOffset in stride(from: oldOffset % share, to: cases.count, by: share) {
        let new = cases[newOffset]
        if let violation = check(old, new) { return "\(old.list) to \(new.list): \(violation)" }
      }
    }
    return nil
  }

  private static func check(_ old: Case, _ new: Case) -> String? {
    // Which identity is which makes no difference: of each six pairs that are the same but for their
    // names, one gets all checks. Short ones of the others are applied, because their hashes differ.
    let isNamedInOrder = old.isNamedInOrder(after: 0) && new.isNamedInOrder(after: old.nameCount)
    guard isNamedInOrder || old.list.count + new.list.count <= 6 else { return nil }
    let change = Changeset(from: old.list, to: new.list)
    if old.list.count - change.deletions.count != old.commonCount(with: new) {
      return "C8: \(change) keeps not as many as there are on both sides"
    }
    if isNamedInOrder { return violation(of: change, from: old.list, to: new.list) }
    if change.applying(to: old.list, with: new.list) != new.list {
      return "applied, \(change) does not lead to the new"
    }
    return nil
  }
}

/// A list with cached values that are used more than a thousand times.
private struct Case {
  let list: [Item]
  /// How often each identity occurs.
  let counts: (Int, Int, Int)
  /// How many of the identities 0, 1, 2 occur, if they first occur in that order.
  let nameCount: Int
  /// For each number of identities that are known already, whether all others first occur in order.
  let namedInOrder: [Bool]

  init(_ list: [Item]) {
    self.list = list
    func count(_ id: UInt8) -> Int { list.filter { $0.id == id }.count }
    counts = (count(0), count(1), count(2))
    nameCount = Int(list.map(\.id).max() ?? 0) + (list.isEmpty ? 0 : 1)
    namedInOrder = (0...3).map { known in
      var known = known
      for item in list {
        if item.id > known { return false }
        if item.id == known { known += 1 }
      }
      return true
    }
  }

  static func all(upTo count: Int) -> [Case] {
    let items = (0..<3).flatMap { id in (0..<2).map { Item(id: id, content: $0) } }
    return allLists(upTo: count, of: items).map(Case.init)
  }

  func isNamedInOrder(after known: Int) -> Bool { namedInOrder[known] }

  func commonCount(with other: Case) -> Int {
    min(counts.0, other.counts.0) + min(counts.1, other.counts.1) + min(counts.2, other.counts.2)
  }
}
