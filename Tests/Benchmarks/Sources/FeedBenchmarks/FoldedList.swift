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
  static nonisolated(unsafe) private(set) var foldCount = 0

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
    guard let list = changed(by: Array(line)) else { return nil }
    Self.foldCount += 1
    if successors.count == 4 { successors.removeFirst() }
    successors.append((Array(line), list))
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
    func list(_ name: String) -> [JSONElement] { (try? event[name]?.items()) ?? [] }
    func offset(_ element: JSONElement, _ name: String) -> Int { element[name]?.integer ?? -1 }
    let moves = list("moves").map { (from: offset($0, "from"), to: offset($0, "to")) }
    let deletes = list("deletes").map { offset($0, "at") }
    let arrivals =
      list("inserts").map { (offset($0, "at"), Self.digest($0["element"])) }
      + moves.map { ($0.to, elements[$0.from]) }
    var new = elements
    for offset in (deletes + moves.map(\.from)).sorted(by: >) { new.remove(at: offset) }
    for (offset, element) in arrivals.sorted(by: { $0.0 < $1.0 }) { new.insert(element, at: offset) }
    for update in list("updates") {
      guard elements[offset(update, "from")] == Self.digest(update["old"]) else { return nil }
      new[offset(update, "at")] = Self.digest(update["element"])
    }
    return FoldedList(revision: newRevision, token: token, elements: new)
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
