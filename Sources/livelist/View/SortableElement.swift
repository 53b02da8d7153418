import Diffing
import FileSources
import ObservableCollections

/// An element with what it is sorted by, which is taken out of it once only.
struct SortableElement: Differentiable, Sendable {
  let element: JSONElement
  let key: ViewOrder.Key

  var differenceIdentifier: JSONElement.Identifier { element.differenceIdentifier }

  func isContentEqual(to source: SortableElement) -> Bool { element == source.element }
}

extension DataSource<JSONElement> {
  /// The part of this list that a view shows, in its order.
  func viewed(filter: String, order: ViewOrder?) -> any DataSource<JSONElement> {
    var shown: any DataSource<JSONElement> = self
    if !filter.isEmpty { shown = shown.filtered(by: filter) }
    if let order { shown = shown.sorted(by: order) }
    return shown
  }

  private func filtered(by text: String) -> LiveCollection<JSONElement> {
    let needle = ViewNeedle(text)
    return filter { needle.occurs(in: $0) }
  }

  private func sorted(by order: ViewOrder) -> LiveCollection<JSONElement> {
    let keyed = map { element in
      SortableElement(
        element: element, key: ViewOrder.Key(ViewColumns.value(of: element, in: order.column)))
    }
    let sorted =
      order.isDescending ? keyed.sorted { $0.key > $1.key } : keyed.sorted { $0.key < $1.key }
    return sorted.map(\.element)
  }
}
