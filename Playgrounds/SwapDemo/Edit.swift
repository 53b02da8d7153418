/// An edit of a list.
enum Edit: Sendable {
  case insert(Item, at: Int)
  case delete(id: Int)
  case setCount(Int, id: Int)
  case move(id: Int, to: Int)

  /// Performs the edit. An edit of an item that is not in the list has no effect.
  func apply(to items: inout [Item]) {
    switch self {
    case .insert(let item, let index):
      items.insert(item, at: min(index, items.count))
    case .delete(let id):
      items.removeAll { $0.id == id }
    case .setCount(let count, let id):
      guard let index = items.firstIndex(where: { $0.id == id }) else { return }
      items[index].count = count
    case .move(let id, let destination):
      guard let index = items.firstIndex(where: { $0.id == id }) else { return }
      let item = items.remove(at: index)
      items.insert(item, at: min(destination, items.count))
    }
  }
}

/// A generator of random edits.
struct RandomEdits: Sendable {
  private var random: SmallGenerator

  init(seed: UInt64) {
    random = SmallGenerator(state: seed)
  }

  /// Returns an edit that changes the items and keeps the list between 5 and 9 items long.
  mutating func next(for items: [Item]) -> Edit {
    let known = Set(items.map(\.id))
    let absent = Item.catalog.filter { !known.contains($0.id) }
    let kind = Int.random(in: 0..<10, using: &random)
    if items.count < 5 || kind == 0 && items.count < 9,
      let item = absent.randomElement(using: &random)
    {
      return .insert(item, at: Int.random(in: 0...items.count, using: &random))
    }
    guard let offset = items.indices.randomElement(using: &random) else {
      return .insert(Item.catalog[0], at: 0)
    }
    let item = items[offset]
    if items.count > 8 || kind == 1 { return .delete(id: item.id) }
    if kind < 4 {
      let step = Int.random(in: 1..<items.count, using: &random)
      return .move(id: item.id, to: (offset + step) % items.count)
    }
    let step = Int.random(in: 1...4, using: &random)
    let isMore = item.count < step || Bool.random(using: &random)
    return .setCount(isMore ? item.count + step : item.count - step, id: item.id)
  }
}

/// A seeded random number generator (SplitMix64).
private struct SmallGenerator: RandomNumberGenerator, Sendable {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
