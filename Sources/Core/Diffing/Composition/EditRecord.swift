import SwappablePrimitives

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

  @usableFromInline package var isEmpty: Bool {
    if case .nothing = contents { true } else { false }
  }

  /// Appends an edit of the collection after all previous edits.
  ///
  /// - Complexity: O(log *k*) on average for *k* edits, plus the size of the changeset.
  @usableFromInline
  package mutating func append(_ edit: consuming Changeset) {
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

  /// Removes all edits, and returns their combined change, with a minimal number of moves.
  ///
  /// An element that is inserted and removed again does not occur. An element that is removed and
  /// inserted again is both.
  ///
  /// - Complexity: O(*k* log *k*) for *k* edits.
  @usableFromInline
  package mutating func takeChangeset() -> Changeset {
    var taken = Contents.nothing
    swap(&taken, &contents)
    switch consume taken {
    case .nothing: return .empty
    case .single(let edit): return edit
    case .several(let combination): return combination.changeset
    }
  }

  /// Several edits.
  private struct Combination: Sendable {
    /// The combination of all edits before the edits in `recent`.
    private var earlier = BinaryCounter<OffsetMap>()
    private var recent = SegmentList.untouched

    mutating func add(_ changeset: Changeset) {
      guard let edit = Edit(changeset) else {
        settle()
        earlier.append(OffsetMap(changeset)) { $0.followed(by: $1) }
        return
      }
      recent.apply(edit)
      // Each edit shifts all recent segments behind it.
      if recent.count > 128 { settle() }
    }

    var footprint: Int { recent.count + earlier.values.reduce(0) { $0 + $1.segmentCount } }

    private mutating func settle() {
      guard !recent.isUntouched else { return }
      earlier.append(OffsetMap(recent.finish())) { $0.followed(by: $1) }
      recent = .untouched
    }

    var changeset: Changeset {
      var combination = self
      combination.settle()
      return combination.earlier.total { $0.followed(by: $1) }?.changeset() ?? .empty
    }
  }
}

extension EditRecord {
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
}

extension SegmentList {
  /// The map of two equal versions.
  static let untouched = SegmentList([Segment(old: 0, new: 0, count: Segment.endless)])

  var isUntouched: Bool { count == 1 && segments[0].old == 0 && segments[0].new == 0 }

  /// Applies an edit to the new version.
  ///
  /// - Complexity: O(`count`).
  mutating func apply(_ edit: EditRecord.Edit) {
    switch edit {
    case .insertion(let range):
      shift(from: split(at: range.lowerBound), by: range.count)
    case .removal(let range):
      let first = split(at: range.lowerBound)
      segments.removeSubrange(first..<split(at: range.upperBound))
      shift(from: first, by: -range.count)
      merge(at: first)
    case .update(let offset):
      let segment = segments[position(of: offset)]
      // An inserted element stays an insertion.
      if offset < segment.new || segment.isUpdated { return }
      let index = split(at: offset)
      _ = split(at: offset + 1)
      segments[index].isUpdated = true
      merge(at: index + 1)
      merge(at: index)
    case .move(let source, let destination):
      let segment = segments[position(of: source)]
      apply(.removal(source..<source + 1))
      apply(.insertion(destination..<destination + 1))
      if source < segment.new { return }
      let index = split(at: destination)
      let moved = Segment(
        old: segment.old + source - segment.new, new: destination, count: 1, isMoved: true,
        isUpdated: segment.isUpdated)
      segments.insert(moved, at: index)
      merge(at: index + 1)
      merge(at: index)
    }
  }

  /// Returns the position of the first segment that ends after an offset.
  private func position(of offset: Int) -> Int {
    segments.partitioningIndex { $0.new + $0.count > offset }
  }

  /// Splits a segment if necessary, to make no segment contain elements on both sides of an offset.
  ///
  /// - Returns: The position of the first segment behind the offset.
  private mutating func split(at offset: Int) -> Int {
    let index = position(of: offset)
    let count = offset - segments[index].new
    if count <= 0 { return index }
    segments.insert(segments[index].dropping(count), at: index + 1)
    segments[index].count = count
    return index + 1
  }

  private mutating func shift(from first: Int, by distance: Int) {
    for position in first..<count { segments[position].new += distance }
  }

  /// Joins a segment with the previous one, if both are consecutive and of the same kind.
  private mutating func merge(at index: Int) {
    guard index > 0, index < count, segments[index - 1].extend(by: segments[index]) else {
      return
    }
    segments.remove(at: index)
  }
}
