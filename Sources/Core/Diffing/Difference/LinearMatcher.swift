/// A matcher that walks both versions side by side while they match, and looks a little ahead where
/// they differ.
///
/// Its matches are in the same order in both versions. It stores only the unmatched offsets, because
/// these determine the matches. The memory therefore depends only on the number of changes. Later,
/// only unmatched elements are hashed.
@usableFromInline
struct LinearMatcher<Comparison: IdentityComparison> {
  @usableFromInline typealias Element = Comparison.Element

  /// The old offsets that are not matched.
  @usableFromInline var unmatchedOld = UnmatchedOffsets()
  /// The new offsets that are not matched.
  @usableFromInline var unmatchedNew = UnmatchedOffsets()
  /// The matches whose content differs, by ascending offset.
  @usableFromInline var updates: [Changeset.Update] = []

  @usableFromInline let old: UnsafePointer<Element>
  @usableFromInline let new: UnsafePointer<Element>
  // The ranges that are not walked yet.
  @usableFromInline var oldStart = 0
  @usableFromInline var newStart = 0
  @usableFromInline var oldEnd: Int
  @usableFromInline var newEnd: Int

  /// The number of elements to look ahead on each side, all at once and without branches.
  @inlinable static var window: Int { 4 }

  /// The number of consecutive unmatched elements after which the matcher stops looking ahead at
  /// each element.
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
    // With more unmatched elements, walking on would cost more than it can save.
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
        // If more than half is unmatched, walking on only costs time.
        if jumps & 255 == 0, 2 * unmatchedOld.scattered.count > oldStart { break }
        continue
      }
      if misses == nextScan {
        if misses == Self.patience, trimEnd(&updatesBehind) { continue }
        if isReversed { break }
        if let (inOld, inNew) = scan(upTo: 4 * misses) {
          skip(inOld, inNew)
          nextScan = Self.patience
          continue
        }
        nextScan *= 4
      } else if misses == 0 {
        nextScan = Self.patience
      }
      if unmatchedOld.scattered.count > limit { break }
      skip(1, 1)
      misses += 1
    }
    unmatchedOld.tail = oldStart..<oldEnd
    unmatchedNew.tail = newStart..<newEnd
    if !updatesBehind.isEmpty { updates.append(contentsOf: updatesBehind.reversed()) }
  }

  /// Matches elements while they are the same on both sides.
  ///
  /// - Returns: `true` if there was a match.
  @inlinable
  mutating func followStep() -> Bool {
    let old = old + oldStart
    let new = new + newStart
    let count = min(oldEnd - oldStart, newEnd - newStart)
    var offset = 0
    while offset < count {
      if !(old + offset).hasSameBytes(as: new + offset) {
        if !Comparison.areEqual(old + offset, new + offset) { break }
        if !new[offset].isWholeContentEqual(to: old[offset]) {
          // One allocation for a few updates instead of three (`DifferenceBenchmarks W13`).
          if updates.isEmpty { updates.reserveCapacity(6) }
          updates.append(Changeset.Update(from: oldStart + offset, to: newStart + offset))
        }
      }
      offset &+= 1
    }
    oldStart += offset
    newStart += offset
    return offset > 0
  }

  /// Matches elements at the end, once, while they are the same on both sides.
  ///
  /// - Returns: `true` if one side has no elements left.
  @inlinable
  mutating func trimEnd(_ updates: inout [Changeset.Update]) -> Bool {
    while oldStart < oldEnd, newStart < newEnd {
      let (old, new) = (old + (oldEnd - 1), new + (newEnd - 1))
      if !old.hasSameBytes(as: new) {
        if !Comparison.areEqual(old, new) { return false }
        if !new.pointee.isWholeContentEqual(to: old.pointee) {
          updates.append(Changeset.Update(from: oldEnd - 1, to: newEnd - 1))
        }
      }
      oldEnd -= 1
      newEnd -= 1
    }
    return true
  }

  /// Skips elements on both sides, which stay unmatched.
  @inlinable
  mutating func skip(_ inOld: Int, _ inNew: Int) {
    for offset in oldStart..<oldStart + inOld { unmatchedOld.scattered.append(offset) }
    for offset in newStart..<newStart + inNew { unmatchedNew.scattered.append(offset) }
    oldStart += inOld
    newStart += inNew
  }

  /// Returns the number of elements to skip on one side up to the next match within the window.
  @inlinable
  func nearby() -> (old: Int, new: Int)? {
    let old = old + oldStart
    let new = new + newStart
    let window = min(Self.window, oldEnd - oldStart - 1, newEnd - newStart - 1)
    guard window == Self.window else { return nearbyEnd() }
    // One bit for each place. Testing all places is cheaper than a mispredicted branch.
    var found: UInt = 0
    if Comparison.isBitwise {
      for distance in 1...Self.window {
        found |= Comparison.areEqual(old + distance, new) ? 1 << UInt(2 * distance) : 0
        found |= Comparison.areEqual(old, new + distance) ? 2 << UInt(2 * distance) : 0
      }
    } else {
      for distance in 1...Self.window {
        found |= (old + distance).hasSameBytes(as: new) ? 1 << UInt(2 * distance) : 0
        found |= old.hasSameBytes(as: new + distance) ? 2 << UInt(2 * distance) : 0
      }
      if found == 0 { return nearbyEnd() }
    }
    if found == 0 { return nil }
    let place = found.trailingZeroBitCount
    return place & 1 == 0 ? (place / 2, 0) : (0, place / 2)
  }

  /// Tests the places one by one, with the equality of the identities.
  @inlinable
  func nearbyEnd() -> (old: Int, new: Int)? {
    let old = old + oldStart
    let new = new + newStart
    for distance in 1...Self.window {
      if oldStart + distance < oldEnd, Comparison.areEqual(old + distance, new) {
        return (distance, 0)
      }
      if newStart + distance < newEnd, Comparison.areEqual(old, new + distance) {
        return (0, distance)
      }
    }
    return nil
  }

  /// Looks farther ahead, for the end of a long insertion or deletion.
  @inlinable
  func scan(upTo limit: Int) -> (old: Int, new: Int)? {
    let old = old + oldStart
    let new = new + newStart
    var distance = 1
    while distance < limit {
      if oldStart + distance < oldEnd, Comparison.areEqual(old + distance, new),
        goesOn(distance, 0)
      {
        return (distance, 0)
      }
      if newStart + distance < newEnd, Comparison.areEqual(old, new + distance),
        goesOn(0, distance)
      {
        return (0, distance)
      }
      distance &+= 1
    }
    return nil
  }

  /// A Boolean value that indicates whether the next old elements are the last new elements in
  /// reverse order.
  @inlinable var isReversed: Bool {
    guard oldEnd - oldStart > 64, newEnd - newStart > 64 else { return false }
    for offset in 0..<4
    where !Comparison.areEqual(old + (oldStart + offset), new + (newEnd - 1 - offset)) {
      return false
    }
    return true
  }

  /// Returns a Boolean value that indicates whether a match is followed by further matches. A
  /// single match may be an element that moved.
  @inlinable
  func goesOn(_ inOld: Int, _ inNew: Int) -> Bool {
    var matches = 0
    for offset in 1...3 {
      let (inOld, inNew) = (oldStart + inOld + offset, newStart + inNew + offset)
      if inOld >= oldEnd || inNew >= newEnd || Comparison.areEqual(old + inOld, new + inNew) {
        matches += 1
      }
    }
    return matches >= 2
  }
}

/// Ascending offsets that the linear matcher has not matched: single offsets, and all offsets of a
/// last range.
///
/// If most elements are out of order, the matcher stops early. The last range then costs neither
/// time nor memory. Two lists of 100,000 offsets took a third of the memory for reversing a list.
@usableFromInline
struct UnmatchedOffsets {
  @usableFromInline var scattered: [Int] = []
  /// The last range, behind all single offsets.
  @usableFromInline var tail = 0..<0

  @inlinable
  init() {}

  init(_ offsets: [Int]) {
    scattered = offsets
  }

  @inlinable var count: Int { scattered.count + tail.count }

  @inlinable var isEmpty: Bool { scattered.isEmpty && tail.isEmpty }

  /// All offsets as a list.
  @inlinable var offsets: [Int] { tail.isEmpty ? scattered : scattered + Array(tail) }

  /// Calls a closure with a buffer of the offsets, for fast access.
  @inlinable
  func withBuffer<Result>(_ body: (Buffer) -> Result) -> Result {
    scattered.withUnsafeBufferPointer { scattered in
      body(
        Buffer(
          scattered: scattered, tailShift: tail.lowerBound - scattered.count, count: count))
    }
  }

  /// A buffer of the offsets, which is valid only during `withBuffer(_:)`.
  @usableFromInline
  struct Buffer {
    @usableFromInline let scattered: UnsafeBufferPointer<Int>
    /// The number to add to a position in the last range.
    @usableFromInline let tailShift: Int
    @usableFromInline let count: Int

    @inlinable
    init(scattered: UnsafeBufferPointer<Int>, tailShift: Int, count: Int) {
      self.scattered = scattered
      self.tailShift = tailShift
      self.count = count
    }

    @inlinable
    subscript(position: Int) -> Int {
      position < scattered.count ? scattered[position] : position &+ tailShift
    }
  }
}
