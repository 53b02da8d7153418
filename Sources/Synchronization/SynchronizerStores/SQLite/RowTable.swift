import Diffing
import Foundation
import ObservableCollections
import SQLiteSources

/// The rows of one list of a session. All methods run inside a transaction.
struct RowTable<Element: Codable & Differentiable & Sendable> {
  let connection: SQLiteConnection
  let session: Int64
  /// The number of the list: 0 for the client, 1 for the shadow.
  let list: Int

  private var table: String { SessionTables.elements }

  func insert(_ element: Element, rank: Int64, mark: StoredElement.Mark) throws -> StoredElement {
    let text = try encode(element)
    try connection.execute(
      "INSERT INTO \(table) (session, list, rank, mark, element) VALUES (?, ?, ?, ?, ?)",
      [session, list, rank, mark.rawValue, text])
    return StoredElement(
      id: connection.lastInsertRowID, rank: rank, mark: mark,
      check: StoredElement.check(rank: rank, element: text))
  }

  func update(_ row: StoredElement, _ element: Element, rank: Int64) throws -> StoredElement {
    let text = try encode(element)
    try connection.execute(
      "UPDATE \(table) SET rank = ?, element = ? WHERE id = ?", [rank, text, row.id])
    return StoredElement(
      id: row.id, rank: rank, mark: row.mark, check: StoredElement.check(rank: rank, element: text))
  }

  func delete(_ row: StoredElement) throws {
    try connection.execute("DELETE FROM \(table) WHERE id = ?", [row.id])
  }

  /// Removes a row from the newer version and keeps it in the older one.
  func keepForOlder(_ row: StoredElement) throws {
    try connection.execute(
      "UPDATE \(table) SET mark = \(StoredElement.Mark.olderOnly.rawValue) WHERE id = ?", [row.id])
  }

  /// Removes the older version.
  func removeOlder() throws {
    let marked = "WHERE session = ? AND list = ? AND mark <> 0 AND mark = "
    try connection.execute(
      "DELETE FROM \(table) \(marked)\(StoredElement.Mark.olderOnly.rawValue)", [session, list])
    try connection.execute(
      "UPDATE \(table) SET mark = 0 \(marked)\(StoredElement.Mark.newerOnly.rawValue)",
      [session, list])
  }

  /// Reads both versions of the list.
  ///
  /// - Parameter hasOlder: A Boolean value that indicates whether there is an older version.
  func load(hasOlder: Bool) throws -> StoredList<Element> {
    let found = try connection.query(
      "SELECT id, rank, mark, element FROM \(table) WHERE session = ? AND list = ? ORDER BY rank, id",
      [session, list])
    var (rows, texts): ([StoredElement], [String]) = ([], [])
    for row in found {
      guard let id: Int64 = try? row.value(at: 0), let rank: Int64 = try? row.value(at: 1),
        let mark = (try? row.value(at: 2, as: Int64.self)).flatMap(StoredElement.Mark.init),
        let text: String = try? row.value(at: 3)
      else {
        throw SessionTables(connection: connection).damaged("table \(table)")
      }
      rows.append(
        StoredElement(
          id: id, rank: rank, mark: mark, check: StoredElement.check(rank: rank, element: text)))
      texts.append(text)
    }
    var list = StoredList<Element>()
    let elements = try decode(texts, of: rows)
    func version(without mark: StoredElement.Mark) -> [Int] {
      rows.indices.filter { rows[$0].mark != mark }
    }
    let newer = version(without: .olderOnly)
    list.rows = newer.map { rows[$0] }
    list.newer = Snapshot(newer.map { elements[$0] })
    if hasOlder {
      let older = version(without: .newerOnly)
      list.older = older == newer ? list.newer : Snapshot(older.map { elements[$0] })
      list.olderCheck = ListCheck(older.map { rows[$0] })
    }
    return list
  }

  private func encode(_ element: Element) throws(StoreError) -> String {
    String(
      decoding: try JSONCoding.encode(element, "an element", path: connection.path), as: UTF8.self)
  }

  /// Decodes the elements of rows. It decodes 512 texts as one array, which is much faster.
  private func decode(
    _ texts: [String], of rows: [StoredElement]
  ) throws(StoreError) -> [Element] {
    var elements: [Element] = []
    elements.reserveCapacity(texts.count)
    for start in stride(from: 0, to: texts.count, by: 512) {
      let part = start..<min(start + 512, texts.count)
      let text = "[" + texts[part].joined(separator: ",") + "]"
      let decoded = try? JSONCoding.decoder.decode([Element].self, from: Data(text.utf8))
      if let decoded, decoded.count == part.count {
        elements += decoded
      } else {
        for offset in part {
          elements.append(try decode(texts[offset], of: rows[offset]))
        }
      }
    }
    return elements
  }

  private func decode(_ text: String, of row: StoredElement) throws(StoreError) -> Element {
    do {
      return try JSONCoding.decoder.decode(Element.self, from: Data(text.utf8))
    } catch {
      throw StoreError(
        .undecodable, "the session has elements of another type", path: connection.path,
        place: "table \(table), id \(row.id)",
        help: "use the type that it was saved with, or a compatible one", underlying: error)
    }
  }
}

/// The ranks of rows: numbers that determine their order.
///
/// Ranks have gaps, so an insertion usually writes only one row.
enum Ranks {
  /// The gap between the rows of a new list.
  static let step: Int64 = 1 << 32
  /// The smallest gap between rows that receive new ranks because a gap was too small.
  static let leastStep: Int64 = 1 << 16

  /// Fills in missing ranks.
  ///
  /// If a gap is too small, neighbors receive new ranks too: at first a few, and then more and more
  /// until their gaps are large enough.
  ///
  /// - Parameter ranks: The ranks, in ascending order. A missing rank is `nil`.
  /// - Complexity: O(n), and amortized O(log n) new ranks for an insertion.
  static func fill(_ ranks: inout [Int64?]) {
    var start = 0
    while let first = ranks[start...].firstIndex(of: nil) {
      let end = ranks[first...].firstIndex { $0 != nil } ?? ranks.count
      start = place(first..<end, in: &ranks)
    }
  }

  /// Assigns ranks to consecutive rows without a rank, and to neighbors if necessary.
  ///
  /// - Returns: The index at which to continue.
  private static func place(_ run: Range<Int>, in ranks: inout [Int64?]) -> Int {
    var (low, high) = (run.lowerBound, run.upperBound)
    // A gap of 1 is enough for the rows alone. If neighbors must move, leave larger gaps.
    var needed: Int64 = 1
    while true {
      if let (first, step) = spread(low..<high, ranks, needed) {
        for (number, index) in (low..<high).enumerated() {
          ranks[index] = first + Int64(number) * step
        }
        return high
      }
      needed = leastStep
      let width = max(8, high - low)
      low = max(0, low - width)
      high = min(ranks.count, high + width)
      // The row after the range must have a rank.
      while high < ranks.count, ranks[high] == nil { high += 1 }
    }
  }

  /// Returns the first rank and the gap for a range of rows, or `nil` if the gap would be too small.
  private static func spread(
    _ range: Range<Int>, _ ranks: [Int64?], _ needed: Int64
  ) -> (first: Int64, step: Int64)? {
    let count = Int64(range.count)
    let before = range.lowerBound == 0 ? nil : ranks[range.lowerBound - 1]
    let after = range.upperBound == ranks.count ? nil : ranks[range.upperBound]
    switch (before, after) {
    case (nil, nil):
      return (-(count / 2) * step, step)
    case (let before?, nil):
      let (_, overflows) = before.addingReportingOverflow(step * (count + 1))
      return overflows ? nil : (before + step, step)
    case (nil, let after?):
      let (first, overflows) = after.subtractingReportingOverflow(step * count)
      return overflows ? nil : (first, step)
    case (let before?, let after?):
      let (room, overflows) = after.subtractingReportingOverflow(before)
      let part = (overflows ? Int64.max : room) / (count + 1)
      return part < needed ? nil : (before + part, part)
    }
  }
}
