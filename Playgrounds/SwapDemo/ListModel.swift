import Swappable
import TerminalViews

/// What the demo shows beside the list.
struct ListModel {
  /// The last event in words.
  private(set) var lastEvent = ""
  /// The revision with which each item appeared: it stays while the row does.
  private(set) var revisions: [Int: Int] = [:]
  /// The store that is shown.
  private(set) var sourceName: String
  /// Why the demo's own edits go wrong, if they do.
  var trouble: String?
  /// What the next change comes from; nil: from an edit.
  private var swapTarget: String?

  init(sourceName: String) {
    self.sourceName = sourceName
  }

  /// Takes in what an observer is told.
  mutating func show(_ event: CollectionEvent<Item>) {
    switch event {
    case .initial(let items, let revision):
      revisions = Dictionary(items.map { ($0.id, revision) }) { first, _ in first }
      lastEvent = "initial: \(Words.rows(items.count))"
    case .change(let change):
      for item in change.deleted { revisions[item.element.id] = nil }
      for item in change.inserted { revisions[item.element.id] = change.revision }
      let origin = swapTarget.map { "swapped to \($0)" } ?? "\(sourceName) edited"
      lastEvent = "\(origin): \(Words.describe(change))"
      swapTarget = nil
    }
  }

  /// Takes in that the user has swapped; what differs is told by the next change.
  mutating func swapped(to name: String, _ outcome: SwapOutcome?) {
    switch outcome {
    case .swapped, nil:
      sourceName = name
      swapTarget = name
    case .unchanged:
      lastEvent =
        name == sourceName
        ? "\(name) is shown already" : "swapped to \(name): nothing differs, nothing to tell"
      sourceName = name
    case .failed(let error):
      lastEvent = "cannot swap to \(name): \(error)"
    case .superseded, .cancelled, .cycle:
      lastEvent = "the swap to \(name) was not done"
    }
  }

  /// The columns of the list.
  var columns: [TerminalColumn<Item>] {
    [
      TerminalColumn("Item", maximumWidth: 24) { $0.name },
      TerminalColumn("Count", alignment: .trailing) { "\($0.count)" },
      TerminalColumn("Shelf", maximumWidth: 8) { $0.shelf },
      TerminalColumn("Here since") { [revisions] in "revision \(revisions[$0.id] ?? 0)" },
    ]
  }
}
