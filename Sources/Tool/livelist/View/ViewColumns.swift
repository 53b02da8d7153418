import FileSources
import SwappablePrimitives
import TerminalViews

/// The columns of a list of JSON values: one for each member, and one for values without members.
struct ViewColumns {
  /// The heading of the column for values without members.
  static let valueTitle = "value"

  /// The names of the members, in the order of their first occurrence.
  private(set) var names: [String] = []
  /// The same names as a set, because there can be thousands.
  private var known: Set<ByteString> = []
  /// The names of the members whose values have been numbers only.
  private(set) var numeric: Set<ByteString> = []
  /// The name of the member that identifies the elements, if there is one.
  private var keyName: String?
  private var hasValues = false
  private var isEmpty = true

  init() {}

  /// Creates the columns of a list.
  init(of elements: some Sequence<JSONElement>) {
    for element in elements { record(element) }
  }

  /// Records the members of an element.
  mutating func record(_ element: JSONElement) {
    if isEmpty { keyName = element.keyName }
    isEmpty = false
    guard let members = element.members else {
      hasValues = true
      return
    }
    for (name, value) in members {
      let isNumber = value.kind == .number
      let bytes = ByteString(name)
      if known.insert(bytes).inserted {
        names.append(name)
        if isNumber { numeric.insert(bytes) }
      } else if !isNumber, value.kind != .null {
        numeric.remove(bytes)
      }
    }
  }

  /// The titles in order, without duplicates.
  var titles: [String] {
    guard hasValueColumn else { return names }
    return [Self.valueTitle] + names.filter { $0 != Self.valueTitle }
  }

  private var hasValueColumn: Bool { hasValues || names.isEmpty && !isEmpty }

  /// Returns the columns of the list. An empty list has none.
  ///
  /// - Parameter order: The order of the list, which the heading of its column shows.
  func columns(_ order: ViewOrder?) -> [TerminalColumn<ViewElement>] {
    func heading(_ title: String) -> String {
      guard let order, title.hasSameBytes(as: order.column) else { return title }
      return title + (order.isDescending ? " ▼" : " ▲")
    }
    let value = TerminalColumn<ViewElement>(heading(Self.valueTitle)) { row in
      row.element.kind == .object ? "" : ViewColumns.text(of: row.element)
    }
    let values = MemberValues(names)
    let members = names.enumerated().map { number, name in
      TerminalColumn<ViewElement>(
        heading(name), alignment: numeric.contains(ByteString(name)) ? .trailing : .leading,
        isPinned: keyName.map { name.hasSameBytes(as: $0) } ?? false
      ) { row in
        values.value(of: row, in: number).map(ViewColumns.text) ?? ""
      }
    }
    return (hasValueColumn ? [value] : []) + members
  }

  /// Returns the text of a value: the characters of a string, and the JSON text of any other value.
  static func text(of value: JSONElement) -> String { value.string ?? value.description }

  /// Returns the value of an element in a column, or of a nested member.
  ///
  /// - Parameter column: The title of a column, or the names on the path to a nested member, separated by points.
  ///   A question mark at its end is no part of the name, unless a member has that name.
  static func value(of element: JSONElement, in column: String) -> JSONElement? {
    member(column, of: element)?.value
  }

  private static func member(
    _ column: String, of element: JSONElement
  ) -> (name: String, value: JSONElement)? {
    let path = withoutPoint(column)
    var value = element[column]
    if value == nil, element.kind != .object {
      value = column == "." || path == valueTitle ? element : nil
    } else if value == nil, column.utf8.contains(UInt8(ascii: ".")) {
      value = nested(path, in: element)
    }
    if let value { return (String(path), value) }
    return column.hasSuffix("?") ? member(String(column.dropLast()), of: element) : nil
  }

  /// Returns an element with some members only. A nested member becomes a member with its path as its name.
  ///
  /// - Parameter fields: The names of members, or paths of nested members.
  static func keeping(_ fields: [String], of element: JSONElement) -> JSONElement {
    element.keeping(members: fields) { member($0, of: element) }
  }

  /// Returns a path without a point at its start, which the language of jq has.
  static func withoutPoint(_ path: String) -> Substring {
    path.hasPrefix(".") ? path.dropFirst() : path[...]
  }

  /// Returns a Boolean value that indicates whether a field is in a column with one of the titles.
  static func isField(_ field: String, inColumnOf titles: [String]) -> Bool {
    let path = withoutPoint(field)
    return titles.contains { title in
      title.hasSameBytes(as: field) || title.hasSameBytes(as: String(path))
        || path.utf8.starts(with: (title + ".").utf8)
    } || field.hasSuffix("?") && isField(String(field.dropLast()), inColumnOf: titles)
  }

  /// Returns the path of a member that a misspelled path was probably meant to be, or `nil`.
  static func path(
    like path: Substring, in elements: some Sequence<JSONElement>
  ) -> String? {
    let names = ViewColumns(of: elements).titles
    if let name = NearestWord.name(like: String(path), among: names) { return name }
    guard let point = path.firstIndex(of: ".") else { return nil }
    let (start, rest) = (String(path[..<point]), path[path.index(after: point)...])
    guard names.contains(where: start.hasSameBytes) else {
      return NearestWord.name(like: start, among: names).map { "\($0).\(rest)" }
    }
    return self.path(like: rest, in: elements.compactMap { $0[start] }).map { "\(start).\($0)" }
  }

  /// Returns a member, whose name may contain points, or a nested member.
  private static func nested(_ path: Substring, in element: JSONElement) -> JSONElement? {
    if let value = element[String(path)] { return value }
    guard let point = path.firstIndex(of: ".") else { return nil }
    return element[String(path[..<point])].flatMap {
      nested(path[path.index(after: point)...], in: $0)
    }
  }
}

extension ViewColumns: Equatable {
  /// Returns a Boolean value that indicates whether two lists have the same columns, with the same bytes.
  ///
  /// A view keeps its columns as long as they are equal, so whatever can change must be compared here.
  static func == (left: ViewColumns, right: ViewColumns) -> Bool {
    left.names.elementsEqual(right.names) { $0.hasSameBytes(as: $1) }
      && left.numeric == right.numeric && left.hasValueColumn == right.hasValueColumn
      && left.keyName == right.keyName
  }
}

/// The members of one row by column.
///
/// A list asks all columns for the texts of one row, and then of the next one. To look for each
/// member in the row would take time that is quadratic in the number of members.
private final class MemberValues: Sendable {
  private let numbers: [ByteString: Int]
  private let latest = Locked<(row: ViewElement, values: [JSONElement?])?>(nil)

  init(_ names: [String]) {
    numbers = Dictionary(
      uniqueKeysWithValues: names.enumerated().map { number, name in (ByteString(name), number) })
  }

  /// Returns the value of the member with the name of a column.
  func value(of row: ViewElement, in number: Int) -> JSONElement? {
    latest.withLock { latest in
      if let latest, latest.row === row { return latest.values[number] }
      var values = [JSONElement?](repeating: nil, count: numbers.count)
      for (name, value) in row.element.members ?? [] {
        if let number = numbers[ByteString(name)] { values[number] = value }
      }
      latest = (row, values)
      return values[number]
    }
  }
}
