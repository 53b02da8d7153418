import Foundation
import Swappable

/// The contents of a list that readers have, as a digest of each element.
///
/// Readers with the same contents share them, and each line is applied to them once.
final class FoldedList {
  let revision: Int
  let token: String
  let elements: [Int32]
  private var successors: [(line: [UInt8], list: FoldedList)] = []
  // Only the thread that reads all sockets folds lines.
  static nonisolated(unsafe) private(set) var foldCount = 0
  static nonisolated(unsafe) private var lists: [String: WeakList] = [:]

  private struct WeakList {
    weak let list: FoldedList?
  }

  private init(revision: Int, token: String, elements: [Int32]) {
    (self.revision, self.token, self.elements) = (revision, token, elements)
  }

  /// Creates the contents of an `initial` line.
  convenience init?(initial line: UnsafeRawBufferPointer) {
    guard let event = try? JSONElement(parsing: Array(line)), event["event"]?.string == "initial",
      let revision = event["revision"]?.integer, let token = event["token"]?.string,
      let items = try? event["elements"]?.items()
    else { return nil }
    self.init(revision: revision, token: token, elements: items.map { Self.digest($0) })
  }

  /// Returns the contents after a `change` line, or `nil` if the line does not fit.
  func applying(_ line: UnsafeRawBufferPointer) -> FoldedList? {
    for known in successors {
      if known.line.withUnsafeBytes({ Self.areEqual($0, line) }) { return known.list }
    }
    guard let list = changed(by: Array(line)).map({ Self.shared($0) }) else { return nil }
    Self.foldCount += 1
    if successors.count == 4 { successors.removeFirst() }
    successors.append((Array(line), list))
    return list
  }

  /// Returns equal contents that other readers have, to which further lines may have been applied already.
  private static func shared(_ list: FoldedList) -> FoldedList {
    if let known = lists[list.token]?.list, known.elements == list.elements { return known }
    if lists.count > 1_000 { lists = lists.filter { $0.value.list != nil } }
    lists[list.token] = WeakList(list: list)
    return list
  }

  /// Forgets what follows, so that contents without readers are released.
  func forgetSuccessors() { successors = [] }

  private func changed(by line: [UInt8]) -> FoldedList? {
    guard let members = (try? JSONElement(parsing: line))?.members else { return nil }
    let event = Dictionary(uniqueKeysWithValues: members)
    guard event["since"]?.integer == revision, let newRevision = event["revision"]?.integer,
      let token = event["token"]?.string
    else { return nil }
    func list(_ name: String) -> [[String: JSONElement]] {
      let items = (try? event[name]?.items()) ?? []
      return items.map { Dictionary(uniqueKeysWithValues: $0.members ?? []) }
    }
    func offset(_ item: [String: JSONElement], _ name: String) -> Int { item[name]?.integer ?? -1 }
    let moves = list("moves").map { (from: offset($0, "from"), to: offset($0, "to")) }
    let updates = list("updates")
    for update in updates {
      guard elements[offset(update, "from")] == Self.digest(update["old"]) else { return nil }
    }
    var new = replacing(
      list("deletes").map { offset($0, "at") } + moves.map(\.from),
      with: list("inserts").map { (offset($0, "at"), Self.digest($0["element"])) }
        + moves.map { ($0.to, elements[$0.from]) })
    for update in updates { new[offset(update, "at")] = Self.digest(update["element"]) }
    return FoldedList(revision: newRevision, token: token, elements: new)
  }

  /// Returns the elements without those at some offsets, and with others at offsets in the result.
  private func replacing(_ removals: [Int], with arrivals: [(Int, Int32)]) -> [Int32] {
    if removals.isEmpty, arrivals.isEmpty { return elements }
    let removed = Set(removals)
    var arrivals = arrivals.sorted { $0.0 > $1.0 }
    var new: [Int32] = []
    new.reserveCapacity(elements.count + arrivals.count)
    for (offset, element) in elements.enumerated() where !removed.contains(offset) {
      while let arrival = arrivals.last, arrival.0 == new.count {
        new.append(arrival.1)
        arrivals.removeLast()
      }
      new.append(element)
    }
    for arrival in arrivals.reversed() { new.append(arrival.1) }
    return new
  }

  private static func areEqual(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer)
    -> Bool
  {
    guard let start = one.baseAddress, let otherStart = other.baseAddress else { return false }
    return one.count == other.count && memcmp(start, otherStart, one.count) == 0
  }

  private static func digest(_ element: JSONElement?) -> Int32 {
    var hasher = Hasher()
    (element?.utf8 ?? []).withUnsafeBytes { hasher.combine(bytes: $0) }
    return Int32(truncatingIfNeeded: hasher.finalize())
  }
}
