import FileSources
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives

/// A live list of the rows of a source that match a filter, in an order.
///
/// The list is derived once. The filter and the order are parameters that can change.
struct ViewArrangement: Sendable {
  /// The values of the parameters.
  struct Parameters: Sendable, Equatable {
    var filter = ViewFilter("")
    /// The order, or `nil` for the order of the source.
    var order: ViewOrder?
  }

  /// All rows, also those that the filter hides, in the order of the source.
  let allRows: LiveCollection<ViewElement>
  /// The rows that are shown.
  let rows: LiveCollection<ViewElement>
  /// The rows, with a header before those of each group.
  let lines: LiveCollection<ViewLine>
  private let filter = Property(ViewFilter(""))
  private let order = Property(ViewArrangement.sourceOrder)

  /// The order in which all rows are equal. Therefore, the rows keep the order of the source.
  private static let sourceOrder = ElementOrder<ViewElement> { _, _ in false }

  /// Creates a list.
  ///
  /// - Parameters:
  ///   - source: The source of the elements.
  ///   - field: The field whose values are the groups in ascending order, or `nil` for a list without groups.
  ///   - shown: A closure that returns the part of an element that is shown. The field that groups the list may
  ///     be in another part.
  init(
    _ source: some DataSource<JSONElement>, groupedBy field: String? = nil,
    showing shown: @escaping @Sendable (JSONElement) -> JSONElement = { $0 }
  ) {
    allRows = source.map { element in
      ViewElement(shown(element), in: field.map { ViewGroup(of: element, by: $0) })
    }
    rows = ViewArrangement.matching(allRows, filter).sorted(by: order)
    lines =
      if let field {
        rows.sections(
          by: { $0.group ?? ViewGroup(of: $0.element, by: field) }, order: ViewGroup.order { $0 }
        ).rows()
      } else {
        rows.map { .element($0) }
      }
  }

  /// Changes the parameters in one step.
  ///
  /// - Parameters:
  ///   - old: The current values.
  ///   - new: The new values.
  /// - Complexity: O(*n* log *n*) for a new order, which is less if the rows are nearly in order;
  ///   otherwise O(*n*), or O(*m*) for *m* shown rows if a text is extended.
  func change(from old: Parameters, to new: Parameters) {
    withTransaction {
      if old.filter != new.filter { filter.value = new.filter }
      if old.order != new.order { order.value = order(new.order, after: old.order) }
    }
  }

  /// Derives the list of the rows that match the filter.
  func matching(_ rows: LiveCollection<ViewElement>) -> LiveCollection<ViewElement> {
    ViewArrangement.matching(rows, filter)
  }

  private static func matching(
    _ rows: LiveCollection<ViewElement>, _ filter: Property<ViewFilter>
  ) -> LiveCollection<ViewElement> {
    rows.filter(by: filter, effect: { $0.effect(of: $1) }) { $1.matches($0.element) }
  }

  /// Returns elements as the list shows them, in its groups and in an order.
  ///
  /// - Parameter rows: Some of all rows, in the order of the source.
  func elements(of rows: Snapshot<ViewElement>, in order: ViewOrder?) -> [JSONElement] {
    // The keys of the rows themselves belong to the domain of the list.
    let rows = ArrayDataSource(rows.map { ViewElement($0.element, in: $0.group) })
    return rows.sorted(by: ViewGroup.order(\.group).then(self.order(order, after: nil)))
      .snapshot.map { $0.element }
  }

  private func order(_ new: ViewOrder?, after old: ViewOrder?) -> ElementOrder<ViewElement> {
    guard let new else { return ViewArrangement.sourceOrder }
    // If only the direction changes, the rows keep their keys.
    if let old, !old.isNatural, !new.isNatural, new.column.hasSameBytes(as: old.column) {
      return order.value.reversed
    }
    return ViewSortColumn(new).elementOrder
  }
}

/// A filter of the rows: words that they contain in any order, a regular expression, or a condition.
enum ViewFilter: Sendable, Equatable {
  /// Patterns that all occur, each in any field.
  case patterns([ViewPattern])
  case condition(ElementPredicate)

  /// Creates a filter.
  ///
  /// - Parameters:
  ///   - text: The text that the user has typed. It is a condition if the list has columns for its fields.
  ///   - titles: The titles of the columns.
  init(_ text: String, titles: [String] = []) {
    if let condition = try? ElementPredicate(text),
      condition.comparisons.allSatisfy({ $0.isInColumn(of: titles) })
    {
      self = .condition(condition)
    } else {
      self = .patterns(
        ViewFilter.words(of: text).map { (try? ViewPattern(parsing: $0)) ?? ViewPattern($0) })
    }
  }

  /// Returns the words of a text. A regular expression between slashes is one word.
  private static func words(of text: String) -> [String] {
    var (words, rest) = ([String](), text.drop(while: \.isWhitespace))
    while !rest.isEmpty {
      let end =
        ViewPattern.endOfExpression(in: rest) ?? rest.firstIndex(where: \.isWhitespace)
        ?? rest.endIndex
      words.append(String(rest[..<end]))
      rest = rest[end...].drop(while: \.isWhitespace)
    }
    return words
  }

  /// Returns why a regular expression in a text that the user types is not valid, or `nil`.
  static func mistakeInExpression(in text: String) -> String? {
    do throws(LivelistError) {
      for word in words(of: text) { _ = try ViewPattern(parsing: word) }
      _ = try ElementPredicate(text)
      return nil
    } catch {
      return error.message.hasPrefix(ViewPattern.mistakePrefix) ? error.message : nil
    }
  }

  /// Returns why a text that the user has typed matches none of some elements, or `nil` if it has no mistake.
  ///
  /// A text with another operator after the title of a column is hardly a text that elements contain.
  static func mistake(
    in text: String, titles: [String], _ elements: Snapshot<JSONElement>
  ) -> String? {
    if let mistake = mistakeInExpression(in: text) { return mistake }
    do throws(LivelistError) {
      let comparisons = try ElementPredicate(text).comparisons
      let others = comparisons.filter { !$0.isInColumn(of: titles) }
      if others.isEmpty { return comparisons.lazy.compactMap { $0.remark(on: elements) }.first }
      // One field that is a column is enough to tell that the text is meant as a condition.
      return others.count == comparisons.count
        ? nil
        : "there is no column \"\(others[0].field)\"; the columns are \(titles.joined(separator: ", "))"
    } catch {
      let begins = titles.contains { title in
        text.hasPrefix(title)
          && text.dropFirst(title.count).first { $0 != " " }.map("=!<>~".contains) == true
      }
      return begins ? error.message : nil
    }
  }

  func matches(_ element: JSONElement) -> Bool {
    switch self {
    case .patterns(let patterns): patterns.allSatisfy { $0.matches(element) }
    case .condition(let condition): condition.matches(element)
    }
  }

  /// Returns the effect if this filter is replaced by another one.
  func effect(of new: ViewFilter) -> FilterEffect {
    switch (self, new) {
    case (.patterns(let old), .patterns(let new)):
      if ViewFilter.isImplied(old, by: new) { return .narrowing }
      return ViewFilter.isImplied(new, by: old) ? .widening : .any
    case (.patterns(let old), .condition): return old.isEmpty ? .narrowing : .any
    case (.condition, .patterns(let new)): return new.isEmpty ? .widening : .any
    case (.condition(let old), .condition(let new)): return old.effect(of: new)
    }
  }

  /// Returns a Boolean value that indicates whether each of some patterns occurs wherever other ones occur.
  private static func isImplied(
    _ patterns: [ViewPattern], by others: [ViewPattern]
  ) -> Bool {
    patterns.allSatisfy { pattern in
      others.contains { pattern == $0 || pattern.effect(of: $0) == .narrowing }
    }
  }
}

/// The application of the user's filter and order to a list.
///
/// It runs outside the main actor, because it visits all rows.
@MainActor
final class ViewArranger {
  private let arrangement: ViewArrangement
  private var parameters = ViewArrangement.Parameters()
  /// A Boolean value that indicates whether the shown rows may have other parameters than the requested ones.
  private(set) var isArranging = false

  init(_ arrangement: ViewArrangement) {
    self.arrangement = arrangement
  }

  /// The order of the shown rows, or `nil` if they have the order of the source or are being arranged.
  var shownOrder: ViewOrder? { isArranging ? nil : parameters.order }

  /// Applies the requested parameters, and again if others are requested meanwhile.
  ///
  /// If a call is in progress, it applies the latest parameters, and this one has no effect.
  ///
  /// - Parameters:
  ///   - requested: A closure that returns the requested parameters.
  ///   - onEnd: A closure to call when the shown rows have the requested parameters.
  func arrange(
    _ requested: @escaping @MainActor () -> ViewArrangement.Parameters,
    onEnd: @escaping @MainActor () -> Void
  ) {
    if isArranging { return }
    isArranging = true
    Task {
      while case let (old, new) = (parameters, requested()), old != new {
        parameters = new
        await Task.detached { [arrangement] in
          arrangement.change(from: old, to: new)
          await arrangement.lines.flush()
        }.value
      }
      isArranging = false
      onEnd()
    }
  }
}
