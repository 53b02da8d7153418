import SwappablePrimitives

/// A map from the offsets of the old version to the offsets of the new version.
///
/// It consists of stretches of consecutive elements. Its size depends on the number of changes, not
/// on the size of the collections. The last stretch is endless, because nothing changes behind the
/// last change.
@usableFromInline
package struct OffsetMap: Sendable {
  /// Kept elements that are consecutive in both versions.
  @usableFromInline
  struct Stretch: Sendable {
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

    /// The count of the endless stretch. It leaves room for the addition of an offset.
    static var endless: Int { 1 << (Int.bitWidth - 2) }

    /// Returns the stretch without its first elements.
    func dropping(_ count: Int) -> Stretch {
      var rest = self
      rest.old += count
      rest.new += count
      rest.count -= count
      return rest
    }

    /// Appends the following stretch to this one, if both are consecutive and of the same kind.
    mutating func extend(by next: Stretch) -> Bool {
      guard
        old + count == next.old, new + count == next.new, isUpdated == next.isUpdated,
        isMoved == next.isMoved
      else { return false }
      count += next.count
      return true
    }
  }

  /// The stretches by ascending new offset. The last one is endless, and is also the last one by
  /// old offset.
  let stretches: [Stretch]

  /// The positions of the stretches by ascending old offset, or `nil` if all are in order.
  let byOld: [Int]?

  /// The number of stretches, which is at most twice the number of operations plus one.
  package var stretchCount: Int { stretches.count }

  /// Creates a map from stretches by ascending new offset, of which the last one is endless.
  ///
  /// - Complexity: O(*k*) if all are in order, otherwise O(*k* log *k*).
  init(_ stretches: [Stretch]) {
    let isInOrder = zip(stretches, stretches.dropFirst()).allSatisfy { $0.old < $1.old }
    self.init(
      stretches,
      byOld: isInOrder
        ? nil : stretches.indices.sorted { stretches[$0].old < stretches[$1].old })
  }

  init(_ stretches: [Stretch], byOld: [Int]?) {
    self.stretches = stretches
    self.byOld = byOld
  }

  /// Creates the map that a changeset describes.
  ///
  /// - Complexity: O(*k* log *k*) in the *k* offsets, or O(*k*) without moves.
  package init(_ change: Changeset) {
    self.init(StretchList(change, markedBy: change.updates).finish())
  }
}

extension OffsetMap {
  /// The new offset of the element at an old offset, or `nil` if the element was deleted.
  ///
  /// - Complexity: O(log *k*) for *k* stretches.
  package subscript(old: Int) -> Int? {
    let stretch = stretch(byOld: positionByOld(of: old))
    return old < stretch.old ? nil : stretch.new + old - stretch.old
  }

  /// Returns the old offset of the element at a new offset, or `nil` if the element was inserted.
  ///
  /// - Complexity: O(log *k*) for *k* stretches.
  func origin(of new: Int) -> Int? {
    let stretch = stretches[stretches.partitioningIndex { $0.new + $0.count > new }]
    return new < stretch.new ? nil : stretch.old + new - stretch.new
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
    let next = stretch(byOld: position)
    if next.old <= old { return next.new + old - next.old }
    if next.old < count { return next.new }
    if position == 0 { return nil }
    let previous = stretch(byOld: position - 1)
    return previous.new + previous.count - 1
  }

  /// Returns the stretch at a position by ascending old offset.
  private func stretch(byOld position: Int) -> Stretch { stretches[byOld?[position] ?? position] }

  /// Returns the position, by ascending old offset, of the first stretch that ends after an old offset.
  private func positionByOld(of old: Int) -> Int {
    stretches.indices.partitioningIndex { position in
      let stretch = stretch(byOld: position)
      return stretch.old + stretch.count > old
    }
  }
}

extension OffsetMap {
  /// Returns the changeset of this map, with a minimal number of moves.
  ///
  /// - Parameter movesOthers: A Boolean value that indicates whether elements that were never moved
  ///   can move, if fewer elements then move.
  /// - Complexity: O(*k*) if all stretches are in order, otherwise O(*k* log *k*).
  func changeset(movesOthers: Bool = true) -> Changeset {
    var insertions: [Int] = []
    var updates: [Changeset.Update] = []
    var new = 0
    for stretch in stretches {
      if stretch.new > new { insertions.append(contentsOf: new..<stretch.new) }
      new = stretch.new + stretch.count
      guard stretch.isUpdated else { continue }
      for step in 0..<stretch.count {
        updates.append(Changeset.Update(from: stretch.old + step, to: stretch.new + step))
      }
    }
    var deletions: [Int] = []
    var old = 0
    for position in stretches.indices {
      let stretch = stretch(byOld: position)
      if stretch.old > old { deletions.append(contentsOf: old..<stretch.old) }
      old = stretch.old + stretch.count
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
    // Elements that were never moved are in order, so at most all others need to move. A stretch
    // longer than all others together never moves. Its weight is limited to just above theirs, so
    // no weight is endless.
    let heaviest = stretches.reduce(0) { $0 + ($1.isMoved ? $1.count : 0) } + 1
    // A moved element weighs more than all updated ones together.
    let updateCount = stretches.reduce(0) { $0 + ($1.isUpdated ? min(heaviest, $1.count) : 0) }
    var runs: [Run] = []
    var oldEnd = -1
    for stretch in stretches {
      if stretch.old != oldEnd { runs.append(Run(start: stretch.old)) }
      oldEnd = stretch.old + stretch.count
      let run = runs.count - 1
      let count = stretch.isMoved || movesOthers ? min(heaviest, stretch.count) : heaviest
      runs[run].count = min(heaviest, runs[run].count + count)
      runs[run].editWeight +=
        (stretch.isMoved ? count * (updateCount + 1) : 0) + (stretch.isUpdated ? count : 0)
      if stretch.old == stretch.new { runs[run].fixedCount += count }
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
    for stretch in stretches {
      if stretch.old != oldEnd { run += 1 }
      oldEnd = stretch.old + stretch.count
      guard !stays[run] else { continue }
      for step in 0..<stretch.count {
        moves.append(Changeset.Move(from: stretch.old + step, to: stretch.new + step))
      }
    }
    return moves
  }
}

extension OffsetMap {
  /// Returns the combined map of this one and the next one.
  ///
  /// The stretches of both are split at each other's borders. The result consists of the pieces
  /// that both keep.
  ///
  /// - Parameter next: A map whose old version is the new version of this one.
  /// - Complexity: O(*k*) for *k* stretches in both.
  package func followed(by next: OffsetMap) -> OffsetMap {
    let capacity = stretches.count + next.stretches.count
    var list = StretchList(capacity: capacity)
    if byOld == nil && next.byOld == nil {
      forEachPiece(with: next) { piece, _, _ in list.append(piece) }
      return OffsetMap(list.finish(), byOld: nil)
    }

    // By ascending offset in the version between the two. In that version, the pieces of one
    // stretch are neighbors, and are in the same order as on its other side.
    var pieces: [Stretch] = []
    pieces.reserveCapacity(capacity)
    var parts = [Range<Int>](repeating: 0..<0, count: stretches.count)
    var nextParts = [Range<Int>](repeating: 0..<0, count: next.stretches.count)
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
    for stretch in stretches.indices {
      for piece in parts[byOld?[stretch] ?? stretch] where positions[piece] != order.last {
        if positions[piece] != order.count { isInOrder = false }
        order.append(positions[piece])
      }
    }
    return OffsetMap(list.finish(), byOld: isInOrder ? nil : order)
  }

  /// Visits the intersections of the stretches of both maps, by ascending offset in the version
  /// between them.
  private func forEachPiece(
    with next: OffsetMap, _ body: (_ piece: Stretch, _ first: Int, _ second: Int) -> Void
  ) {
    var one = 0
    var two = 0
    while one < stretches.count && two < next.stretches.count {
      let position = next.byOld?[two] ?? two
      let (first, second) = (stretches[one], next.stretches[position])
      let (firstEnd, secondEnd) = (first.new + first.count, second.old + second.count)
      let (start, end) = (max(first.new, second.old), min(firstEnd, secondEnd))
      if start < end {
        let piece = Stretch(
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
  /// - Complexity: O(*k* log *m*) for *m* maps with *k* stretches in all.
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
  /// - Complexity: O(*k* log *k*) in all stretches and pairs.
  func keeping(
    _ pairs: [Changeset.Update], isUpdated: (Changeset.Update) -> Bool
  ) -> OffsetMap {
    var list = StretchList(capacity: stretches.count + pairs.count)
    var pair = 0
    for stretch in stretches {
      while pair < pairs.count && pairs[pair].to < stretch.new {
        list.append(
          Stretch(
            old: pairs[pair].from, new: pairs[pair].to, count: 1, isMoved: true,
            isUpdated: isUpdated(pairs[pair])))
        pair += 1
      }
      list.append(stretch)
    }
    return OffsetMap(list.finish())
  }
}

/// A minimal list of stretches by ascending new offset, from which a map is made.
@usableFromInline
struct StretchList: Sendable {
  @usableFromInline typealias Stretch = OffsetMap.Stretch

  @usableFromInline var stretches: [Stretch] = []

  init(_ stretches: [Stretch]) {
    self.stretches = stretches
  }

  /// - Parameter capacity: The expected number of stretches.
  init(capacity: Int) {
    stretches.reserveCapacity(capacity)
  }

  var count: Int { stretches.count }

  /// Creates the stretches of the elements that a changeset keeps.
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
    /// Appends a stretch, and marks its updated elements.
    func appendMarked(_ stretch: Stretch) {
      var rest = stretch
      while update < updates.count, updates[update].to < stretch.new + stretch.count {
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
        appendMarked(Stretch(old: old, new: new, count: count))
        old += count
        new += count
      } else if nextRemoval <= old {
        removal += 1
        old += 1
      } else {
        if nextMove < nextInsertion {
          appendMarked(Stretch(old: moves[move].from, new: new, count: 1, isMoved: true))
          move += 1
        } else {
          insertion += 1
        }
        new += 1
      }
    }
    appendMarked(Stretch(old: old, new: new, count: Stretch.endless))
  }

  mutating func append(_ stretch: Stretch) {
    guard stretch.count > 0 else { return }
    if let last = stretches.indices.last, stretches[last].extend(by: stretch) { return }
    stretches.append(stretch)
  }

  /// Returns the stretches. The last one becomes endless again, because editing may have changed
  /// its count.
  consuming func finish() -> [Stretch] {
    stretches[count - 1].count = Stretch.endless
    return stretches
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
