import Diffing
import FileSources
import ObservableCollections
import SwappablePrimitives

/// The order of a list: a column and a direction.
struct ViewOrder: Sendable, Equatable {
  /// The title of a column, or the path of a member, as for `ViewColumns.value(of:in:)`.
  var column: String
  var isDescending = false

  /// The sort key of an element. Values of different kinds have different ranks.
  struct Key: Sendable, Hashable {
    private(set) var rank = 0
    private(set) var number: DecimalNumber?
    private var text = ""

    init(_ value: JSONElement?) {
      switch value?.scalar {
      case nil: if let value { (rank, text) = (5, value.description) }
      case .null: break
      case .bool(let value): rank = value ? 2 : 1
      case .number(let digits): (rank, number) = (3, DecimalNumber(digits))
      case .string(let string):
        // Each lone surrogate is read as U+FFFD. The JSON tells such texts apart.
        let isAmbiguous = string.unicodeScalars.contains("\u{FFFD}")
        (rank, text) = (4, isAmbiguous ? "\(string)\0\(value ?? .null)" : string)
      }
    }
  }
}

extension ViewOrder {
  /// Returns a Boolean value that indicates whether two orders are by the column with the same bytes.
  static func == (left: ViewOrder, right: ViewOrder) -> Bool {
    left.isDescending == right.isDescending && left.column.hasSameBytes(as: right.column)
  }
}

extension ViewOrder.Key: Comparable {
  static func == (left: ViewOrder.Key, right: ViewOrder.Key) -> Bool {
    left.rank == right.rank && left.number == right.number
      && left.text.hasSameBytes(as: right.text)
  }

  static func < (left: ViewOrder.Key, right: ViewOrder.Key) -> Bool {
    if left.rank != right.rank { return left.rank < right.rank }
    guard let one = left.number, let other = right.number else {
      return left.text.precedes(right.text)
    }
    return one < other
  }
}

/// A column that a list is sorted by.
final class ViewSortColumn: Sendable {
  let title: String

  init(_ title: String) {
    self.title = title
  }

  /// The ascending order of the values in the column.
  var order: ElementOrder<ViewElement> {
    ElementOrder { one, other in one.key(in: self) < other.key(in: self) }
  }
}

/// A row of a view: an element, and its sort key.
///
/// The key is computed once for each column that the list is sorted by, because a comparison that
/// reads JSON takes much longer than a comparison of keys.
final class ViewElement: Differentiable, @unchecked Sendable {
  // Sendable: only comparisons of one sorted collection access `sort`. They run in the passes of its domain, one at a
  // time.
  // The key is first because comparisons read it, and then nothing else of most rows.
  /// The sort key, and its column.
  @exclusivity(unchecked) private var sort: (key: ViewOrder.Key, column: ViewSortColumn?) =
    (ViewOrder.Key(nil), nil)
  let element: JSONElement
  /// The group of the row, or `nil` in a list without groups.
  let group: ViewGroup?

  init(_ element: JSONElement, in group: ViewGroup? = nil) {
    (self.element, self.group) = (element, group)
  }

  var differenceIdentifier: JSONElement.Identifier { element.differenceIdentifier }

  func isContentEqual(to source: ViewElement) -> Bool {
    element == source.element && group == source.group
  }

  fileprivate func key(in column: ViewSortColumn) -> ViewOrder.Key {
    if sort.column !== column {
      sort = (ViewOrder.Key(ViewColumns.value(of: element, in: column.title)), column)
    }
    return sort.key
  }
}
