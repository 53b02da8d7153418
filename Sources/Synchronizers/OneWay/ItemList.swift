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

  /// Of what a processor wants to have downloaded, what is listed, each key once.
  ///
  /// - Returns: That, and a remark on what is left out since it is not listed.
  func chosen(_ prepared: [Item]) -> (items: [Item], diagnostic: SourceDiagnostic?) {
    var seen: Set<Item.DifferenceIdentifier> = []
    var chosen: [Item] = []
    var foreign: [Item] = []
    for item in prepared {
      let key = item.differenceIdentifier
      if !keys.contains(key) {
        foreign.append(item)
      } else if seen.insert(key).inserted {
        chosen.append(item)
      }
    }
    let diagnostic = foreign.first.map { item in
      SourceDiagnostic(
        code: "foreign-item",
        message: "Items that the source does not list were to be downloaded, and are left out: "
          + "\(foreign.count), the first of them \(shownKey(item.differenceIdentifier)).")
    }
    return (chosen, diagnostic)
  }
}
