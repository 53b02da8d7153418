import FileSources
import ObservableCollections
import ReactiveSignals

/// A live list of the rows of a source that contain a text, in an order.
///
/// The list is derived once. The text and the order are parameters that can change.
struct ViewArrangement: Sendable {
  /// The values of the parameters.
  struct Parameters: Sendable, Equatable {
    /// The text that the rows contain, or an empty string for all rows.
    var filter = ""
    /// The order, or `nil` for the order of the source.
    var order: ViewOrder?
  }

  /// The rows that are shown.
  let rows: LiveCollection<ViewRow>
  /// The rows, with a header before those of each group.
  let lines: LiveCollection<ViewLine>
  private let pattern = Property(ViewPattern(""))
  private let order = Property(ViewArrangement.sourceOrder)

  /// The order in which all rows are equal. Therefore, the rows keep the order of the source.
  private static let sourceOrder = ElementOrder<ViewRow> { _, _ in false }

  /// Creates a list.
  ///
  /// - Parameters:
  ///   - source: The source of the elements.
  ///   - field: The field whose values are the groups in ascending order, or `nil` for a list without groups.
  init(_ source: some DataSource<JSONElement>, groupedBy field: String? = nil) {
    rows =
      source
      .map { ViewRow($0) }
      .filter(by: pattern, effect: { $0.effect(of: $1) }) { $1.matches($0.element) }
      .sorted(by: order)
    lines =
      if let field {
        rows.sections(
          by: { ViewGroup(of: $0.element, by: field) },
          order: ElementOrder { ($0.key, $0.text) < ($1.key, $1.text) }
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
  ///   otherwise O(*n*), or O(*m*) for *m* shown rows if the text is extended.
  func change(from old: Parameters, to new: Parameters) {
    withTransaction {
      if old.filter != new.filter { pattern.value = ViewPattern(new.filter) }
      if old.order != new.order { order.value = order(new.order, after: old.order) }
    }
  }

  private func order(_ new: ViewOrder?, after old: ViewOrder?) -> ElementOrder<ViewRow> {
    guard let new else { return ViewArrangement.sourceOrder }
    // If only the direction changes, the rows keep their keys.
    if new.column == old?.column { return order.value.reversed }
    let ascending = ViewSortColumn(new.column).order
    return new.isDescending ? ascending.reversed : ascending
  }
}
