import FileSources
import TerminalViews

/// The columns of a list of JSON values: a member each, or one for values that have none.
struct ViewColumns: Equatable {
  /// The heading of the column for values without members.
  private static let valueTitle = "value"

  /// The names of the members, in the order in which they were met.
  private(set) var names: [String] = []
  /// The same, for there may be thousands.
  private var known: Set<String> = []
  /// Those whose values have been numbers only.
  private(set) var numeric: Set<String> = []
  private var hasValues = false

  /// Takes note of the members of an element.
  mutating func note(_ element: JSONElement) {
    guard let members = element.members else {
      hasValues = true
      return
    }
    for (name, value) in members {
      let isNumber = value.kind == .number
      if known.insert(name).inserted {
        names.append(name)
        if isNumber { numeric.insert(name) }
      } else if !isNumber, value.kind != .null {
        numeric.remove(name)
      }
    }
  }

  /// The titles, in order, each once.
  var titles: [String] {
    guard hasValues || names.isEmpty else { return names }
    return [Self.valueTitle] + names.filter { $0 != Self.valueTitle }
  }

  /// The columns as a list shows them.
  ///
  /// - Parameter order: What the list is sorted by, which its heading shows.
  func columns(_ order: ViewOrder?) -> [TerminalColumn<JSONElement>] {
    func heading(_ title: String) -> String {
      guard let order, order.column == title else { return title }
      return title + (order.isDescending ? " ▼" : " ▲")
    }
    let value = TerminalColumn<JSONElement>(heading(Self.valueTitle)) { element in
      element.kind == .object ? "" : ViewColumns.text(of: element)
    }
    let members = names.map { name in
      TerminalColumn<JSONElement>(
        heading(name), alignment: numeric.contains(name) ? .trailing : .leading
      ) { element in
        element[name].map(ViewColumns.text) ?? ""
      }
    }
    return (hasValues || names.isEmpty ? [value] : []) + members
  }

  /// The text of a value: a string's characters, all else as JSON writes it.
  static func text(of value: JSONElement) -> String { value.string ?? value.description }

  /// The value that a column shows of an element.
  static func value(of element: JSONElement, in column: String) -> JSONElement? {
    if let value = element[column] { return value }
    return element.kind != .object && column == valueTitle ? element : nil
  }
}

/// What a list is sorted by.
struct ViewOrder: Sendable, Equatable {
  var column: String
  var isDescending = false

  /// What an element is sorted by: nothing before numbers before words before all else.
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
