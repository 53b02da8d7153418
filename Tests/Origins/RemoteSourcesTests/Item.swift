import DataSourceTesting
import Diffing
import ObservableCollections

/// An element that is sent as JSON.
struct Item: Differentiable, Hashable, Codable, Sendable {
  var id: Int
  var n: Int

  init(_ id: Int, _ n: Int = 0) {
    (self.id, self.n) = (id, n)
  }

  var differenceIdentifier: Int { id }
}

extension RandomEditor<Item> {
  /// Creates an editor of items. Identities may occur twice if `repeats` is set.
  init(seed: UInt64, repeats: Bool = false) {
    self.init(
      seed: seed, size: 10,
      make: { random in Item(random.below(repeats ? 6 : 1_000_000), random.below(3)) },
      change: { item, random in item.n = item.n + 1 + random.below(3) })
  }
}
