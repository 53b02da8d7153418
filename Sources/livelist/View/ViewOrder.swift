import Diffing
import FileSources
import ObservableCollections
import SwappablePrimitives

/// The order of a list: a column and a direction.
struct ViewOrder: Sendable, Equatable {
  var column: String
  var isDescending = false

  /// The sort key of an element. The kinds of values are ordered as the cases are.
  enum Key: Sendable {
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
        case .string(let text):
          // Each lone surrogate is read as U+FFFD. The JSON tells such texts apart.
          .text(text.unicodeScalars.contains("\u{FFFD}") ? "\(text)\0\(value ?? .null)" : text)
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

extension ViewOrder.Key: Hashable, Comparable {
  static func == (left: ViewOrder.Key, right: ViewOrder.Key) -> Bool {
    switch (left, right) {
    case (.nothing, .nothing): true
    case (.bool(let left), .bool(let right)): left == right
    case (.number(let left), .number(let right)): left == right
    case (.text(let left), .text(let right)), (.other(let left), .other(let right)):
      left.hasSameBytes(as: right)
    default: false
    }
  }

  static func < (left: ViewOrder.Key, right: ViewOrder.Key) -> Bool {
    switch (left, right) {
    case (.bool(let left), .bool(let right)): left < right
    case (.number(let left), .number(let right)): left < right
    case (.text(let left), .text(let right)), (.other(let left), .other(let right)):
      left.precedes(right)
    default: left.rank < right.rank
    }
  }

  func hash(into hasher: inout Hasher) {
    // Equal bytes are equal strings, so the hash of the string serves.
    switch self {
    case .nothing: hasher.combine(0)
    case .bool(let value): hasher.combine(value)
    case .number(let value): hasher.combine(value)
    case .text(let text), .other(let text): hasher.combine(text)
    }
  }

  private var rank: Int {
    switch self {
    case .nothing: 0
    case .bool: 1
    case .number: 2
    case .text: 3
    case .other: 4
    }
  }
}

/// A column that a list is sorted by.
final class ViewSortColumn: Sendable {
  let title: String

  init(_ title: String) {
    self.title = title
  }

  /// The ascending order of the values in the column.
  var order: ElementOrder<ViewRow> {
    ElementOrder { one, other in one.key(in: self) < other.key(in: self) }
  }
}

/// A row of a view: an element, and its sort key.
///
/// The key is computed once for each column that the list is sorted by, because a comparison that
/// reads JSON takes much longer than a comparison of keys.
final class ViewRow: Differentiable, @unchecked Sendable {
  // Sendable: only comparisons of one sorted collection access `column` and `key`. They run in
  // propagation passes, which never run concurrently.
  // The key is first because comparisons read it, and then nothing else of most rows.
  @exclusivity(unchecked) private var key = ViewOrder.Key.nothing
  /// The column of the key.
  @exclusivity(unchecked) private var column: ViewSortColumn?
  let element: JSONElement
  /// The group of the row, or `nil` in a list without groups.
  let group: ViewGroup?

  init(_ element: JSONElement, in group: ViewGroup? = nil) {
    (self.element, self.group) = (element, group)
  }

  var differenceIdentifier: JSONElement.Identifier { element.differenceIdentifier }

  func isContentEqual(to source: ViewRow) -> Bool {
    element == source.element && group == source.group
  }

  /// Returns the sort key of the row in a column.
  fileprivate func key(in column: ViewSortColumn) -> ViewOrder.Key {
    if self.column !== column {
      key = ViewOrder.Key(ViewColumns.value(of: element, in: column.title))
      self.column = column
    }
    return key
  }
}
