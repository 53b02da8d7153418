public import Swappable

/// Computes a difference by hashing every element: one table of all old identities, in which all new identities are
/// looked up, and a longest increasing subsequence for the moves.
///
/// This is the yardstick for lists in which nearly everything has changed. Elements that are their own identity are
/// not compared twice, slots have 4 bytes, and nothing is retained, grown or checked unnecessarily.
///
/// - Parameters:
///   - old: The earlier version, of less than 2³¹ elements.
///   - new: The later version, of less than 2³¹ elements.
/// - Returns: The changeset. Equal identities are paired in order: the first with the first, the second with the
///   second, and so on.
/// - Complexity: O(*n* log *n*), or O(*n*) if kept elements are in order.
@inlinable
public func plainDifference<Element: Differentiable>(
  from old: [Element], to new: [Element]
) -> Changeset {
  old.withUnsafeBufferPointer { old in
    new.withUnsafeBufferPointer { new in
      withUnsafeTemporaryAllocation(of: Int32.self, capacity: new.count) { origins in
        withUnsafeTemporaryAllocation(of: Bool.self, capacity: old.count) { isKept in
          isKept.initialize(repeating: false)
          pairByHashing(old, new, origins: origins, isKept: isKept)
          return changeset(
            old, new, origins: UnsafeBufferPointer(origins), isKept: UnsafeBufferPointer(isKept))
        }
      }
    }
  }
}

/// Returns the offset of the old element for each new element, or -1.
@inlinable
func pairByHashing<Element: Differentiable>(
  _ old: UnsafeBufferPointer<Element>, _ new: UnsafeBufferPointer<Element>,
  origins: UnsafeMutableBufferPointer<Int32>, isKept: UnsafeMutableBufferPointer<Bool>
) {
  var capacity = 4
  while capacity < 2 * old.count { capacity *= 2 }
  let mask = capacity - 1
  // The lower bits of a slot are an offset plus one, or 0 if it is empty. The upper bits are from the hash, so few
  // other identities are compared.
  let slots = UnsafeMutablePointer<UInt32>.allocate(capacity: capacity)
  slots.initialize(repeating: 0, count: capacity)
  defer { slots.deallocate() }
  let offsetMask = UInt32(truncatingIfNeeded: mask)
  let tagMask = ~offsetMask
  // For each old element, the offset of the next element with its identity plus one, or 0. It is empty as long as no
  // identity occurs twice.
  var next: [UInt32] = []

  for offset in stride(from: old.count - 1, through: 0, by: -1) {
    let identity = old[offset].differenceIdentifier
    let hash = identity.hashValue
    let tag = UInt32(truncatingIfNeeded: hash >> 32) & tagMask
    var slot = hash & mask
    while true {
      let entry = slots[slot]
      if entry == 0 { break }
      let other = entry & offsetMask
      if entry & tagMask == tag && old[Int(other) &- 1].differenceIdentifier == identity {
        if next.isEmpty { next = [UInt32](repeating: 0, count: old.count) }
        next[offset] = other
        break
      }
      slot = (slot &+ 1) & mask
    }
    slots[slot] = tag | UInt32(truncatingIfNeeded: offset &+ 1)
  }

  for offset in 0..<new.count {
    let identity = new[offset].differenceIdentifier
    let hash = identity.hashValue
    let tag = UInt32(truncatingIfNeeded: hash >> 32) & tagMask
    var slot = hash & mask
    var origin: Int32 = -1
    while true {
      let entry = slots[slot]
      if entry == 0 { break }
      let candidate = Int(entry & offsetMask) &- 1
      if entry & tagMask == tag && old[candidate].differenceIdentifier == identity {
        // The slot keeps the last element of its identity.
        if isKept[candidate] { break }
        isKept[candidate] = true
        origin = Int32(truncatingIfNeeded: candidate)
        if !next.isEmpty && next[candidate] != 0 { slots[slot] = tag | next[candidate] }
        break
      }
      slot = (slot &+ 1) & mask
    }
    origins[offset] = origin
  }
}

/// Returns the changeset of a pairing.
@inlinable
func changeset<Element: Differentiable>(
  _ old: UnsafeBufferPointer<Element>, _ new: UnsafeBufferPointer<Element>,
  origins: UnsafeBufferPointer<Int32>, isKept: UnsafeBufferPointer<Bool>
) -> Changeset {
  let isOwnIdentity = Element.self == Element.DifferenceIdentifier.self
  var insertions: [Int] = []
  var updates: [Changeset.Update] = []
  var isInOrder = true
  var last: Int32 = -1
  var keptCount = 0
  for offset in 0..<origins.count {
    let origin = origins[offset]
    guard origin >= 0 else {
      insertions.append(offset)
      continue
    }
    keptCount &+= 1
    if origin < last { isInOrder = false }
    last = origin
    if !isOwnIdentity && !new[offset].isContentEqual(to: old[Int(origin)]) {
      updates.append(Changeset.Update(from: Int(origin), to: offset))
    }
  }

  var deletions: [Int] = []
  if keptCount < old.count {
    deletions.reserveCapacity(old.count - keptCount)
    for offset in 0..<old.count where !isKept[offset] { deletions.append(offset) }
  }
  return Changeset(
    deletions: deletions, insertions: insertions,
    moves: isInOrder ? [] : fewestMoves(origins, keptCount: keptCount), updates: updates)
}

/// Returns the kept elements without a longest increasing subsequence, which patience sorting finds.
@inlinable
func fewestMoves(_ origins: UnsafeBufferPointer<Int32>, keptCount: Int) -> [Changeset.Move] {
  withUnsafeTemporaryAllocation(of: Int32.self, capacity: 2 * keptCount + origins.count) {
    scratch in
    // For each length, the smallest origin that ends an increasing sequence of that length, its position, and for
    // each element the previous one in its sequence.
    guard let tails = scratch.baseAddress else { return [] }
    let ends = tails + keptCount
    let predecessors = ends + keptCount
    var length = 0
    for offset in 0..<origins.count {
      let origin = origins[offset]
      if origin < 0 { continue }
      var low = length
      if length > 0 && tails[length &- 1] > origin {
        low = 0
        var high = length
        while low < high {
          let middle = (low &+ high) / 2
          if tails[middle] < origin { low = middle &+ 1 } else { high = middle }
        }
      }
      tails[low] = origin
      ends[low] = Int32(truncatingIfNeeded: offset)
      predecessors[offset] = low > 0 ? ends[low &- 1] : -1
      if low == length { length &+= 1 }
    }

    // The sequence is read from its end, so moves are found by descending destination.
    var moves: [Changeset.Move] = []
    moves.reserveCapacity(keptCount - length)
    var stays = length > 0 ? Int(ends[length - 1]) : -1
    for offset in stride(from: origins.count - 1, through: 0, by: -1) {
      if offset == stays {
        stays = Int(predecessors[offset])
      } else if origins[offset] >= 0 {
        moves.append(Changeset.Move(from: Int(origins[offset]), to: offset))
      }
    }
    moves.reverse()
    return moves
  }
}
