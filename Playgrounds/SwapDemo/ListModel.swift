import Swappable
import TerminalViews

/// The state that the demo shows besides the list.
struct ListModel {
  /// A sentence about the last swap, or about the initial contents. It remains until the next swap.
  private(set) var swapSentence = ""
  /// A sentence about the last event since the last swap, usually an edit. It is empty if there was none.
  private(set) var editSentence = ""
  /// The revision with which each item appeared. It stays the same while the row remains in the
  /// list.
  private(set) var revisions: [Int: Int] = [:]
  /// The name of the store that is shown.
  private(set) var sourceName: String
  /// The error of the demo's last edit, if it failed.
  var editError: String?
  /// The store whose swap causes the next change, or `nil` if an edit causes it.
  private var swapTarget: String?

  init(sourceName: String) {
    self.sourceName = sourceName
  }

  /// Updates the state with an event.
  mutating func show(_ event: CollectionEvent<Item>) {
    switch event {
    case .initial(let items, let revision):
      revisions = Dictionary(items.map { ($0.id, revision) }) { first, _ in first }
      swapSentence = "initial: \(Words.rows(items.count))"
    case .change(let change):
      for item in change.deleted { revisions[item.element.id] = nil }
      for item in change.inserted { revisions[item.element.id] = change.revision }
      let description = Words.describe(change)
      if let swapTarget {
        swapSentence = "swapped to \(swapTarget): \(description)"
        editSentence = ""
      } else {
        editSentence = "\(sourceName) edited: \(description)"
      }
      swapTarget = nil
    }
  }

  /// Updates the state after a swap. The next change describes the difference.
  mutating func swapped(to name: String, _ outcome: SwapOutcome?) {
    switch outcome {
    case .swapped, nil:
      sourceName = name
      swapTarget = name
    case .unchanged:
      if name == sourceName {
        editSentence = "\(name) is already shown"
      } else {
        swapSentence = "swapped to \(name): the contents are equal, no event"
        editSentence = ""
      }
      sourceName = name
    case .failed(let error):
      swapSentence = "cannot swap to \(name): \(error)"
    case .superseded, .cancelled, .cycle:
      swapSentence = "the swap to \(name) was superseded or canceled"
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
