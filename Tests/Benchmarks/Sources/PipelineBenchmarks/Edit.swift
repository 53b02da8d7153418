import Swappable

/// An edit of one row.
struct Edit {
  enum Kind: String, CaseIterable {
    /// A new title: neither the place nor the membership of the row changes in any list.
    case update
    /// A new value, with which the row moves in sorted lists, and enters or leaves filtered lists.
    case change
    case insert
    case delete
    case move
  }

  let kind: Kind
  let offset: Int
  /// The destination of a move.
  let destination: Int
  /// The row of an insertion. The title is also that of an update.
  let row: Row

  func apply(to rows: ArrayDataSource<Row>) {
    switch kind {
    case .update: rows.update(at: offset) { $0.title = row.title }
    case .change: rows.update(at: offset) { $0.change() }
    case .insert: rows.insert(row, at: offset)
    case .delete: rows.remove(at: offset)
    case .move: rows.move(from: offset, to: destination)
    }
  }

  func apply(to draft: CollectionDraft<Row>) {
    switch kind {
    case .update: draft.update(at: offset) { $0.title = row.title }
    case .change: draft.update(at: offset) { $0.change() }
    case .insert: draft.insert(row, at: offset)
    case .delete: draft.remove(at: offset)
    case .move: draft.move(from: offset, to: destination)
    }
  }
}

/// A source of edits that are valid one after the other. All lists receive the same edits.
///
/// Edits affect rows in the middle half of the list that filters keep, so each of them affects each derived list.
/// Changes affect any rows in the middle half.
struct EditGenerator {
  private var generator: RowGenerator
  /// Indicates for each row whether filters keep it.
  private var passes: [Bool]

  init(_ rows: [Row], _ generator: RowGenerator) {
    passes = rows.map(\.passes)
    self.generator = generator
  }

  /// Returns edits of one kind.
  mutating func edits(_ kind: Edit.Kind, count: Int) -> [Edit] {
    (0..<count).map { _ in edit(kind) }
  }

  /// Returns edits of all kinds, which leave the number of rows as it is.
  mutating func mixedEdits(count: Int) -> [Edit] {
    let kinds: [Edit.Kind] = [.update, .insert, .change, .delete, .move]
    return (0..<count).map { edit(kinds[$0 % kinds.count]) }
  }

  private mutating func edit(_ kind: Edit.Kind) -> Edit {
    let edit = Edit(
      kind: kind, offset: kind == .change ? middleOffset() : passingOffset(),
      destination: middleOffset(), row: generator.passingRow())
    switch kind {
    case .update: break
    case .change: passes[edit.offset].toggle()
    case .insert: passes.insert(true, at: edit.offset)
    case .delete: passes.remove(at: edit.offset)
    case .move: passes.insert(passes.remove(at: edit.offset), at: edit.destination)
    }
    return edit
  }

  private mutating func middleOffset() -> Int {
    passes.count / 4 + generator.number(below: passes.count / 2)
  }

  /// Returns the offset of a row that filters keep.
  private mutating func passingOffset() -> Int {
    while true {
      let offset = middleOffset()
      if passes[offset] { return offset }
    }
  }
}
