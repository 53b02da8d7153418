import Swappable

/// An entry of the shopping list: a product and its count.
struct Item: Codable, Hashable, Identifiable, Sendable, CustomStringConvertible {
  let name: String
  var count: Int

  var id: String { name }
  var description: String { "\(name) \(count)" }

  init(_ name: String, _ count: Int) {
    (self.name, self.count) = (name, count)
  }
}

extension Item: Differentiable {}
