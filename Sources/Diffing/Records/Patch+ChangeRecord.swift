extension Patch {
  /// Creates the patch that does what a record says.
  ///
  /// - Parameters:
  ///   - record: The change.
  ///   - old: The version that the change was made from, which has the elements of its moves.
  /// - Throws: A ``ChangeMismatch`` where the old version is too short for the change.
  /// - Complexity: O(*k* log *k*) in the *k* offsets of the change.
  public init(
    _ record: ChangeRecord<Element>, from old: some RandomAccessCollection<Element>
  ) throws(ChangeMismatch) {
    try record.check(against: old.count)
    self.init(record, moved: { old.element(at: record.changeset.moves[$0].from) })
  }

  /// - Parameter moved: Tells the element of a move by its position.
  init(_ record: ChangeRecord<Element>, moved: (Int) -> Element) {
    self.init(
      record.changeset, deleted: { record.deleted[$0] }, moved: moved,
      inserted: { record.inserted[$0] }, updated: { (record.replaced[$0], record.updated[$0]) })
  }
}

extension ChangeRecord {
  /// Creates the record of what the steps of a patch do, one after the other.
  ///
  /// What the steps bring and take away again is not there, what they update twice is updated once.
  /// Elements move that steps have moved, and no others, as few of them as will do.
  ///
  /// - Parameter patch: The steps. No offset is negative, or beyond 2 to the 61st power.
  /// - Complexity: O(*k* log *k*) for *k* steps.
  public init(_ patch: Patch<Element>) {
    var replay = PatchReplay<Element>()
    for step in patch.steps {
      precondition(step.faultyOffset == nil, "\(step.faultyOffset ?? 0) is no offset")
      replay.apply(step)
    }
    self = replay.record()
  }
}

extension ElementChange {
  /// An offset that cannot be one.
  var faultyOffset: Int? {
    let offsets =
      switch self {
      case .insert(_, let offset), .remove(_, let offset), .update(_, _, let offset): [offset]
      case .move(_, let source, let destination): [source, destination]
      }
    return offsets.first { !offsetBounds.contains($0) }
  }
}

/// Where offsets can lie, with room for counting further.
let offsetBounds = 0..<Int.max / 4
