import Swappable

/// An item on a shelf. Its `id` identifies the same item in all lists.
struct Item: Identifiable, Hashable, Codable, Sendable, Differentiable {
  let id: Int
  var name: String
  var count: Int
  var shelf: String
}

extension ChangeGuard<Item> {
  /// The guard of the demo, which refuses to delete most of a list.
  static var wholeList: Self { .deletions(atMost: .percent(75)) }
}

/// An order in which the list can be shown.
enum ItemOrder: String, CaseIterable {
  case stored = "as stored"
  case name = "by name"
  case count = "by count"

  var elementOrder: ElementOrder<Item> {
    switch self {
    case .stored: ElementOrder { _, _ in false }
    case .name: .ascending(\.name)
    case .count: .descending(\.count)
    }
  }

  /// The next order, or the first one after the last one.
  var next: ItemOrder {
    let all = ItemOrder.allCases
    let offset = all.firstIndex(of: self) ?? 0
    return all[(offset + 1) % all.count]
  }
}

extension Item {
  private static let names = [
    "Apples", "Bread", "Coffee", "Honey", "Lemons", "Rice", "Tea", "Salt", "Olives", "Walnuts",
    "Beans", "Milk",
  ]

  /// All items that can be on a shelf.
  static let catalog = names.enumerated().map { offset, name in
    Item(
      id: offset + 1, name: name, count: 4 + offset * 5 % 17,
      shelf: "ABC".map { "\($0)\(offset / 3 + 1)" }[offset % 3])
  }

  /// Returns items of the catalog.
  ///
  /// - Parameters:
  ///   - identifiers: The identifiers of the items, in order.
  ///   - counts: The counts that differ from the catalog, by identifier.
  static func list(_ identifiers: [Int], counts: [Int: Int] = [:]) -> [Item] {
    identifiers.map { identifier in
      var item = catalog[identifier - 1]
      item.count = counts[identifier] ?? item.count
      return item
    }
  }
}
