/// A pairing of the elements of an old version with the elements of a new one.
///
/// It consists of stretches of consecutive elements. Its size depends on the number of changes, not
/// on the size of the collections. The last stretch is endless, because nothing changes behind the
/// last change.
package struct PartialInjection: Sendable {
  /// Kept elements that are consecutive in both versions.
  struct Stretch: Sendable {
    /// The old offset of the first element.
    var old: Int
    /// The new offset of the first element.
    var new: Int
    /// The number of elements.
    var count: Int
    /// A Boolean value that indicates whether the elements have been moved. Elements that were
    /// never moved are in order.
    var isMoved = false
    /// A Boolean value that indicates whether the contents may differ.
    var isUpdated = false

    /// The count of the endless stretch. It leaves room for the addition of an offset.
    static var endless: Int { 1 << (Int.bitWidth - 2) }

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

  /// Creates a pairing from stretches by ascending new offset, of which the last one is endless.
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

  /// Creates the pairing that a changeset describes.
  ///
  /// - Complexity: O(*k* log *k*) in the *k* offsets, or O(*k*) without moves.
  package init(_ change: Changeset) {
    let (insertions, moves, removals) = (change.insertions, change.moves, change.removals)
    var list = StretchList(
      capacity: 2 * change.changeCount + 1, updates: change.updates)
    var (insertion, move, removal) = (0, 0, 0)
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
        list.append(Stretch(old: old, new: new, count: count))
        old += count
        new += count
      } else if nextRemoval <= old {
        removal += 1
        old += 1
      } else {
        if nextMove < nextInsertion {
          list.append(Stretch(old: moves[move].from, new: new, count: 1, isMoved: true))
          move += 1
        } else {
          insertion += 1
        }
        new += 1
      }
    }
    list.append(Stretch(old: old, new: new, count: Stretch.endless))
    self.init(list.finish())
  }
}

extension PartialInjection {
  /// The changeset of this pairing, with a minimal number of moves.
  ///
  /// - Complexity: O(*k*) if all stretches are in order, otherwise O(*k* log *k*).
  package var changeset: Changeset {
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
      let stretch = stretches[byOld?[position] ?? position]
      if stretch.old > old { deletions.append(contentsOf: old..<stretch.old) }
      old = stretch.old + stretch.count
    }
    return Changeset(
      unchecked: (
        deletions: deletions, insertions: insertions, moves: byOld == nil ? [] : moves,
        updates: updates
      ))
  }

  /// A minimal set of moves that brings all elements into order, by ascending destination.
  ///
  /// Among several, it prefers the elements that have been moved, and then updated elements.
  private var moves: [Changeset.Move] {
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
      let count = min(heaviest, stretch.count)
      runs[run].count = min(heaviest, runs[run].count + count)
      runs[run].editWeight +=
        (stretch.isMoved ? count * (updateCount + 1) : 0) + (stretch.isUpdated ? count : 0)
    }
    let count = runs.reduce(0) { $0 + $1.count }
    let weight = runs.reduce(0) { $0 + $1.editWeight }
    // If millions of elements move, a weight that includes the edits could overflow.
    let canWeighEdits = !count.multipliedReportingOverflow(by: weight + 1).overflow
    if !canWeighEdits { for run in runs.indices { runs[run].editWeight = 0 } }
    let stays = heaviestIncreasingSubsequence(
      of: runs, maximumEditWeight: canWeighEdits ? weight : 0)

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

extension PartialInjection {
  /// Returns the combined pairing of this one and the next one.
  ///
  /// The stretches of both are split at each other's borders. The result consists of the pieces
  /// that both keep.
  ///
  /// - Parameter next: A pairing whose old version is the new version of this one.
  /// - Complexity: O(*k*) for *k* stretches in both.
  package func followed(by next: PartialInjection) -> PartialInjection {
    let capacity = stretches.count + next.stretches.count
    var list = StretchList(capacity: capacity)
    if byOld == nil && next.byOld == nil {
      forEachPiece(with: next) { piece, _, _ in list.append(piece) }
      return PartialInjection(list.finish(), byOld: nil)
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
        positions[piece] = list.lastPosition
      }
    }
    var order: [Int] = []
    order.reserveCapacity(list.lastPosition + 1)
    var isInOrder = true
    for stretch in stretches.indices {
      for piece in parts[byOld?[stretch] ?? stretch] where positions[piece] != order.last {
        if positions[piece] != order.count { isInOrder = false }
        order.append(positions[piece])
      }
    }
    return PartialInjection(list.finish(), byOld: isInOrder ? nil : order)
  }

  /// Visits the intersections of the stretches of both pairings, by ascending offset in the version
  /// between them.
  private func forEachPiece(
    with next: PartialInjection, _ body: (_ piece: Stretch, _ first: Int, _ second: Int) -> Void
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

  /// Returns the combined pairing of consecutive pairings.
  ///
  /// - Complexity: O(*k* log *m*) for *m* pairings with *k* stretches in all.
  package static func composed(of parts: some Sequence<PartialInjection>) -> PartialInjection {
    var counter = BinaryCounter<PartialInjection>()
    for part in parts { counter.append(part) { $0.followed(by: $1) } }
    return counter.total { $0.followed(by: $1) } ?? PartialInjection(.empty)
  }

  /// Returns this pairing with additional kept elements.
  ///
  /// - Parameters:
  ///   - pairs: Old and new offsets of elements that are not kept so far, by ascending new offset.
  ///   - areUpdated: For each pair, a Boolean value that indicates whether the content differs.
  /// - Complexity: O(*k* log *k*) in all stretches and pairs.
  func keeping(_ pairs: [Changeset.Update], areUpdated: [Bool]) -> PartialInjection {
    var list = StretchList(capacity: stretches.count + pairs.count)
    var pair = 0
    for stretch in stretches {
      while pair < pairs.count && pairs[pair].to < stretch.new {
        list.append(
          Stretch(
            old: pairs[pair].from, new: pairs[pair].to, count: 1, isMoved: true,
            isUpdated: areUpdated[pair]))
        pair += 1
      }
      list.append(stretch)
    }
    return PartialInjection(list.finish())
  }
}

/// A builder of a minimal list of stretches by ascending new offset.
struct StretchList {
  private var stretches: [PartialInjection.Stretch] = []
  private let updates: [Changeset.Update]
  private var update = 0

  /// - Parameters:
  ///   - capacity: The expected number of stretches.
  ///   - updates: The updated elements, by ascending new offset.
  init(capacity: Int, updates: [Changeset.Update] = []) {
    self.updates = updates
    stretches.reserveCapacity(capacity)
  }

  /// The position of the last stretch.
  var lastPosition: Int { stretches.count - 1 }

  /// Appends a stretch, and marks its updated elements.
  mutating func append(_ stretch: PartialInjection.Stretch) {
    var rest = stretch
    while update < updates.count && updates[update].to < stretch.new + stretch.count {
      let count = updates[update].to - rest.new
      update += 1
      guard count >= 0 else { continue }
      var part = rest
      part.count = count
      add(part)
      part.old += count
      part.new += count
      part.count = 1
      part.isUpdated = true
      add(part)
      rest.old += count + 1
      rest.new += count + 1
      rest.count -= count + 1
    }
    add(rest)
  }

  private mutating func add(_ stretch: PartialInjection.Stretch) {
    guard stretch.count > 0 else { return }
    if let last = stretches.indices.last, stretches[last].extend(by: stretch) { return }
    stretches.append(stretch)
  }

  /// Returns the stretches. The last one becomes endless again, because appending may have changed
  /// its count.
  consuming func finish() -> [PartialInjection.Stretch] {
    stretches[stretches.count - 1].count = PartialInjection.Stretch.endless
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
  package var values: [Value] { entries.map(\.value) }

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
