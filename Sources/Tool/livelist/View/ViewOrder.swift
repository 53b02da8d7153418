import Diffing
import FileSources
import ObservableCollections
import SwappablePrimitives

/// The order of a list: a column and a direction.
struct ViewOrder: Sendable, Equatable {
  /// The title of a column, or the path of a member, as for `ViewColumns.value(of:in:)`.
  var column: String
  var isDescending = false
  /// A Boolean value that indicates whether texts are sorted as people do: without regard to case, and with numbers
  /// by their values. Elements without a value are last then, whichever way.
  var isNatural = false

  /// Creates an order from a field and words after it: `asc`, `desc` and `natural`.
  ///
  /// - Parameter isColumn: A closure that indicates whether a field may end with such a word. It is asked for the
  ///   longest field first.
  init(parsing text: String, isColumn: (String) -> Bool = { _ in false }) {
    column = text
    while !isColumn(column), let space = column.lastIndex(of: " ") {
      switch column[space...].dropFirst().lowercased() {
      case "desc": isDescending = true
      case "asc": isDescending = false
      case "natural": isNatural = true
      default: return
      }
      column = String(column[..<space])
      while column.last == " " { column.removeLast() }
    }
  }

  init(column: String, isDescending: Bool = false, isNatural: Bool = false) {
    (self.column, self.isDescending, self.isNatural) = (column, isDescending, isNatural)
  }

  /// The sort key of an element. Values of different kinds have different ranks.
  struct Key: Sendable, Hashable {
    private(set) var rank = 0
    private(set) var number: DecimalNumber?
    private var text = ""
    private var isNatural = false

    private static let naturalOrder = ElementOrder<String>.natural { $0 }

    init(_ value: JSONElement?, isNatural: Bool = false) {
      self.isNatural = isNatural
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
    left.isDescending == right.isDescending && left.isNatural == right.isNatural
      && left.column.hasSameBytes(as: right.column)
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
      return left.isNatural
        ? naturalOrder.precedes(left.text, right.text) : left.text.precedes(right.text)
    }
    return one < other
  }
}

/// A column that a list is sorted by.
final class ViewSortColumn: Sendable {
  fileprivate let order: ViewOrder

  init(_ order: ViewOrder) {
    self.order = order
  }

  /// The order of the values in the column.
  var elementOrder: ElementOrder<ViewElement> {
    if order.isNatural {
      let key: @Sendable (ViewElement) -> ViewOrder.Key? = { row in
        let key = row.key(in: self)
        return key.rank == 0 ? nil : key
      }
      return order.isDescending
        ? .descending(key, missing: .last) : .ascending(key, missing: .last)
    }
    let ascending = ElementOrder<ViewElement> { $0.key(in: self) < $1.key(in: self) }
    return order.isDescending ? ascending.reversed : ascending
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
      let value = ViewColumns.value(of: element, in: column.order.column)
      sort = (ViewOrder.Key(value, isNatural: column.order.isNatural), column)
    }
    return sort.key
  }
}
