/// Walks two versions side by side as long as they are in step, and looks a little ahead where they
/// part.
///
/// What it passes in step is paired: the same order on both sides, whatever was left out in between.
/// That chain is not stored: it is everything but the rest. So the memory is that of the changes, and
/// only what is left is ever hashed.
@usableFromInline
struct StepWalk<Element: Differentiable> {
  /// Old offsets that were not paired.
  @usableFromInline var oldRest = Rest()
  /// New offsets that were not paired.
  @usableFromInline var newRest = Rest()
  /// Pairs in step whose content differs, by ascending offset.
  @usableFromInline var updates: [Changeset.Update] = []

  @usableFromInline let old: UnsafePointer<Element>
  @usableFromInline let new: UnsafePointer<Element>
  // The stretches that are still to be walked.
  @usableFromInline var oldStart = 0
  @usableFromInline var newStart = 0
  @usableFromInline var oldEnd: Int
  @usableFromInline var newEnd: Int

  /// How far it looks ahead on either side, at once and without branches.
  @inlinable static var window: Int { 4 }

  /// After so many elements out of step it is in a gap, and stops looking ahead at each of them.
  @inlinable static var patience: Int { 16 }

  @inlinable
  init(
    old: UnsafePointer<Element>, count oldCount: Int,
    new: UnsafePointer<Element>, count newCount: Int
  ) {
    self.old = old
    self.new = new
    oldEnd = oldCount
    newEnd = newCount
    walk()
  }

  @inlinable
  mutating func walk() {
    // Once that many are left over, going on would cost more than it can save.
    let limit = (oldEnd + newEnd) / 16 + 64
    var updatesBehind: [Changeset.Update] = []
    var jumps = 0
    var misses = 0
    var nextScan = Self.patience
    while true {
      if followStep() { misses = 0 }
      guard oldStart < oldEnd, newStart < newEnd else { break }
      if misses < Self.patience, let (inOld, inNew) = nearby() {
        skip(inOld, inNew)
        jumps += 1
        // Where over half is out of step, this only costs.
        if jumps & 255 == 0, 2 * oldRest.scattered.count > oldStart { break }
        continue
      }
      if misses == nextScan {
        if misses == Self.patience, trimEnd(&updatesBehind) { continue }
        if isTurnedRound { break }
        if let (inOld, inNew) = scan(upTo: 4 * misses) {
          skip(inOld, inNew)
          nextScan = Self.patience
          continue
        }
        nextScan *= 4
      } else if misses == 0 {
        nextScan = Self.patience
      }
      if oldRest.scattered.count > limit { break }
      skip(1, 1)
      misses += 1
    }
    oldRest.tail = oldStart..<oldEnd
    newRest.tail = newStart..<newEnd
    updates.append(contentsOf: updatesBehind.reversed())
  }

  /// Passes what is in step.
  ///
  /// - Returns: whether there was anything.
  @inlinable
  mutating func followStep() -> Bool {
    let old = old + oldStart
    let new = new + newStart
    let count = min(oldEnd - oldStart, newEnd - newStart)
    var offset = 0
    while offset < count {
      if !sameBits(old + offset, new + offset) {
        if !sameIdentity(at: old + offset, new + offset) { break }
        if !new[offset].isContentEqual(to: old[offset]) {
          updates.append(Changeset.Update(from: oldStart + offset, to: newStart + offset))
        }
      }
      offset &+= 1
    }
    oldStart += offset
    newStart += offset
    return offset > 0
  }

  /// Passes what is in step at the end, once.
  ///
  /// - Returns: whether nothing is left to walk on one side.
  @inlinable
  mutating func trimEnd(_ updates: inout [Changeset.Update]) -> Bool {
    while oldStart < oldEnd, newStart < newEnd {
      let (old, new) = (old + (oldEnd - 1), new + (newEnd - 1))
      if !sameBits(old, new) {
        if !sameIdentity(at: old, new) { return false }
        if !new.pointee.isContentEqual(to: old.pointee) {
          updates.append(Changeset.Update(from: oldEnd - 1, to: newEnd - 1))
        }
      }
      oldEnd -= 1
      newEnd -= 1
    }
    return true
  }

  /// Leaves over some elements on either side.
  @inlinable
  mutating func skip(_ inOld: Int, _ inNew: Int) {
    for offset in oldStart..<oldStart + inOld { oldRest.scattered.append(offset) }
    for offset in newStart..<newStart + inNew { newRest.scattered.append(offset) }
    oldStart += inOld
    newStart += inNew
  }

  /// How much is to be left over on one side for both to be in step again, within the window.
  @inlinable
  func nearby() -> (old: Int, new: Int)? {
    let old = old + oldStart
    let new = new + newStart
    let window = min(Self.window, oldEnd - oldStart - 1, newEnd - newStart - 1)
    guard window == Self.window else { return nearbyEnd() }
    // Each bit one place; that all are tried costs less than to guess which one it will be.
    var found: UInt = 0
    if Element.hasBitwiseIdentity {
      for distance in 1...Self.window {
        found |= sameIdentity(at: old + distance, new) ? 1 << UInt(2 * distance) : 0
        found |= sameIdentity(at: old, new + distance) ? 2 << UInt(2 * distance) : 0
      }
    } else {
      for distance in 1...Self.window {
        found |= sameBits(old + distance, new) ? 1 << UInt(2 * distance) : 0
        found |= sameBits(old, new + distance) ? 2 << UInt(2 * distance) : 0
      }
      if found == 0 { return nearbyEnd() }
    }
    if found == 0 { return nil }
    let place = found.trailingZeroBitCount
    return place & 1 == 0 ? (place / 2, 0) : (0, place / 2)
  }

  /// The same one after the other, and by the identities' own equality.
  @inlinable
  func nearbyEnd() -> (old: Int, new: Int)? {
    let old = old + oldStart
    let new = new + newStart
    for distance in 1...Self.window {
      if oldStart + distance < oldEnd, sameIdentity(at: old + distance, new) {
        return (distance, 0)
      }
      if newStart + distance < newEnd, sameIdentity(at: old, new + distance) {
        return (0, distance)
      }
    }
    return nil
  }

  /// Looks farther ahead, for where a long stretch was put in or taken out.
  @inlinable
  func scan(upTo limit: Int) -> (old: Int, new: Int)? {
    let old = old + oldStart
    let new = new + newStart
    var distance = 1
    while distance < limit {
      if oldStart + distance < oldEnd, sameIdentity(at: old + distance, new),
        goesOn(distance, 0)
      {
        return (distance, 0)
      }
      if newStart + distance < newEnd, sameIdentity(at: old, new + distance),
        goesOn(0, distance)
      {
        return (0, distance)
      }
      distance &+= 1
    }
    return nil
  }

  /// Whether what follows in the one is what the other ends with.
  @inlinable var isTurnedRound: Bool {
    guard oldEnd - oldStart > 64, newEnd - newStart > 64 else { return false }
    for offset in 0..<4
    where !sameIdentity(at: old + (oldStart + offset), new + (newEnd - 1 - offset)) {
      return false
    }
    return true
  }

  /// Whether what follows a place is in step too: one match alone may be an element that moved.
  @inlinable
  func goesOn(_ inOld: Int, _ inNew: Int) -> Bool {
    var matches = 0
    for offset in 1...3 {
      let (inOld, inNew) = (oldStart + inOld + offset, newStart + inNew + offset)
      if inOld >= oldEnd || inNew >= newEnd || sameIdentity(at: old + inOld, new + inNew) {
        matches += 1
      }
    }
    return matches >= 2
  }
}
