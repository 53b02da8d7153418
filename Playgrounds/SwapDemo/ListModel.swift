import Swappable

/// What the live list shows.
struct ListModel {
  /// A row of the list.
  struct Row {
    let item: Item
    /// The revision with which the row appeared: it stays while the row does.
    let since: Int
    /// What the last event did to it.
    var marks: Set<Mark> = []
  }

  /// What an event does to a row.
  enum Mark: String {
    case inserted = "+"
    case updated = "~"
    case movedUp = "^"
    case movedDown = "v"
  }

  private(set) var rows: [Row] = []
  private(set) var revision = 0
  /// The last event in words.
  private(set) var lastEvent = ""
  /// The store that is shown.
  var sourceName: String
  /// How that is doing.
  var status = SourceStatus.loaded
  /// Why the demo's own edits go wrong, if they do.
  var trouble: String?
  /// What the next change comes from; nil: from an edit.
  private var swapTarget: String?

  init(sourceName: String) {
    self.sourceName = sourceName
  }

  /// Takes in what an observer is told.
  mutating func show(_ event: CollectionEvent<Item>) {
    revision = event.revision
    switch event {
    case .initial(let items, let revision):
      rows = items.map { Row(item: $0, since: revision) }
      lastEvent = "initial: \(Words.rows(items.count))"
    case .change(let change):
      show(change)
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

  private mutating func show(_ change: CollectionChange<Item>) {
    let old = rows
    let inserted = repeatElement(change.revision, count: change.after.count)
    var since = change.changeset.applying(to: old.map(\.since), with: inserted)
    for update in change.changeset.updates { since[update.to] = old[update.from].since }
    rows = zip(change.after, since).map { Row(item: $0, since: $1) }
    for offset in change.changeset.insertions { rows[offset].marks.insert(.inserted) }
    for update in change.changeset.updates { rows[update.to].marks.insert(.updated) }
    for move in change.changeset.moves {
      rows[move.to].marks.insert(move.to < move.from ? .movedUp : .movedDown)
    }
  }
}
