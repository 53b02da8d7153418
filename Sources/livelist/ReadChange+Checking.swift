import Diffing
import FileSources

extension ReadChange {
  /// The change in the framework's own terms, and the elements that it brings.
  struct Checked {
    let changeset: Changeset
    let inserted: [JSONElement]
    let updated: [JSONElement]
  }

  /// Holds the change against what it changes: offsets, and the elements that it says are there.
  ///
  /// - Complexity: O(k log k) for k operations, and k readings of `old`.
  func checked(
    against old: some RandomAccessCollection<JSONElement>
  ) throws(EventFault) -> Checked {
    try Self.checkAscending(deletes.map(\.offset), "deletes")
    try Self.checkAscending(inserts.map(\.offset), "inserts")
    try Self.checkAscending(moves.map(\.to), "moves")
    for delete in deletes {
      try Self.check(delete.offset, old.count, "a delete is at")
      try Self.check(
        delete.element, is: old[at: delete.offset], at: delete.offset, "a deleted element")
    }
    let count = old.count - deletes.count + inserts.count
    for insert in inserts { try Self.check(insert.offset, count, "an insert is at") }
    try checkMoves(oldCount: old.count, newCount: count)
    let order = Changeset(
      deletions: deletes.map(\.offset), insertions: inserts.map(\.offset),
      moves: moves.map { Changeset.Move(from: $0.from, to: $0.to) })
    try checkUpdates(order, old, newCount: count)
    return Checked(
      changeset: Changeset(
        deletions: order.deletions, insertions: order.insertions, moves: order.moves,
        updates: updates.map { Changeset.Update(from: $0.from, to: $0.to) }),
      inserted: inserts.map(\.element), updated: updates.map(\.new))
  }

  private func checkMoves(oldCount: Int, newCount: Int) throws(EventFault) {
    var departures = Set(deletes.map(\.offset))
    var arrivals = Set(inserts.map(\.offset))
    for move in moves {
      try Self.check(move.from, oldCount, "a move is from")
      try Self.check(move.to, newCount, "a move is to")
      guard departures.insert(move.from).inserted, arrivals.insert(move.to).inserted else {
        throw EventFault(
          "a move from \(move.from) to \(move.to) meets another move, a delete or an insert")
      }
    }
  }

  private func checkUpdates(
    _ order: Changeset, _ old: some RandomAccessCollection<JSONElement>, newCount: Int
  ) throws(EventFault) {
    try Self.checkAscending(updates.map(\.to), "updates")
    let origins = OffsetMap(order.inverse)
    for update in updates {
      try Self.check(update.from, old.count, "an update is from")
      try Self.check(update.to, newCount, "an update is at")
      let origin = origins[update.to]
      guard origin == update.from else {
        throw EventFault(
          "an update is from \(update.from) at \(update.to), but what comes to \(update.to) "
            + (origin.map { "was at \($0)" } ?? "is inserted"))
      }
      try Self.check(update.old, is: old[at: update.from], at: update.from, "the old of an update")
    }
  }

  private static func check(_ offset: Int, _ count: Int, _ what: String) throws(EventFault) {
    guard offset < count else {
      throw EventFault("\(what) \(offset), where there are \(count) elements")
    }
  }

  private static func check(
    _ claimed: JSONElement, is present: JSONElement, at offset: Int, _ what: String
  ) throws(EventFault) {
    guard claimed == present else {
      throw EventFault(
        "\(what) at \(offset) is not what is there: \(short(claimed)), not \(short(present))")
    }
  }

  private static func checkAscending(_ offsets: [Int], _ what: String) throws(EventFault) {
    for (one, next) in zip(offsets, offsets.dropFirst()) where one >= next {
      throw EventFault("the offsets \(one) and \(next) of its \(what) do not ascend")
    }
  }

  private static func short(_ element: JSONElement) -> String {
    let text = element.description
    return text.count > 60 ? text.prefix(60) + "…" : text
  }
}

extension RandomAccessCollection {
  fileprivate subscript(at offset: Int) -> Element { self[index(startIndex, offsetBy: offset)] }
}
