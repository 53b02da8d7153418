import Swappable

/// Something on a shelf. Its `id` says which thing it is, in whatever list it is found.
struct Item: Identifiable, Hashable, Codable, Sendable, Differentiable {
  let id: Int
  var name: String
  var count: Int
  var shelf: String
}

extension Item {
  private static let names = [
    "Apples", "Bread", "Coffee", "Honey", "Lemons", "Rice", "Tea", "Salt", "Olives", "Walnuts",
    "Beans", "Milk",
  ]

  /// Everything that is ever on a shelf.
  static let range = names.enumerated().map { offset, name in
    Item(
      id: offset + 1, name: name, count: 4 + offset * 5 % 17,
      shelf: "ABC".map { "\($0)\(offset / 3 + 1)" }[offset % 3])
  }

  /// Some things of the range.
  ///
  /// - Parameters:
  ///   - identifiers: Which of them, in which order.
  ///   - counts: What differs from the usual counts, by identifier.
  static func list(_ identifiers: [Int], counts: [Int: Int] = [:]) -> [Item] {
    identifiers.map { identifier in
      var item = range[identifier - 1]
      item.count = counts[identifier] ?? item.count
      return item
    }
  }
}
