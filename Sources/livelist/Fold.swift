import FileSources

/// A list that events are applied to, one after the other.
struct Fold {
  private(set) var elements: [JSONElement]?
  /// The revision of the last event; nil before the first.
  private var revision: Int?

  /// - Parameter elements: what the first event changes; nil where it has to be an initial.
  init(_ elements: [JSONElement]?) {
    self.elements = elements
  }

  /// Applies an event, or throws and leaves the list as it was.
  mutating func apply(_ event: ReadEvent) throws(EventFault) {
    switch event {
    case .status: return
    case .initial(let revision, let elements):
      guard self.revision == nil else {
        throw EventFault("an initial stands behind another event; it comes once, and first")
      }
      self.elements = elements
      self.revision = revision
    case .change(let change):
      guard let elements else {
        throw EventFault(
          "the first event is no initial; say what it changes, by livelist apply OLD")
      }
      if let revision, change.since != revision {
        throw EventFault(
          "its since is \(change.since), and the event before has revision \(revision); "
            + "events are missing, or in another order")
      }
      let result = try Fold.apply(change, to: elements)
      self.elements = result
      revision = change.revision
    }
  }

  /// Deletions and origins of moves go, insertions and destinations of moves come, then updates are
  /// written where their elements are by now.
  private static func apply(
    _ change: ReadChange, to old: [JSONElement]
  ) throws(EventFault) -> [JSONElement] {
    let isInPlace = change.deletes.isEmpty && change.inserts.isEmpty && change.moves.isEmpty
    let origins = isInPlace ? nil : try origins(of: change, old)
    var result =
      origins.map { origins in
        var inserts = change.inserts.makeIterator()
        return origins.compactMap { $0 < 0 ? inserts.next()?.element : old[$0] }
      } ?? old
    try checkAscending(change.updates.map(\.to), "updates")
    for update in change.updates {
      try check(update.from, old.count, "an update is from")
      try check(update.to, result.count, "an update is at")
      let origin = origins?[update.to] ?? update.to
      guard origin == update.from else {
        throw EventFault(
          "an update is from \(update.from) at \(update.to), but what comes to \(update.to) "
            + (origin < 0 ? "is inserted" : "was at \(origin)"))
      }
      try check(update.old, is: old[update.from], at: update.from, "the old of an update")
      result[update.to] = update.new
    }
    return result
  }

  private static let isInserted = -1
  private static let isFree = -2

  /// For each new offset the old one; -1 for insertions.
  private static func origins(
    of change: ReadChange, _ old: [JSONElement]
  ) throws(EventFault) -> [Int] {
    try checkAscending(change.deletes.map(\.offset), "deletes")
    try checkAscending(change.inserts.map(\.offset), "inserts")
    try checkAscending(change.moves.map(\.to), "moves")
    var isTaken = Array(repeating: false, count: old.count)
    for delete in change.deletes {
      try check(delete.offset, old.count, "a delete is at")
      try check(delete.element, is: old[delete.offset], at: delete.offset, "a deleted element")
      isTaken[delete.offset] = true
    }
    let count = old.count - change.deletes.count + change.inserts.count
    var origins = Array(repeating: isFree, count: count)
    for insert in change.inserts {
      try check(insert.offset, count, "an insert is at")
      origins[insert.offset] = isInserted
    }
    for move in change.moves {
      try check(move.from, old.count, "a move is from")
      try check(move.to, count, "a move is to")
      guard !isTaken[move.from], origins[move.to] == isFree else {
        throw EventFault(
          "a move from \(move.from) to \(move.to) meets another move, a delete or an insert")
      }
      isTaken[move.from] = true
      origins[move.to] = move.from
    }
    // As many are left as there is room for.
    var next = 0
    for offset in origins.indices where origins[offset] == isFree {
      while isTaken[next] { next += 1 }
      origins[offset] = next
      next += 1
    }
    return origins
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
