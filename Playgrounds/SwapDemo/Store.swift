import DemoSupport
import Swappable

/// A list of items that is kept somewhere, and the data source that shows it.
///
/// The two know nothing of each other: an edit writes to the place, as any other program could, and
/// the source finds out.
protocol Store: Sendable {
  /// What it is called.
  var name: String { get }
  /// Shows it.
  var source: any DataSource<Item> { get }
  /// The items, read from the place itself.
  func items() throws -> [Item]
  /// Edits in one step.
  func apply(_ edits: [Edit]) throws
}

extension Store {
  func apply(_ edits: Edit...) throws { try apply(edits) }
}

/// The three stores of the demo.
struct Stores: Sendable {
  let array: ArrayStore
  let json: JSONStore
  let sqlite: SQLiteStore

  var all: [any Store] { [array, json, sqlite] }

  /// Makes the stores, with lists that differ a little.
  init(in directory: TemporaryDirectory) throws {
    array = ArrayStore(Item.list([1, 2, 3, 4, 5, 6]))
    json = try JSONStore(
      path: directory.path("inventory.json"),
      Item.list([2, 1, 3, 7, 5, 6], counts: [2: 11, 6: 14]))
    sqlite = try SQLiteStore(
      path: directory.path("inventory.db"),
      Item.list([3, 8, 1, 5, 4, 7, 9], counts: [3: 2, 7: 1]))
  }
}
