import FileSources
import ObservableCollections
import SwappablePrimitives

/// The value that the rows of a section have in the field that groups a list.
struct ViewGroup: Hashable, Sendable {
  /// The place of the value among others of the same and of other kinds.
  let key: ViewOrder.Key
  /// The text of the value. Equal numbers have one text.
  let text: String

  static func == (left: ViewGroup, right: ViewGroup) -> Bool {
    left.key == right.key && left.text.hasSameBytes(as: right.text)
  }

  init(of element: JSONElement, by field: String) {
    let value = ViewColumns.value(of: element, in: field)
    key = ViewOrder.Key(value)
    text =
      key.rank == 0 ? "(none)" : key.number?.description ?? value.map(ViewColumns.text) ?? ""
  }

  /// The order of the groups of elements. Elements without a group are equal.
  static func order<Element: Sendable>(
    _ group: @escaping @Sendable (Element) -> ViewGroup?
  ) -> ElementOrder<Element> {
    ElementOrder { one, other in
      guard let one = group(one), let other = group(other) else { return false }
      return (one.key, one.text) < (other.key, other.text)
    }
  }

  /// The text of the header of a section.
  static func header(_ group: ViewGroup, count: Int) -> String { "\(group.text) (\(count))" }
}

/// A line of a view: a row, or the header of a group.
typealias ViewLine = ListSection<ViewGroup, ViewElement>.Row

extension ViewLine {
  /// The row, or `nil` for a header.
  var row: ViewElement? { if case .element(let row) = self { row } else { nil } }
}

/// The numbers of the rows of a view. Headers have no number.
struct ViewNumbers: Equatable {
  /// The offsets of the headers among all lines.
  private let headers: [Int]
  /// The number of rows.
  let count: Int

  init(_ lines: Snapshot<ViewLine>) {
    var (headers, next) = ([Int](), 0)
    // In a list without groups, the first line is a row.
    while next < lines.count, case .header(_, let count) = lines[next] {
      headers.append(next)
      next += count + 1
    }
    self.headers = headers
    count = lines.count - headers.count
  }

  /// Returns the number of the row in a line, or of the first row below a header.
  func number(ofLine line: Int) -> Int {
    line - headers.partitioningIndex { $0 >= line } + 1
  }

  /// Returns the line of the row with a number.
  func line(ofNumber number: Int) -> Int {
    // The number of rows before a header is its offset without the headers before it.
    number - 1 + headers.indices.partitioningIndex { headers[$0] - $0 >= number }
  }
}
