/// The order of the entries in the merged result.
///
/// Theirs provides the frame: its own entries, in its order. Entries that mine places form groups of
/// consecutive elements. Each group follows the element that precedes it in mine.
struct MergeOrder {
  /// An element that keeps its place in theirs.
  private struct Framed {
    let gap: Int
    let entry: Int
  }

  /// Consecutive entries that mine places.
  private struct Group {
    /// The number of chain elements before the group.
    let gap: Int
    let start: Int
    var end: Int
  }

  private(set) var entries: [Int] = []
  /// For each entry, the number of chain elements before it.
  private(set) var gaps: [Int] = []

  /// Returns the offset in the merged result of the entry at a position of `entries`.
  func offset(at position: Int) -> Int { gaps[position] + position }

  /// Decides the place of each entry.
  ///
  /// - Parameter prefersMine: Decides an entry that both sides moved. It is called in the order of
  ///   mine.
  init(_ plan: MergePlan, prefersMine: (MergePlan.Entry) -> Bool) {
    let isPlacedByMine = MergeOrder.placedByMine(plan, prefersMine)
    var frame: [Framed] = []
    var frameOfEntry = Array(repeating: -1, count: plan.entries.count)
    for (position, entry) in plan.theirRest.entries.enumerated()
    where entry >= 0 && !isPlacedByMine[entry] {
      frameOfEntry[entry] = frame.count
      frame.append(Framed(gap: plan.theirRest.gap(of: position), entry: entry))
    }

    var placed: [Int] = []
    var groups: [Group] = []
    // The groups that follow a chain element, by ascending gap.
    var groupsOfGaps: [Int] = []
    // For each element of the frame, the group that follows it, or -1.
    var groupOfFrame = Array(repeating: -1, count: frame.count)
    var chain = 0
    // The element of the frame before the next entry of mine, or -1 if a chain element precedes it.
    var before = -1
    var isGroupOpen = false
    for (position, entry) in plan.mineRest.entries.enumerated() {
      let gap = plan.mineRest.gap(of: position)
      if gap > chain {
        chain = gap
        before = -1
        isGroupOpen = false
      }
      guard entry >= 0 else { continue }
      guard isPlacedByMine[entry] else {
        before = frameOfEntry[entry]
        isGroupOpen = false
        continue
      }
      if !isGroupOpen {
        isGroupOpen = true
        if before < 0 {
          groupsOfGaps.append(groups.count)
        } else {
          groupOfFrame[before] = groups.count
        }
        groups.append(Group(gap: gap, start: placed.count, end: placed.count))
      }
      placed.append(entry)
      groups[groups.count - 1].end = placed.count
    }

    entries.reserveCapacity(frame.count + placed.count)
    gaps.reserveCapacity(frame.count + placed.count)
    var framed = 0
    var nextGroup = 0
    while framed < frame.count || nextGroup < groupsOfGaps.count {
      let ofFrame = framed < frame.count ? frame[framed].gap : .max
      let ofGroup = nextGroup < groupsOfGaps.count ? groups[groupsOfGaps[nextGroup]].gap : .max
      let gap = min(ofFrame, ofGroup)
      func emitRestored(_ order: inout MergeOrder) {
        // An element that mine deleted and that comes back keeps its place behind its predecessor.
        while framed < frame.count, frame[framed].gap == gap,
          plan.entries[frame[framed].entry].isRestored
        {
          order.append(frame[framed].entry, gap)
          framed += 1
        }
      }
      func emit(_ group: Int, _ order: inout MergeOrder) {
        emitRestored(&order)
        for entry in placed[groups[group].start..<groups[group].end] { order.append(entry, gap) }
      }
      if ofGroup == gap {
        emit(groupsOfGaps[nextGroup], &self)
        nextGroup += 1
      }
      while framed < frame.count, frame[framed].gap == gap {
        let group = groupOfFrame[framed]
        append(frame[framed].entry, gap)
        framed += 1
        if group >= 0 { emit(group, &self) }
      }
    }
  }

  private mutating func append(_ entry: Int, _ gap: Int) {
    entries.append(entry)
    gaps.append(gap)
  }

  /// Returns, for each entry, a Boolean value that indicates whether mine determines its place.
  private static func placedByMine(
    _ plan: MergePlan, _ prefersMine: (MergePlan.Entry) -> Bool
  ) -> [Bool] {
    var isPlacedByMine = plan.entries.map {
      $0.theirs < 0 || $0.isMovedByMine && !$0.isMovedByTheirs
    }
    guard plan.entries.contains(where: { $0.isMovedByMine && $0.isMovedByTheirs }) else {
      return isPlacedByMine
    }
    let here = predecessors(plan.mineRest, plan)
    let there = predecessors(plan.theirRest, plan)
    for entry in plan.mineRest.entries where entry >= 0 {
      let moved = plan.entries[entry]
      // If both sides moved the element behind the same predecessor, there is no conflict.
      if moved.isMovedByMine, moved.isMovedByTheirs, here[entry] != there[entry] {
        isPlacedByMine[entry] = prefersMine(moved)
      }
    }
    return isPlacedByMine
  }

  /// Returns, for each entry of a side, the preceding element that exists on both sides.
  ///
  /// A value below the length of the chain is a chain element. Larger values are entries, and -1
  /// means that no element precedes the entry.
  private static func predecessors(_ rest: MergePlan.Rest, _ plan: MergePlan) -> [Int] {
    var predecessors = Array(repeating: -1, count: plan.entries.count)
    var last = -1
    var chain = 0
    for (position, entry) in rest.entries.enumerated() {
      let gap = rest.gap(of: position)
      if gap > chain {
        chain = gap
        last = gap - 1
      }
      guard entry >= 0 else { continue }
      predecessors[entry] = last
      if plan.entries[entry].mine >= 0, plan.entries[entry].theirs >= 0 {
        last = plan.chainCount + entry
      }
    }
    return predecessors
  }
}
