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
  let encoder = JSONCoding.encoder()

  private var table: String { SessionTables.elements }

  func insert(_ element: Element, rank: Int64, mark: StoredRow.Mark) throws -> StoredRow {
    let text = try encode(element)
    try connection.execute(
      "INSERT INTO \(table) (session, list, rank, mark, element) VALUES (?, ?, ?, ?, ?)",
      [session, list, rank, mark.rawValue, text])
    return StoredRow(
      id: connection.lastInsertRowID, rank: rank, mark: mark,
      check: StoredRow.check(rank: rank, element: text))
  }

  func update(_ row: StoredRow, _ element: Element, rank: Int64) throws -> StoredRow {
    let text = try encode(element)
    try connection.execute(
      "UPDATE \(table) SET rank = ?, element = ? WHERE id = ?", [rank, text, row.id])
    return StoredRow(
      id: row.id, rank: rank, mark: row.mark, check: StoredRow.check(rank: rank, element: text))
  }

  func delete(_ row: StoredRow) throws {
    try connection.execute("DELETE FROM \(table) WHERE id = ?", [row.id])
  }

  /// Removes a row from the newer version and keeps it in the older one.
  func keepForOlder(_ row: StoredRow) throws {
    try connection.execute(
      "UPDATE \(table) SET mark = \(StoredRow.Mark.olderOnly.rawValue) WHERE id = ?", [row.id])
  }

  /// Removes the older version.
  func removeOlder() throws {
    let marked = "WHERE session = ? AND list = ? AND mark <> 0 AND mark = "
    try connection.execute(
      "DELETE FROM \(table) \(marked)\(StoredRow.Mark.olderOnly.rawValue)", [session, list])
    try connection.execute(
      "UPDATE \(table) SET mark = 0 \(marked)\(StoredRow.Mark.newerOnly.rawValue)",
      [session, list])
  }

  /// Reads both versions of the list.
  ///
  /// - Parameter hasOlder: A Boolean value that indicates whether there is an older version.
  func load(hasOlder: Bool) throws -> StoredList<Element> {
    let found = try connection.query(
      "SELECT id, rank, mark, element FROM \(table) WHERE session = ? AND list = ? ORDER BY rank, id",
      [session, list])
    var (rows, texts): ([StoredRow], [String]) = ([], [])
    for row in found {
      guard let id: Int64 = try? row.value(at: 0), let rank: Int64 = try? row.value(at: 1),
        let mark = (try? row.value(at: 2, as: Int64.self)).flatMap(StoredRow.Mark.init),
        let text: String = try? row.value(at: 3)
      else {
        throw SessionTables(connection).damaged("table \(table)")
      }
      rows.append(
        StoredRow(
          id: id, rank: rank, mark: mark, check: StoredRow.check(rank: rank, element: text)))
      texts.append(text)
    }
    var list = StoredList<Element>()
    let elements = try decode(texts, of: rows)
    func version(without mark: StoredRow.Mark) -> [Int] {
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

  private func encode(_ element: Element) throws -> String {
    do {
      return String(decoding: try encoder.encode(element), as: UTF8.self)
    } catch {
      throw StoreError(
        .unencodable, "an element cannot be encoded as JSON", path: connection.path,
        place: JSONCoding.place(of: error),
        help: "correct the encoding of its type; the saved state is unchanged", underlying: error)
    }
  }

  /// Decodes the elements of rows. It decodes 512 texts as one array, which is much faster.
  private func decode(
    _ texts: [String], of rows: [StoredRow]
  ) throws(StoreError) -> [Element] {
    let decoder = JSONCoding.decoder()
    var elements: [Element] = []
    elements.reserveCapacity(texts.count)
    for start in stride(from: 0, to: texts.count, by: 512) {
      let part = start..<min(start + 512, texts.count)
      let text = "[" + texts[part].joined(separator: ",") + "]"
      let decoded = try? decoder.decode([Element].self, from: Data(text.utf8))
      if let decoded, decoded.count == part.count {
        elements += decoded
      } else {
        for offset in part {
          elements.append(try decode(texts[offset], of: rows[offset], decoder))
        }
      }
    }
    return elements
  }

  private func decode(
    _ text: String, of row: StoredRow, _ decoder: JSONDecoder
  ) throws(StoreError) -> Element {
    do {
      return try decoder.decode(Element.self, from: Data(text.utf8))
    } catch {
      throw StoreError(
        .undecodable, "the session has elements of another type", path: connection.path,
        place: "table \(table), id \(row.id)",
        help: "use the type that it was saved with, or a compatible one", underlying: error)
    }
  }
}
