/// A record of the edits of a collection, which combines them by offsets alone.
///
/// Its size depends on the edited elements only. It does not grow with the collection, nor with
/// repeated edits of the same elements.
@usableFromInline
package struct EditRecord: Sendable {
  private enum Contents: Sendable {
    case nothing
    /// Kept as it is, because most transactions have a single edit.
    case single(Changeset)
    case several(Combination)
  }

  private var contents = Contents.nothing

  /// Creates an empty record.
  @usableFromInline
  package init() {}

  /// A Boolean value that indicates whether there is no edit.
  @usableFromInline package var isEmpty: Bool {
    if case .nothing = contents { true } else { false }
  }

  /// Appends an edit of the collection after all previous edits.
  ///
  /// - Complexity: O(log *k*) on average for *k* edits, plus the size of the changeset.
  @usableFromInline
  package mutating func append(_ edit: Changeset) {
    var combination: Combination
    switch contents {
    case .nothing:
      contents = .single(edit)
      return
    case .single(let first):
      combination = Combination()
      combination.add(first)
    case .several(let earlier):
      combination = earlier
    }
    // The arrays must not be copied.
    contents = .nothing
    combination.add(edit)
    contents = .several(combination)
  }

  /// The number of ranges in the record.
  package var footprint: Int {
    if case .several(let combination) = contents { combination.footprint } else { 0 }
  }

  /// The combined change of all edits, with a minimal number of moves.
  ///
  /// An element that is inserted and removed again does not occur. An element that is removed and
  /// inserted again is both.
  ///
  /// - Complexity: O(*k* log *k*) for *k* edits.
  @usableFromInline package var changeset: Changeset {
    switch contents {
    case .nothing: .empty
    case .single(let edit): edit
    case .several(let combination): combination.changeset
    }
  }

  /// Several edits.
  private struct Combination: Sendable {
    /// The combination of all edits before the edits in `recent`.
    private var earlier = BinaryCounter<PartialInjection>()
    private var recent = EditedRanges()

    mutating func add(_ changeset: Changeset) {
      guard let edit = EditedRanges.Edit(changeset) else {
        settle()
        earlier.append(PartialInjection(changeset)) { $0.followed(by: $1) }
        return
      }
      recent.apply(edit)
      // Each edit walks along all recent ranges.
      if recent.count > 128 { settle() }
    }

    var footprint: Int { recent.count + earlier.values.reduce(0) { $0 + $1.stretchCount } }

    private mutating func settle() {
      guard !recent.isUntouched else { return }
      earlier.append(recent.injection) { $0.followed(by: $1) }
      recent = EditedRanges()
    }

    var changeset: Changeset {
      let before = earlier.total { $0.followed(by: $1) }
      if recent.isUntouched { return before?.changeset ?? .empty }
      let injection = recent.injection
      return (before?.followed(by: injection) ?? injection).changeset
    }
  }
}

/// A collection as a sequence of ranges of its old version and ranges of inserted elements.
///
/// Unlike `PartialInjection`, it includes inserted elements, and stores no new offsets. An edit
/// therefore changes nothing behind it.
struct EditedRanges: Sendable {
  /// An edit of one element, or of neighbors.
  enum Edit {
    /// The offsets after the insertion.
    case insertion(Range<Int>)
    /// The offsets before the removal.
    case removal(Range<Int>)
    /// The replacement of the element at an offset.
    case update(Int)
    /// The destination does not count the element itself.
    case move(from: Int, to: Int)

    /// Creates an edit from a changeset, or `nil` if it edits several elements that are no neighbors.
    init?(_ changeset: Changeset) {
      let count = changeset.changeCount
      if count == changeset.insertions.count, let range = Self.range(changeset.insertions) {
        self = .insertion(range)
      } else if count == changeset.deletions.count, let range = Self.range(changeset.deletions) {
        self = .removal(range)
      } else if let offset = changeset.updatedOffset {
        self = .update(offset)
      } else if count == 1, let move = changeset.moves.first {
        self = .move(from: move.from, to: move.to)
      } else {
        return nil
      }
    }

    /// The range of ascending offsets, or `nil` if there are none or gaps between them.
    private static func range(_ offsets: [Int]) -> Range<Int>? {
      guard let first = offsets.first, let last = offsets.last else { return nil }
      return last - first + 1 == offsets.count ? first..<last + 1 : nil
    }
  }

  private struct Stretch: Sendable {
    /// The old offset of the first element, or -1 if all elements are inserted.
    var old: Int
    var count: Int
    var isMoved = false
    var isUpdated = false

    var isInserted: Bool { old < 0 }

    /// Appends the following stretch to this one, if both are of the same kind and consecutive.
    mutating func extend(by next: Stretch) -> Bool {
      guard
        isInserted
          ? next.isInserted
          : old + count == next.old && isUpdated == next.isUpdated && isMoved == next.isMoved
      else { return false }
      count += next.count
      return true
    }
  }

  /// In the order of the new version. The last stretch is kept and endless.
  private var stretches = [Stretch(old: 0, count: PartialInjection.Stretch.endless)]
  private(set) var isUntouched = true

  /// The number of stretches.
  var count: Int { stretches.count }

  /// Applies an edit.
  ///
  /// - Complexity: O(`count`).
  mutating func apply(_ edit: Edit) {
    isUntouched = false
    switch edit {
    case .insertion(let range):
      insert(Stretch(old: -1, count: range.count), at: range.lowerBound)
    case .removal(let range):
      let first = split(at: range.lowerBound)
      stretches.removeSubrange(first..<split(at: range.upperBound))
      join(at: first)
    case .update(let offset):
      update(at: offset)
    case .move(let source, let destination):
      let index = split(at: source)
      _ = split(at: source + 1)
      var moved = stretches.remove(at: index)
      join(at: index)
      moved.isMoved = true
      insert(moved, at: destination)
    }
  }

  private mutating func insert(_ stretch: Stretch, at offset: Int) {
    let index = split(at: offset)
    stretches.insert(stretch, at: index)
    join(at: index + 1)
    join(at: index)
  }

  private mutating func update(at offset: Int) {
    let (index, start) = find(offset)
    if stretches[index].isInserted || stretches[index].isUpdated { return }
    var updated = stretches[index]
    let before = offset - start
    if before + 1 < updated.count {
      var rest = updated
      rest.old += before + 1
      rest.count = index == stretches.count - 1 ? rest.count : rest.count - before - 1
      stretches.insert(rest, at: index + 1)
    }
    updated.old += before
    updated.count = 1
    updated.isUpdated = true
    if before > 0 {
      stretches[index].count = before
      stretches.insert(updated, at: index + 1)
      join(at: index + 2)
    } else {
      stretches[index] = updated
      join(at: index + 1)
      join(at: index)
    }
  }

  /// Returns the stretch that contains an offset, and the offset at which it starts.
  private func find(_ offset: Int) -> (index: Int, start: Int) {
    var index = 0
    var start = 0
    while start + stretches[index].count <= offset {
      start += stretches[index].count
      index += 1
    }
    return (index, start)
  }

  /// Splits a stretch if necessary, to make a stretch begin at an offset.
  ///
  /// - Returns: The position of the stretch that begins there.
  private mutating func split(at offset: Int) -> Int {
    let (index, start) = find(offset)
    let count = offset - start
    if count == 0 { return index }
    var rest = stretches[index]
    if !rest.isInserted { rest.old += count }
    // The last stretch stays endless.
    if index < stretches.count - 1 { rest.count -= count }
    stretches[index].count = count
    stretches.insert(rest, at: index + 1)
    return index + 1
  }

  /// Joins a stretch with the previous one, if possible.
  private mutating func join(at index: Int) {
    guard index > 0, index < stretches.count else { return }
    let isLast = index == stretches.count - 1
    guard stretches[index - 1].extend(by: stretches[index]) else { return }
    stretches.remove(at: index)
    if isLast { stretches[index - 1].count = PartialInjection.Stretch.endless }
  }

  /// The pairing of the kept elements.
  ///
  /// - Complexity: O(*k*) for `count` stretches, or O(*k* log *k*) if some are out of order.
  var injection: PartialInjection {
    var list = StretchList(capacity: stretches.count)
    var new = 0
    for stretch in stretches {
      if !stretch.isInserted {
        list.append(
          PartialInjection.Stretch(
            old: stretch.old, new: new, count: stretch.count, isMoved: stretch.isMoved,
            isUpdated: stretch.isUpdated))
      }
      new += stretch.count
    }
    return PartialInjection(list.finish())
  }
}
