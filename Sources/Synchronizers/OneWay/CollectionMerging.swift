import Diffing
import ObservableCollections

/// What a ``CollectionStore`` holds after a run.
///
/// - Complexity: O(n) for n items here and listed.
struct CollectionMerging<Item: Differentiable & Sendable> {
  private typealias Key = Item.DifferenceIdentifier

  /// The items in their order.
  private(set) var items: [Item] = []

  /// Merges what a run has done into what is here.
  ///
  /// - Parameters:
  ///   - current: What is here, edits made during the run included.
  ///   - removed: What the run removed.
  ///   - stored: What the run downloaded; of one key the last counts.
  ///   - list: What the remote lists, each key once; nil where that is not known.
  init(_ current: Snapshot<Item>, removed: [Item], stored: [Item], list: [Item]?) {
    let order = (list ?? []).map(\.differenceIdentifier)
    let listed = Set(order)
    let removed = Set(removed.map(\.differenceIdentifier))
    var new = Dictionary(
      stored.map { ($0.differenceIdentifier, $0) }, uniquingKeysWith: { $1 })

    // What is not listed stands behind the listed item before it, or in front.
    var kept: [Key: Item] = [:]
    var behind: [Key: [Item]] = [:]
    var last: Key?
    for item in current {
      let key = item.differenceIdentifier
      if removed.contains(key) && new[key] == nil { continue }
      if listed.contains(key) {
        if kept[key] == nil {
          kept[key] = item
          last = key
        } else {
          // Behind the first, since in the next run again the first is the one that counts.
          behind[key, default: []].append(item)
        }
        continue
      }
      let other = new.removeValue(forKey: key) ?? item
      if let last { behind[last, default: []].append(other) } else { items.append(other) }
    }
    for key in order {
      guard let item = new.removeValue(forKey: key) ?? kept[key] else { continue }
      items.append(item)
      items += behind[key] ?? []
    }
    items += stored.compactMap { new.removeValue(forKey: $0.differenceIdentifier) }
  }
}
