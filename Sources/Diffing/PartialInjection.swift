/// Which element of an old version is which of a new one, whatever the number of elements.
///
/// It consists of stretches in step, so that its size is that of the changes and not that of the
/// collections. Behind the last change all is in step: the last stretch is endless.
package struct PartialInjection: Sendable {
  /// Kept elements that follow one another in the old version as well as in the new one.
  struct Stretch: Sendable {
    /// The first element's offset in the old version.
    var old: Int
    /// The first element's offset in the new version.
    var new: Int
    /// How many elements there are.
    var count: Int
    /// Whether they left the order of the others at any time. Those that never did are in order.
    var isMoved = false
    /// Whether their contents may differ.
    var isUpdated = false

    /// Half of the numbers, so that an offset can be added.
    static let endless = 1 << (Int.bitWidth - 2)

    /// Takes in what follows it, if all of it is alike.
    mutating func extend(by next: Stretch) -> Bool {
      guard
        old + count == next.old, new + count == next.new, isMoved == next.isMoved,
        isUpdated == next.isUpdated
      else { return false }
      count += next.count
      return true
    }
  }

  /// By ascending new offset; the last one is endless, and the last one by old offset too.
  let stretches: [Stretch]

  /// The positions of the stretches by ascending old offset; `nil` where all are in order.
  let byOld: [Int]?

  /// The number of stretches: at most two for each operation, and one.
  package var stretchCount: Int { stretches.count }

  /// Creates it of stretches by ascending new offset, of which the last one is endless.
  ///
  /// - Complexity: O(*k*) where all are in order, otherwise O(*k* log *k*).
  private init(_ stretches: [Stretch]) {
    let isInOrder = zip(stretches, stretches.dropFirst()).allSatisfy { $0.old < $1.old }
    self.init(
      stretches,
      byOld: isInOrder
        ? nil : stretches.indices.sorted { stretches[$0].old < stretches[$1].old })
  }

  private init(_ stretches: [Stretch], byOld: [Int]?) {
    self.stretches = stretches
    self.byOld = byOld
  }

  /// Creates that which a changeset describes.
  ///
  /// - Complexity: O(*k* log *k*) in the *k* offsets, O(*k*) without moves.
  package init(_ change: Changeset) {
    let (insertions, moves, removals) = (change.insertions, change.moves, change.removals)
    var list = StretchList(updates: change.updates)
    var (insertion, move, removal) = (0, 0, 0)
    // Where those that stay go on.
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
    self.init(list.endlessStretches)
  }
}

extension PartialInjection {
  /// This and the one after it as one.
  ///
  /// The stretches of both are split at each other's borders; what is left is kept by both.
  ///
  /// - Parameter next: What leads on from where this one leads to.
  /// - Complexity: O(*k*) for *k* stretches in both.
  package func followed(by next: PartialInjection) -> PartialInjection {
    // By ascending offset in the version between the two.
    var pieces: [Stretch] = []
    pieces.reserveCapacity(stretches.count + next.stretches.count)
    // The pieces of each stretch.
    var parts: [Range<Int>] = []
    var nextParts: [Range<Int>] = []
    if byOld != nil { parts = Array(repeating: 0..<0, count: stretches.count) }
    if next.byOld != nil { nextParts = Array(repeating: 0..<0, count: next.stretches.count) }

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
        let index = pieces.count
        if byOld != nil {
          parts[one] = (parts[one].isEmpty ? index : parts[one].lowerBound)..<index + 1
        }
        if next.byOld != nil {
          let part = nextParts[position]
          nextParts[position] = (part.isEmpty ? index : part.lowerBound)..<index + 1
        }
        pieces.append(piece)
      }
      if firstEnd < secondEnd { one += 1 } else { two += 1 }
    }

    guard byOld != nil || next.byOld != nil else {
      var list = StretchList()
      for piece in pieces { list.append(piece) }
      return PartialInjection(list.endlessStretches, byOld: nil)
    }
    // The pieces of one stretch stand in the same order on both of its sides.
    var list = StretchList()
    var positions = [Int](repeating: 0, count: pieces.count)
    func append(_ part: Range<Int>) {
      for piece in part {
        list.append(pieces[piece])
        positions[piece] = list.stretches.count - 1
      }
    }
    if next.byOld == nil { append(pieces.indices) } else { nextParts.forEach(append) }

    var order: [Int] = []
    order.reserveCapacity(list.stretches.count)
    var isInOrder = true
    func visit(_ part: Range<Int>) {
      for piece in part where positions[piece] != order.last {
        if positions[piece] != order.count { isInOrder = false }
        order.append(positions[piece])
      }
    }
    if let byOld { for position in byOld { visit(parts[position]) } } else { visit(pieces.indices) }
    return PartialInjection(list.endlessStretches, byOld: isInOrder ? nil : order)
  }

  /// Several, one after the other, as one.
  ///
  /// - Complexity: O(*k* log *m*) for *m* of them with *k* stretches in all.
  package static func composed(of parts: some Sequence<PartialInjection>) -> PartialInjection {
    var counter = BinaryCounter<PartialInjection>()
    for part in parts { counter.append(part) { $0.followed(by: $1) } }
    return counter.total { $0.followed(by: $1) } ?? PartialInjection(.empty)
  }

  /// This, with some more elements kept.
  ///
  /// - Parameters:
  ///   - pairs: Old and new offsets of which none is kept so far, by ascending new offset.
  ///   - areUpdated: For each of them whether its content differs.
  /// - Complexity: O(*k* log *k*) in all stretches and pairs.
  func keeping(_ pairs: [Changeset.Update], areUpdated: [Bool]) -> PartialInjection {
    var list = StretchList()
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
    return PartialInjection(list.endlessStretches)
  }
}

/// Stretches by ascending new offset, as few as can be.
private struct StretchList {
  private(set) var stretches: [PartialInjection.Stretch] = []
  private let updates: [Changeset.Update]
  private var update = 0

  init(updates: [Changeset.Update] = []) {
    self.updates = updates
  }

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

  /// All of them, once the endless one is there, of which something may have been cut off or added to.
  var endlessStretches: [PartialInjection.Stretch] {
    var stretches = stretches
    stretches[stretches.count - 1].count = PartialInjection.Stretch.endless
    return stretches
  }
}
