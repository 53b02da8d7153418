/// Where the entries of a merge stand.
///
/// Theirs gives the frame: its own entries, in its order. What mine places comes in groups of what follows
/// one another in mine, each behind the element that stands before it there.
struct MergeOrder {
  /// An element of theirs that stays where theirs has it.
  private struct Framed {
    let gap: Int
    let entry: Int
  }

  /// Entries placed by mine that follow one another.
  private struct Group {
    /// How much of the chain stands before it, where the element before it is of the chain or none.
    let gap: Int
    let start: Int
    var end: Int
  }

  /// The entries in order.
  private(set) var entries: [Int] = []
  /// For each of them how much of the chain stands before it.
  private(set) var gaps: [Int] = []

  /// Where an entry, by its place in the order, stands in the outcome.
  func offset(at position: Int) -> Int { gaps[position] + position }

  /// Decides where each entry stands.
  ///
  /// - Parameter prefersMine: Asked in the order of mine for an entry that both have moved.
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
    /// Behind the chain: by ascending gap. Behind an element of the frame: the group of each.
    var groupsOfGaps: [Int] = []
    var groupOfFrame = Array(repeating: -1, count: frame.count)
    var chain = 0
    /// The element of the frame that stands before the next one in mine; -1 where it is of the chain.
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
      func emitBacks(_ order: inout MergeOrder) {
        // What mine had deleted and is back stands where it stood: behind the element that is there.
        while framed < frame.count, frame[framed].gap == gap,
          plan.entries[frame[framed].entry].isBack
        {
          order.append(frame[framed].entry, gap)
          framed += 1
        }
      }
      func emit(_ group: Int, _ order: inout MergeOrder) {
        emitBacks(&order)
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

  /// Which entries theirs does not place, or mine places otherwise.
  private static func placedByMine(
    _ plan: MergePlan, _ prefersMine: (MergePlan.Entry) -> Bool
  ) -> [Bool] {
    var isPlacedByMine = plan.entries.map {
      $0.theirs < 0 || $0.isMovedByMine && !$0.isMovedByTheirs
    }
    guard plan.entries.contains(where: { $0.isMovedByMine && $0.isMovedByTheirs }) else {
      return isPlacedByMine
    }
    let here = neighbours(plan.mineRest, plan)
    let there = neighbours(plan.theirRest, plan)
    for entry in plan.mineRest.entries where entry >= 0 {
      let moved = plan.entries[entry]
      // Moved behind the same element: there is nothing to choose.
      if moved.isMovedByMine, moved.isMovedByTheirs, here[entry] != there[entry] {
        isPlacedByMine[entry] = prefersMine(moved)
      }
    }
    return isPlacedByMine
  }

  /// For each entry of a side what stands before it there and is on both sides: a place in the chain, or,
  /// behind all of these, an entry; -1 where there is nothing.
  private static func neighbours(_ rest: MergePlan.Rest, _ plan: MergePlan) -> [Int] {
    var neighbours = Array(repeating: -1, count: plan.entries.count)
    var last = -1
    var chain = 0
    for (position, entry) in rest.entries.enumerated() {
      let gap = rest.gap(of: position)
      if gap > chain {
        chain = gap
        last = gap - 1
      }
      guard entry >= 0 else { continue }
      neighbours[entry] = last
      if plan.entries[entry].mine >= 0, plan.entries[entry].theirs >= 0 {
        last = plan.chainCount + entry
      }
    }
    return neighbours
  }
}
