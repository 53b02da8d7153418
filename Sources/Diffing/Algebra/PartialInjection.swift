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
    /// Whether they left the order of the others at any time. All those that did not are in order.
    var isMoved = false
    /// Whether their contents may differ.
    var isUpdated = false

    /// Half of the numbers, so that an offset can be added.
    static var endless: Int { 1 << (Int.bitWidth - 2) }

    /// Takes in what follows it in step, unless only one of them is updated.
    mutating func extend(by next: Stretch) -> Bool {
      guard
        old + count == next.old, new + count == next.new, isUpdated == next.isUpdated
      else { return false }
      count += next.count
      // What has come to stand next to one that never left the order is in order too.
      isMoved = isMoved && next.isMoved
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

  /// Creates that which a changeset describes.
  ///
  /// - Complexity: O(*k* log *k*) in the *k* offsets, O(*k*) without moves.
  package init(_ change: Changeset) {
    let (insertions, moves, removals) = (change.insertions, change.moves, change.removals)
    var list = StretchList(
      capacity: 2 * change.changeCount + 1, updates: change.updates)
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
    self.init(list.finish())
  }
}
