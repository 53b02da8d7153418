import FileSources
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives

/// The elements of a list, and their members and columns, that a command uses.
struct Selection: Sendable {
  var conditions: [ElementPredicate] = []
  /// The orders. Elements that are equal in one order are sorted by the next one.
  var orders: [ViewOrder] = []
  /// The number of elements, or `nil` for all. A negative number counts from the end.
  var limit: Int?
  /// The members that are kept, or `nil` for all.
  var fields: [String]?
  /// The members that are left out.
  var ignoredFields: [String] = []
  /// The field whose values divide the list into sections, if there are sections.
  var groupField: String?

  /// Parses `FIELD`, with `asc`, `desc` or `natural` after it, or several of these, separated by commas.
  static func orders(_ text: String) throws(LivelistError) -> [ViewOrder] {
    var orders: [ViewOrder] = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let words = part.split(separator: " ")
      guard !words.isEmpty else {
        throw .usage("--sort has an empty field; use --sort FIELD or --sort 'FIELD desc'")
      }
      orders.append(ViewOrder(parsing: words.joined(separator: " ")))
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

  /// Reports the mistakes that a list shows.
  ///
  /// - Parameter isUnfinished: A Boolean value that indicates whether further elements may still have a missing field.
  func reportMistakes(in contents: some Collection<JSONElement>, isUnfinished: Bool = false) {
    for (message, isMisspelling) in mistakes(in: contents) {
      isMisspelling && !isUnfinished ? Program.fail(message) : Program.report(message)
    }
  }

  /// Reports the mistakes that a list shows as soon as it has elements.
  func reportMistakes(
    inFirstElementsOf list: some DataSource<JSONElement>, isUnfinished: Bool
  ) -> Disposable {
    let isReported = Locked(false)
    return list.observeSnapshots { contents in
      if contents.isEmpty || isReported.withLock({ $0 }) { return }
      isReported.withLock { $0 = true }
      reportMistakes(in: contents, isUnfinished: isUnfinished)
    }
  }

  /// Throws an error if a field is misspelled.
  ///
  /// A field that no element has is misspelled if it is no column of a query, or if an element has a field with a
  /// similar name. Otherwise, it may be a field that few elements have.
  ///
  /// - Parameter source: The source of the elements.
  func check(
    _ contents: some Collection<JSONElement>, of source: SourceSpecification.Kind
  ) async throws(LivelistError) {
    if missingFields(in: contents).isEmpty { return }
    let mistakes = mistakes(in: contents, columns: await source.columns)
    if let mistake = mistakes.first(where: \.isMisspelling) { throw .input(mistake.message) }
  }

  /// Returns remarks on fields that no element has, and on conditions that compare values in another way than the user
  /// may expect.
  ///
  /// - Parameter columns: The columns of the queries among the sources.
  func mistakes(
    in contents: some Collection<JSONElement>, columns: [[String]] = []
  ) -> [(message: String, isMisspelling: Bool)] {
    let missing = missingFields(in: contents)
    let titles = missing.isEmpty ? [] : ViewColumns(of: contents).titles
    let remarks = missing.compactMap { field -> (message: String, isMisspelling: Bool)? in
      let other = columns.first { !ViewColumns.isField(field, inColumnOf: $0) }
      if contents.isEmpty, other == nil { return nil }
      let path = ViewColumns.withoutPoint(field)
      let near =
        other.map { NearestWord.name(like: String(path), among: $0) }
        ?? ViewColumns.path(like: path, in: contents)
      var message = other == nil ? "no element has the field" : "there is no column"
      message += " \"\(field)\"" + (near.map { " (did you mean \($0)?)" } ?? "") + "; the "
      message += (other == nil ? "fields are " : "columns are ")
      message += (other ?? titles).joined(separator: ", ")
      let isMisspelling = near != nil || other != nil
      if isMisspelling { message += "; if it may be missing, write \(field)?" }
      if orders.contains(where: { field.hasSameBytes(as: $0.column) }),
        Selection.hasForeignDirection(field)
      {
        message += "; for descending order, use --sort 'FIELD desc'"
      }
      return (message, isMisspelling)
    }
    return remarks
      + conditions.flatMap(\.comparisons).compactMap { $0.remark(on: contents) }.map { ($0, false) }
  }

  /// Returns the fields that no element has, without those that may be missing.
  private func missingFields(in contents: some Collection<JSONElement>) -> [String] {
    let names =
      conditions.flatMap(\.comparisons).map(\.field) + orders.map(\.column)
      + (groupField.map { [$0] } ?? [])
      + (fields ?? []) + ignoredFields
    return names.filter { name in
      !name.hasSuffix("?") && !contents.contains { ViewColumns.value(of: $0, in: name) != nil }
    }
  }

  /// Derives the selected list. Returns the source itself if everything is selected.
  func applied(to source: any DataSource<JSONElement>) -> any DataSource<JSONElement> {
    let list = wholeElements(of: source)
    return hasAllFields ? list : list.map { keepingFields(of: $0) }
  }

  /// A Boolean value that indicates whether all members are used.
  var hasAllFields: Bool { fields == nil && ignoredFields.isEmpty }

  /// Returns an element with the selected members only.
  func keepingFields(of element: JSONElement) -> JSONElement {
    let element = ignoredFields.reduce(element) { element, field in
      // A name may contain dots.
      element[field] == nil
        ? Self.removing(field.split(separator: ".").map(String.init)[...], from: element)
        : Self.removing([field], from: element)
    }
    return fields.map { ViewColumns.keeping($0, of: element) } ?? element
  }

  private static func removing(_ path: ArraySlice<String>, from element: JSONElement) -> JSONElement
  {
    guard let name = path.first, path.count > 1 || name != element.keyName,
      let members = element.members, members.contains(where: { $0.name == name })
    else { return element }
    let kept = members.compactMap { member in
      if member.name != name { return member }
      return path.count > 1 ? (name, removing(path.dropFirst(), from: member.value)) : nil
    }
    return JSONElement(
      members: kept, keyName: element.keyName, identity: element.separateIdentity)
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
      list = list.map { ViewElement($0) }.sorted(by: ViewSortColumn(order).elementOrder)
        .map { $0.element }
    }
    if let limit { list = limit < 0 ? list.suffix(-limit) : list.prefix(limit) }
    return list
  }
}
