import FileSources
import ObservableCollections
import ReactiveSignals

/// The rows that the user has marked, by their identities.
///
/// Marks stay while the filter hides a row, and while its element is not in the source.
@MainActor
final class ViewMarks {
  typealias Identity = ViewElement.DifferenceIdentifier

  /// The numbers of marks.
  struct Counts: Equatable {
    var all = 0
    /// The number of marks of rows that the filter hides.
    var hidden = 0
    /// The number of marks whose elements are not in the source.
    var gone = 0

    /// The numbers as a text for the status line, or `nil` if there are no marks.
    var text: String? {
      let others = [(hidden, "filtered out"), (gone, "gone")]
        .filter { $0.0 > 0 }.map { "\($0) \($1)" }
      if all == 0 { return nil }
      return "\(all) marked" + (others.isEmpty ? "" : " (\(others.joined(separator: ", ")))")
    }
  }

  /// The lists of the marks, which cost nothing until there is a mark.
  private struct Lists {
    let selection: LiveCollection<ViewElement>.Selection
    /// The marked rows that match the filter.
    let matching: LiveCollection<ViewElement>
    let observation: Disposable
  }

  private let arrangement: ViewArrangement
  private var lists: Lists?
  /// The identities of some contents of the lists.
  private var known = (all: Set<Identity>(), hidden: 0, revisions: [0, 0])

  init(_ arrangement: ViewArrangement) {
    self.arrangement = arrangement
  }

  /// The identities of the marked rows in the source.
  var identities: Set<Identity> {
    update()
    return known.all
  }

  var counts: Counts {
    guard let lists else { return Counts() }
    update()
    let count = lists.selection.identityCount
    return Counts(all: count, hidden: known.hidden, gone: count - known.all.count)
  }

  /// Returns the marked elements in an order, also those that the filter hides.
  func elements(in order: ViewOrder?) -> [JSONElement] {
    lists.map { arrangement.elements(of: $0.selection.selected.snapshot, in: order) } ?? []
  }

  /// Marks a row, or removes its mark.
  func toggle(_ row: ViewElement) { selection.toggle(row.differenceIdentifier) }

  /// Marks the shown rows that have no mark, and removes the marks of the other shown rows.
  func invertShown() {
    let shown = Set(arrangement.rows.snapshot.map(\.differenceIdentifier))
    let marked = identities
    withTransaction {
      selection.deselectAll { shown.contains($0.differenceIdentifier) }
      selection.selectAll {
        let identity = $0.differenceIdentifier
        return shown.contains(identity) && !marked.contains(identity)
      }
    }
  }

  /// Removes all marks.
  func clear() { selection.deselectAll() }

  private var selection: LiveCollection<ViewElement>.Selection {
    if let lists { return lists.selection }
    let selection = arrangement.allRows.selection(whenGone: .remember)
    let matching = arrangement.matching(selection.selected)
    lists = Lists(
      selection: selection, matching: matching, observation: matching.observeSnapshots { _ in })
    return selection
  }

  private func update() {
    guard let lists else { return }
    let revisions = [lists.selection.selected.revision, lists.matching.revision]
    if revisions == known.revisions { return }
    let all = Set(lists.selection.selected.snapshot.map(\.differenceIdentifier))
    let shown = Set(lists.matching.snapshot.map(\.differenceIdentifier))
    known = (all, all.subtracting(shown).count, revisions)
  }
}
