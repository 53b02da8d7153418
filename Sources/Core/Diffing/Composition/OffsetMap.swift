import SwappablePrimitives

/// A map from the offsets of the old version to the offsets of the new version.
///
/// It consists of segments of consecutive elements. Its size depends on the number of changes, not
/// on the size of the collections. The last segment is endless, because nothing changes behind the
/// last change.
@usableFromInline
package struct OffsetMap: Sendable {
  /// Kept elements that are consecutive in both versions.
  @usableFromInline
  struct Segment: Sendable {
    /// The old offset of the first element.
    @usableFromInline var old: Int
    /// The new offset of the first element.
    @usableFromInline var new: Int
    /// The number of elements.
    @usableFromInline var count: Int
    /// A Boolean value that indicates whether the elements have been moved. Elements that were
    /// never moved are in order.
    var isMoved = false
    var isUpdated = false

    /// The count of the endless segment. It leaves room for the addition of an offset.
    static var endless: Int { 1 << (Int.bitWidth - 2) }

    /// Returns the segment without its first elements.
    func dropping(_ count: Int) -> Segment {
      var rest = self
      rest.old += count
      rest.new += count
      rest.count -= count
      return rest
    }

    /// Appends the following segment to this one, if both are consecutive and of the same kind.
    mutating func extend(by next: Segment) -> Bool {
      guard
        old + count == next.old, new + count == next.new, isUpdated == next.isUpdated,
        isMoved == next.isMoved
      else { return false }
      count += next.count
      return true
    }
  }

  /// The segments by ascending new offset. The last one is endless, and is also the last one by
  /// old offset.
  let segments: [Segment]

  /// The positions of the segments by ascending old offset, or `nil` if all are in order.
  let byOld: [Int]?

  /// The number of segments, which is at most twice the number of operations plus one.
  package var segmentCount: Int { segments.count }

  /// Creates a map from segments by ascending new offset, of which the last one is endless.
  ///
  /// - Complexity: O(*k*) if all are in order, otherwise O(*k* log *k*).
  init(_ segments: [Segment]) {
    let isInOrder = zip(segments, segments.dropFirst()).allSatisfy { $0.old < $1.old }
    self.init(
      segments,
      byOld: isInOrder
        ? nil : segments.indices.sorted { segments[$0].old < segments[$1].old })
  }

  init(_ segments: [Segment], byOld: [Int]?) {
    self.segments = segments
    self.byOld = byOld
  }

  /// Creates the map that a changeset describes.
  ///
  /// - Complexity: O(*k* log *k*) in the *k* offsets, or O(*k*) without moves.
  package init(_ change: Changeset) {
    self.init(SegmentList(change, markedBy: change.updates).finish())
  }
}

extension OffsetMap {
  /// The new offset of the element at an old offset, or `nil` if the element was deleted.
  ///
  /// - Complexity: O(log *k*) for *k* segments.
  package subscript(old: Int) -> Int? {
    let segment = segment(byOld: positionByOld(of: old))
    return old < segment.old ? nil : segment.new + old - segment.old
  }

  /// Returns the old offset of the element at a new offset, or `nil` if the element was inserted.
  ///
  /// - Complexity: O(log *k*) for *k* segments.
  func origin(of new: Int) -> Int? {
    let segment = segments[segments.partitioningIndex { $0.new + $0.count > new }]
    return new < segment.new ? nil : segment.old + new - segment.new
  }

  /// Returns the new offset of the nearest kept element.
  ///
  /// This is the element at the old offset, or else the next kept element, or else the last kept
  /// element before it.
  ///
  /// - Parameters:
  ///   - old: The old offset.
  ///   - count: The number of elements in the old version.
  /// - Returns: The new offset, or `nil` if no element was kept or the old offset is not below
  ///   `count`.
  package func nearest(to old: Int, count: Int) -> Int? {
    guard old < count else { return nil }
    let position = positionByOld(of: old)
    let next = segment(byOld: position)
    if next.old <= old { return next.new + old - next.old }
    if next.old < count { return next.new }
    if position == 0 { return nil }
    let previous = segment(byOld: position - 1)
    return previous.new + previous.count - 1
  }

  /// Returns the segment at a position by ascending old offset.
  private func segment(byOld position: Int) -> Segment { segments[byOld?[position] ?? position] }

  /// Returns the position, by ascending old offset, of the first segment that ends after an old offset.
  private func positionByOld(of old: Int) -> Int {
    segments.indices.partitioningIndex { position in
      let segment = segment(byOld: position)
      return segment.old + segment.count > old
    }
  }
}

extension OffsetMap {
  /// Returns the changeset of this map, with a minimal number of moves.
  ///
  /// - Parameter movesOthers: A Boolean value that indicates whether elements that were never moved
  ///   can move, if fewer elements then move.
  /// - Complexity: O(*k*) if all segments are in order, otherwise O(*k* log *k*).
  func changeset(movesOthers: Bool = true) -> Changeset {
    var insertions: [Int] = []
    var updates: [Changeset.Update] = []
    var new = 0
    for segment in segments {
      if segment.new > new { insertions.append(contentsOf: new..<segment.new) }
      new = segment.new + segment.count
      guard segment.isUpdated else { continue }
      for step in 0..<segment.count {
        updates.append(Changeset.Update(from: segment.old + step, to: segment.new + step))
      }
    }
    var deletions: [Int] = []
    var old = 0
    for position in segments.indices {
      let segment = segment(byOld: position)
      if segment.old > old { deletions.append(contentsOf: old..<segment.old) }
      old = segment.old + segment.count
    }
    return Changeset(
      uncheckedDeletions: deletions, insertions: insertions,
      moves: byOld == nil ? [] : moves(ofOthers: movesOthers), updates: updates)
  }

  /// Returns a minimal set of moves that brings all elements into order, by ascending destination.
  ///
  /// Among several, it prefers the elements that have been moved, then updated elements, and then elements whose
  /// offsets differ.
  private func moves(ofOthers movesOthers: Bool) -> [Changeset.Move] {
    // Elements that were never moved are in order, so at most all others need to move. A segment
    // longer than all others together never moves. Its weight is limited to just above theirs, so
    // no weight is endless.
    let heaviest = segments.reduce(0) { $0 + ($1.isMoved ? $1.count : 0) } + 1
    // A moved element weighs more than all updated ones together.
    let updateCount = segments.reduce(0) { $0 + ($1.isUpdated ? min(heaviest, $1.count) : 0) }
    var runs: [Run] = []
    var oldEnd = -1
    for segment in segments {
      if segment.old != oldEnd { runs.append(Run(start: segment.old)) }
      oldEnd = segment.old + segment.count
      let run = runs.count - 1
      let count = segment.isMoved || movesOthers ? min(heaviest, segment.count) : heaviest
      runs[run].count = min(heaviest, runs[run].count + count)
      runs[run].editWeight +=
        (segment.isMoved ? count * (updateCount + 1) : 0) + (segment.isUpdated ? count : 0)
      if segment.old == segment.new { runs[run].fixedCount += count }
    }
    let count = runs.reduce(0) { $0 + $1.count }
    let weight = runs.reduce(0) { $0 + $1.editWeight }
    // If millions of elements move, a weight that includes the edits could overflow.
    let canWeighEdits = !count.multipliedReportingOverflow(by: weight + 1).overflow
    if !canWeighEdits { for run in runs.indices { runs[run].editWeight = 0 } }
    let stays = runs.heaviestIncreasingSubsequence(
      maximumEditWeight: canWeighEdits ? weight : 0)

    var moves: [Changeset.Move] = []
    var run = -1
    oldEnd = -1
    for segment in segments {
      if segment.old != oldEnd { run += 1 }
      oldEnd = segment.old + segment.count
      guard !stays[run] else { continue }
      for step in 0..<segment.count {
        moves.append(Changeset.Move(from: segment.old + step, to: segment.new + step))
      }
    }
    return moves
  }
}

extension OffsetMap {
  /// Returns the combined map of this one and the next one.
  ///
  /// The segments of both are split at each other's borders. The result consists of the pieces
  /// that both keep.
  ///
  /// - Parameter next: A map whose old version is the new version of this one.
  /// - Complexity: O(*k*) for *k* segments in both.
  package func followed(by next: OffsetMap) -> OffsetMap {
    let capacity = segments.count + next.segments.count
    var list = SegmentList(capacity: capacity)
    if byOld == nil && next.byOld == nil {
      forEachPiece(with: next) { piece, _, _ in list.append(piece) }
      return OffsetMap(list.finish(), byOld: nil)
    }

    // By ascending offset in the version between the two. In that version, the pieces of one
    // segment are neighbors, and are in the same order as on its other side.
    var pieces: [Segment] = []
    pieces.reserveCapacity(capacity)
    var parts = [Range<Int>](repeating: 0..<0, count: segments.count)
    var nextParts = [Range<Int>](repeating: 0..<0, count: next.segments.count)
    forEachPiece(with: next) { piece, first, second in
      let index = pieces.count
      parts[first] = (parts[first].isEmpty ? index : parts[first].lowerBound)..<index + 1
      nextParts[second] =
        (nextParts[second].isEmpty ? index : nextParts[second].lowerBound)..<index + 1
      pieces.append(piece)
    }

    var positions = [Int](repeating: 0, count: pieces.count)
    for part in nextParts {
      for piece in part {
        list.append(pieces[piece])
        positions[piece] = list.count - 1
      }
    }
    var order: [Int] = []
    order.reserveCapacity(list.count)
    var isInOrder = true
    for segment in segments.indices {
      for piece in parts[byOld?[segment] ?? segment] where positions[piece] != order.last {
        if positions[piece] != order.count { isInOrder = false }
        order.append(positions[piece])
      }
    }
    return OffsetMap(list.finish(), byOld: isInOrder ? nil : order)
  }

  /// Visits the intersections of the segments of both maps, by ascending offset in the version
  /// between them.
  private func forEachPiece(
    with next: OffsetMap, _ body: (_ piece: Segment, _ first: Int, _ second: Int) -> Void
  ) {
    var one = 0
    var two = 0
    while one < segments.count && two < next.segments.count {
      let position = next.byOld?[two] ?? two
      let (first, second) = (segments[one], next.segments[position])
      let (firstEnd, secondEnd) = (first.new + first.count, second.old + second.count)
      let (start, end) = (max(first.new, second.old), min(firstEnd, secondEnd))
      if start < end {
        let piece = Segment(
          old: first.old + (start - first.new), new: second.new + (start - second.old),
          count: end - start, isMoved: first.isMoved || second.isMoved,
          isUpdated: first.isUpdated || second.isUpdated)
        body(piece, one, position)
      }
      if firstEnd < secondEnd { one += 1 } else { two += 1 }
    }
  }

  /// Returns the combined map of consecutive maps.
  ///
  /// - Complexity: O(*k* log *m*) for *m* maps with *k* segments in all.
  static func composed(of parts: some Sequence<OffsetMap>) -> OffsetMap {
    var counter = BinaryCounter<OffsetMap>()
    for part in parts { counter.append(part) { $0.followed(by: $1) } }
    return counter.total { $0.followed(by: $1) } ?? OffsetMap(.empty)
  }

  /// Returns this map with additional kept elements.
  ///
  /// - Parameters:
  ///   - pairs: Old and new offsets of elements that are not kept so far, by ascending new offset.
  ///   - isUpdated: A closure that indicates whether the content of a pair differs.
  /// - Complexity: O(*k* log *k*) in all segments and pairs.
  func keeping(
    _ pairs: [Changeset.Update], isUpdated: (Changeset.Update) -> Bool
  ) -> OffsetMap {
    var list = SegmentList(capacity: segments.count + pairs.count)
    var pair = 0
    for segment in segments {
      while pair < pairs.count && pairs[pair].to < segment.new {
        list.append(
          Segment(
            old: pairs[pair].from, new: pairs[pair].to, count: 1, isMoved: true,
            isUpdated: isUpdated(pairs[pair])))
        pair += 1
      }
      list.append(segment)
    }
    return OffsetMap(list.finish())
  }
}

/// A minimal list of segments by ascending new offset, from which a map is made.
@usableFromInline
struct SegmentList: Sendable {
  @usableFromInline typealias Segment = OffsetMap.Segment

  @usableFromInline var segments: [Segment] = []

  init(_ segments: [Segment]) {
    self.segments = segments
  }

  /// - Parameter capacity: The expected number of segments.
  init(capacity: Int) {
    segments.reserveCapacity(capacity)
  }

  var count: Int { segments.count }

  /// Creates the segments of the elements that a changeset keeps.
  ///
  /// - Parameters:
  ///   - change: The changeset.
  ///   - updates: The elements to mark as updated, by ascending new offset.
  /// - Complexity: O(*k* log *k*) in the *k* offsets, or O(*k*) without moves.
  @usableFromInline
  init(_ change: Changeset, markedBy updates: [Changeset.Update] = []) {
    let (insertions, moves, removals) = (change.insertions, change.moves, change.removals)
    self.init(capacity: 2 * change.changeCount + 1)
    var (insertion, move, removal, update) = (0, 0, 0, 0)
    /// Appends a segment, and marks its updated elements.
    func appendMarked(_ segment: Segment) {
      var rest = segment
      while update < updates.count, updates[update].to < segment.new + segment.count {
        let count = updates[update].to - rest.new
        update += 1
        guard count >= 0 else { continue }
        var part = rest
        part.count = count
        append(part)
        part = rest.dropping(count)
        part.count = 1
        part.isUpdated = true
        append(part)
        rest = rest.dropping(count + 1)
      }
      append(rest)
    }
    // The offsets at which the elements that stay continue.
    var (old, new) = (0, 0)
    while true {
      let nextInsertion = insertion < insertions.count ? insertions[insertion] : .max
      let nextMove = move < moves.count ? moves[move].to : .max
      let nextRemoval = removal < removals.count ? removals[removal] : .max
      let arrival = min(nextInsertion, nextMove)
      if arrival == .max && nextRemoval == .max { break }
      let count = min(arrival - new, nextRemoval - old)
      if count > 0 {
        appendMarked(Segment(old: old, new: new, count: count))
        old += count
        new += count
      } else if nextRemoval <= old {
        removal += 1
        old += 1
      } else {
        if nextMove < nextInsertion {
          appendMarked(Segment(old: moves[move].from, new: new, count: 1, isMoved: true))
          move += 1
        } else {
          insertion += 1
        }
        new += 1
      }
    }
    appendMarked(Segment(old: old, new: new, count: Segment.endless))
  }

  mutating func append(_ segment: Segment) {
    guard segment.count > 0 else { return }
    if let last = segments.indices.last, segments[last].extend(by: segment) { return }
    segments.append(segment)
  }

  /// Returns the segments. The last one becomes endless again, because editing may have changed
  /// its count.
  consuming func finish() -> [Segment] {
    segments[count - 1].count = Segment.endless
    return segments
  }
}

/// A list that combines consecutive values, each of them in only few combinations.
///
/// The entries work like the digits of a binary number. Each entry combines at least twice as many
/// values as the next one. If two entries have the same level, they are combined, and the result
/// carries over.
package struct BinaryCounter<Value> {
  private var entries: [(level: Int, value: Value)] = []

  package init() {}

  /// The entries that are not combined with each other yet, in order.
  var values: [Value] { entries.map(\.value) }

  /// Appends a value.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - combine: A closure that combines two consecutive values. It is called O(1) times on
  ///     average, and each of *m* values takes part in O(log *m*) calls.
  package mutating func append(_ value: Value, combine: (Value, Value) -> Value) {
    var (level, value) = (0, value)
    while let last = entries.last, last.level == level {
      entries.removeLast()
      value = combine(last.value, value)
      level += 1
    }
    entries.append((level, value))
  }

  /// Returns the combination of all values, or `nil` if there are none.
  package func total(combine: (Value, Value) -> Value) -> Value? {
    // Begin with the smallest entries.
    entries.last.map { last in
      entries.dropLast().reversed().reduce(last.value) { combine($1.value, $0) }
    }
  }
}

extension BinaryCounter: Sendable where Value: Sendable {}
