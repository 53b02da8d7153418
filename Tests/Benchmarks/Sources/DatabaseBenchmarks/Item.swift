import GRDB
import SQLiteSources
import Swappable

/// A row as a program has it. The rivals' wrap it, so that all fill the same layout.
struct Item: Identifiable, Hashable, Sendable, Differentiable {
  let id: Int64
  var name: String
  var category: String
  var score: Double

  /// The query of all, in an order that is not that of the table.
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

/// What a rival's row tells.
protocol Scored {
  var id: Int64 { get }
  var score: Double { get }
}

/// GRDB's fastest way to decode: by position.
struct PositionalItem: FetchableRecord, Scored, Hashable, Sendable {
  let item: Item
  var id: Int64 { item.id }
  var score: Double { item.score }

  init(row: Row) throws {
    item = Item(id: row[0], name: row[1], category: row[2], score: row[3])
  }
}

/// GRDB's most usual way to decode: by `Codable`.
struct CodableItem: Codable, FetchableRecord, Scored, Hashable, Sendable {
  let id: Int64
  let name: String
  let category: String
  let score: Double
}
