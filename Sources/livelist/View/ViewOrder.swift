import Diffing
import FileSources
import ObservableCollections

/// The order of a list: a column and a direction.
struct ViewOrder: Sendable, Equatable {
  var column: String
  var isDescending = false

  /// The sort key of an element. The kinds of values are ordered as the cases are.
  enum Key: Sendable, Comparable {
    case nothing
    case bool(Int)
    case number(Double)
    case text(String)
    case other(String)

    init(_ value: JSONElement?) {
      self =
        switch value?.scalar {
        case nil: value.map { .other($0.description) } ?? .nothing
        case .null: .nothing
        case .bool(let value): .bool(value ? 1 : 0)
        case .number(let digits): .number(Double(digits) ?? 0)
        case .string(let text): .text(text)
        }
    }
  }
}

/// An element with its sort key, which is computed once.
private struct SortableElement: Differentiable, Sendable {
  let element: JSONElement
  let key: ViewOrder.Key

  var differenceIdentifier: JSONElement.Identifier { element.differenceIdentifier }

  func isContentEqual(to source: SortableElement) -> Bool { element == source.element }
}

extension DataSource<JSONElement> {
  /// Returns the part of this list that contains a text, in an order.
  ///
  /// - Parameters:
  ///   - filter: The text that the elements contain, or an empty string for all elements.
  ///   - order: The order, or `nil` for the order of this list.
  func arranged(filter: String, order: ViewOrder?) -> any DataSource<JSONElement> {
    var arranged: any DataSource<JSONElement> = self
    if !filter.isEmpty { arranged = arranged.filtered(by: filter) }
    if let order { arranged = arranged.sorted(by: order) }
    return arranged
  }

  private func filtered(by text: String) -> LiveCollection<JSONElement> {
    let pattern = ViewPattern(text)
    return filter { pattern.matches($0) }
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
