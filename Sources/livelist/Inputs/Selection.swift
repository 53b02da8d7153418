import FileSources
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives

/// The elements of a list, and their members and columns, that a command uses.
struct Selection: Sendable {
  var conditions: [ElementCondition] = []
  /// The orders. Elements that are equal in one order are sorted by the next one.
  var orders: [ViewOrder] = []
  /// The number of elements, or `nil` for all. A negative number counts from the end.
  var limit: Int?
  /// The members that are kept, or `nil` for all.
  var fields: [String]?

  /// Parses `FIELD`, `FIELD asc` or `FIELD desc`, or several of these, separated by commas.
  static func orders(_ text: String) throws(LivelistError) -> [ViewOrder] {
    var orders: [ViewOrder] = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let words = part.split(separator: " ")
      let direction = words.count > 1 ? words.last?.lowercased() : nil
      guard !words.isEmpty else {
        throw .usage("--sort has an empty field; use --sort FIELD or --sort 'FIELD desc'")
      }
      let isDescending = direction == "desc"
      let names = isDescending || direction == "asc" ? words.dropLast() : words[...]
      orders.append(
        ViewOrder(column: names.joined(separator: " "), isDescending: isDescending))
    }
    return orders
  }

  /// Returns a Boolean value that indicates whether a name looks like a field and a direction in the words of
  /// another program.
  private static func hasForeignDirection(_ name: String) -> Bool {
    let last = name.split(separator: " ").dropFirst().last?.lowercased() ?? ""
    return name.hasPrefix("-") || name.contains(":")
      || ["de", "ds", "as", "rev"].contains(where: last.hasPrefix)
  }

  /// Reports the mistakes that some lists show.
  func reportMistakes(in lists: Snapshot<JSONElement>...) {
    for mistake in mistakes(in: lists.lazy.joined()) { Program.report(mistake) }
  }

  /// Reports the mistakes that a list shows as soon as it has elements.
  func reportMistakes(inFirstElementsOf list: some DataSource<JSONElement>) -> Disposable {
    let isReported = Locked(false)
    return list.observeSnapshots { contents in
      if contents.isEmpty || isReported.withLock({ $0 }) { return }
      isReported.withLock { $0 = true }
      reportMistakes(in: contents)
    }
  }

  /// Returns remarks on fields that no element has, because a name may be misspelled, and on conditions that compare
  /// values in another way than the user may expect.
  func mistakes(in contents: some Collection<JSONElement>) -> [String] {
    if contents.isEmpty { return [] }
    var mistakes: [String] = []
    let names = conditions.map(\.field) + orders.map(\.column) + (fields ?? [])
    for name in names
    where !contents.contains(where: { ViewColumns.value(of: $0, in: name) != nil }) {
      let columns = ViewColumns(of: contents.prefix(100))
      let advice =
        orders.contains { name.hasSameBytes(as: $0.column) } && Selection.hasForeignDirection(name)
        ? "; for descending order, use --sort 'FIELD desc'" : ""
      mistakes.append(
        "no element has the field \"\(name)\"; the fields are "
          + columns.titles.joined(separator: ", ") + advice)
    }
    return mistakes + conditions.compactMap { $0.remark(on: contents) }
  }

  /// Derives the selected list. Returns the source itself if everything is selected.
  func applied(to source: any DataSource<JSONElement>) -> any DataSource<JSONElement> {
    let list = wholeElements(of: source)
    return fields == nil ? list : list.map { keepingFields(of: $0) }
  }

  /// Returns an element with the selected members only.
  func keepingFields(of element: JSONElement) -> JSONElement {
    fields.map { ViewColumns.keeping($0, of: element) } ?? element
  }

  /// Returns the columns of elements with the selected members only.
  func columns(of elements: some Sequence<JSONElement>) -> ViewColumns {
    ViewColumns(of: elements.lazy.map(keepingFields))
  }

  /// Derives the list of the selected elements, with all their members.
  func wholeElements(of source: any DataSource<JSONElement>) -> any DataSource<JSONElement> {
    var list = source
    if !conditions.isEmpty {
      list = list.filter { [conditions] element in conditions.allSatisfy { $0.matches(element) } }
    }
    // Sorting is stable: the last order is applied first.
    for order in orders.reversed() {
      let column = ViewSortColumn(order.column)
      list = list.map { ViewRow($0) }
        .sorted(by: order.isDescending ? column.order.reversed : column.order)
        .map { $0.element }
    }
    if let limit { list = limit < 0 ? list.suffix(-limit) : list.prefix(limit) }
    return list
  }
}
