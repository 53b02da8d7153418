import GRDB
import SQLiteSources
import Swappable

/// A row as a program uses it. The types for GRDB wrap it and have the same layout.
struct Item: Identifiable, Hashable, Sendable, Differentiable {
  let id: Int64
  var name: String
  var category: String
  var score: Double

  /// The query of all entries. Its order differs from the order of the table.
  static let sql = "SELECT id, name, category, score FROM item ORDER BY name"

  init(_ row: SQLiteRow) throws {
    id = try row.value(at: 0)
    name = try row.value(at: 1)
    category = try row.value(at: 2)
    score = try row.value(at: 3)
  }

  init(id: Int64, name: String, category: String, score: Double) {
    self.id = id
    self.name = name
    self.category = category
    self.score = score
  }
}

/// A row of GRDB with an identity and a score.
protocol Scored {
  var id: Int64 { get }
  var score: Double { get }
}

/// A row that GRDB decodes in its fastest way, by position.
struct PositionalItem: FetchableRecord, Scored, Hashable, Sendable {
  let item: Item
  var id: Int64 { item.id }
  var score: Double { item.score }

  init(row: Row) throws {
    item = Item(id: row[0], name: row[1], category: row[2], score: row[3])
  }
}

/// A row that GRDB decodes in its most common way, with `Codable`.
struct CodableItem: Codable, FetchableRecord, Scored, Hashable, Sendable {
  let id: Int64
  let name: String
  let category: String
  let score: Double
}
