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
  /// The order of the list.
  private(set) var order = ItemOrder.stored
  /// A sentence about the change that a guard has refused, if there is one.
  var refusal: String?
  /// The error of the demo's last edit, if it failed.
  var editError: String?
  /// The cause of the next change.
  private var cause = Cause.edit

  private enum Cause {
    case edit
    case swap(to: String)
    case order(ItemOrder)
  }

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
      let edits = change.byIdentity
      for item in edits.deleted { revisions[item.id] = nil }
      for item in edits.inserted { revisions[item.id] = change.revision }
      let description = Words.describe(change)
      switch cause {
      case .edit: editSentence = "\(sourceName) edited: \(description)"
      case .swap(let name):
        swapSentence = "swapped to \(name): \(description)"
        editSentence = ""
      case .order(let order): editSentence = "sorted \(order.rawValue): \(description)"
      }
      cause = .edit
    }
  }

  /// Updates the state after a change of the order.
  ///
  /// - Parameters:
  ///   - order: The new order.
  ///   - isChange: A Boolean value that indicates whether the list changed. The next change then
  ///     describes the difference.
  mutating func sorted(_ order: ItemOrder, isChange: Bool) {
    self.order = order
    if isChange {
      cause = .order(order)
    } else {
      editSentence = "sorted \(order.rawValue): the rows are in this order already, no event"
    }
  }

  /// Updates the state after a swap. The next change describes the difference.
  mutating func swapped(to name: String, _ outcome: SwapHandle.Outcome?) {
    switch outcome {
    case .swapped, nil:
      sourceName = name
      cause = .swap(to: name)
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
