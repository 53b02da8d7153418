import Diffing
import ObservableCollections

/// What a source lists, each key once: of several items of one key the first counts.
struct ItemList<Item: Differentiable & Sendable> {
  private(set) var items: [Item] = []
  private(set) var keys: Set<Item.DifferenceIdentifier> = []
  /// Names a key that is listed more than once.
  let diagnostic: SourceDiagnostic?

  init(_ listed: [Item]) {
    items.reserveCapacity(listed.count)
    keys.reserveCapacity(listed.count)
    var firstSurplus: Item?
    for item in listed {
      if keys.insert(item.differenceIdentifier).inserted {
        items.append(item)
      } else {
        firstSurplus = firstSurplus ?? item
      }
    }
    diagnostic = firstSurplus.map { [surplus = listed.count - items.count] item in
      SourceDiagnostic(
        code: "duplicate-identity",
        message: "The source lists the key \(shownKey(item.differenceIdentifier)) more than once; "
          + "the first item of a key counts, and \(surplus) "
          + (surplus == 1 ? "other is left out." : "others are left out."))
    }
  }
}
