/// A match of an old and a new element, as positions in the lists of unmatched offsets.
@usableFromInline
package struct Match {
  // Half a word each, because the lists of matches are long if little is in order.
  @usableFromInline let old: UInt32
  @usableFromInline let new: UInt32

  @inlinable
  package init(old: Int, new: Int) {
    self.old = UInt32(truncatingIfNeeded: old)
    self.new = UInt32(truncatingIfNeeded: new)
  }

  @inlinable var oldPosition: Int { Int(old) }
  @inlinable var newPosition: Int { Int(new) }
}

/// A matcher that matches elements by identity. It receives the elements that the linear matcher
/// has not matched.
@usableFromInline
struct IdentityMatcher<Comparison: IdentityComparison> {
  @usableFromInline typealias Element = Comparison.Element

  /// The matches, by ascending new offset.
  @usableFromInline var matches: [Match] = []
  /// The matches whose content differs, by ascending new offset.
  @usableFromInline var updates: [Changeset.Update] = []

  @usableFromInline let old: UnsafePointer<Element>
  @usableFromInline let new: UnsafePointer<Element>

  /// The maximum number of pairs for which comparing all of them is cheaper than hashing each
  /// element.
  @inlinable static var fewPairs: Int { 64 }

  @inlinable
  init(
    old: UnsafePointer<Element>, _ unmatchedOld: UnmatchedOffsets, new: UnsafePointer<Element>,
    _ unmatchedNew: UnmatchedOffsets
  ) {
    self.old = old
    self.new = new
    if unmatchedOld.isEmpty || unmatchedNew.isEmpty { return }
    unmatchedOld.withBuffer { unmatchedOld in
      unmatchedNew.withBuffer { unmatchedNew in
        if unmatchedOld.count * unmatchedNew.count <= Self.fewPairs {
          compareAll(unmatchedOld, unmatchedNew)
        } else {
          lookUpAll(unmatchedOld, unmatchedNew)
        }
      }
    }
  }

  @inlinable
  mutating func compareAll(
    _ unmatchedOld: UnmatchedOffsets.Buffer, _ unmatchedNew: UnmatchedOffsets.Buffer
  ) {
    var taken: UInt64 = 0
    for inNew in 0..<unmatchedNew.count {
      for inOld in 0..<unmatchedOld.count where taken & (1 << UInt64(inOld)) == 0 {
        if Comparison.areEqual(old + unmatchedOld[inOld], new + unmatchedNew[inNew]) {
          taken |= 1 << UInt64(inOld)
          add(inOld, inNew, unmatchedOld, unmatchedNew)
          break
        }
      }
    }
  }

  @inlinable
  mutating func lookUpAll(
    _ unmatchedOld: UnmatchedOffsets.Buffer, _ unmatchedNew: UnmatchedOffsets.Buffer
  ) {
    let old = old
    let new = new
    precondition(
      max(unmatchedOld.count, unmatchedNew.count) < UInt32.max,
      "more than \(UInt32.max) elements are unmatched")
    var table: IdentityTable?
    defer { table?.deallocate() }
    let hasher = IdentityHasher()
    let taken = TakenPositions(count: unmatchedOld.count)
    defer { taken.deallocate() }
    // Elements that moved together are found without a hash, forward or backward. The first guess
    // is that the whole list was reversed.
    var step = -1
    var follower = unmatchedOld.count - 1
    var isGuess = true
    var credit = 64
    for inNew in 0..<unmatchedNew.count {
      let element = new + unmatchedNew[inNew]
      if credit > 0, follower >= 0, follower < unmatchedOld.count {
        credit -= 1
        let candidate = old + unmatchedOld[follower]
        let isUnchanged = sameBits(candidate, element)
        if isUnchanged || Comparison.areEqual(candidate, element), !taken[follower],
          !isGuess || isReversed(unmatchedOld, unmatchedNew, from: inNew)
        {
          isGuess = false
          taken.insert(follower)
          add(follower, inNew, unmatchedOld, unmatchedNew, isUnchanged: isUnchanged)
          follower += step
          credit += 2
          continue
        }
      }
      if table == nil {
        table = Self.table(of: old, unmatchedOld, hasher, for: new, unmatchedNew, from: inNew)
      }
      let found =
        table?.take(hash: hasher.hash(element, Comparison.self), taken) {
          Comparison.areEqual(old + unmatchedOld[$0], element)
        } ?? -1
      if found >= 0 {
        isGuess = false
        step = found == follower - 2 * step ? -step : 1
        add(found, inNew, unmatchedOld, unmatchedNew)
        follower = found + step
      }
    }
  }

  /// Returns a Boolean value that indicates whether the next new elements are the last old elements
  /// in reverse order.
  ///
  /// A single match, or matches of equal identities, would not prove it, because an earlier element
  /// may match as well.
  @inlinable
  func isReversed(
    _ unmatchedOld: UnmatchedOffsets.Buffer, _ unmatchedNew: UnmatchedOffsets.Buffer,
    from start: Int
  ) -> Bool {
    guard unmatchedOld.count >= 4, unmatchedNew.count - start >= 4 else { return false }
    for offset in 0..<4 {
      let old = old + unmatchedOld[unmatchedOld.count - 1 - offset]
      if !Comparison.areEqual(old, new + unmatchedNew[start + offset]) { return false }
      for other in 0..<offset
      where Comparison.areEqual(self.old + unmatchedOld[unmatchedOld.count - 1 - other], old) {
        return false
      }
    }
    return true
  }

  /// Returns a table of the old elements that may occur among some new ones.
  ///
  /// If hashing is cheap, the new elements are hashed twice, to leave deleted elements out of the
  /// table.
  @inlinable
  static func table(
    of old: UnsafePointer<Element>, _ unmatchedOld: UnmatchedOffsets.Buffer,
    _ hasher: IdentityHasher,
    for new: UnsafePointer<Element>, _ unmatchedNew: UnmatchedOffsets.Buffer, from start: Int
  ) -> IdentityTable {
    let filter = Comparison.isBitwise ? HashFilter(count: unmatchedNew.count - start) : nil
    defer { filter?.deallocate() }
    if let filter {
      for inNew in start..<unmatchedNew.count {
        filter.insert(hasher.hash(new + unmatchedNew[inNew], Comparison.self))
      }
    }
    var table = IdentityTable(count: unmatchedOld.count)
    for inOld in stride(from: unmatchedOld.count - 1, through: 0, by: -1) {
      let element = old + unmatchedOld[inOld]
      let hash = hasher.hash(element, Comparison.self)
      if let filter, !filter.mayContain(hash) { continue }
      table.insert(inOld, hash: hash) { Comparison.areEqual(old + unmatchedOld[$0], element) }
    }
    return table
  }

  @inlinable
  mutating func add(
    _ inOld: Int, _ inNew: Int, _ unmatchedOld: UnmatchedOffsets.Buffer,
    _ unmatchedNew: UnmatchedOffsets.Buffer, isUnchanged: Bool = false
  ) {
    if matches.isEmpty {
      matches.reserveCapacity(min(unmatchedOld.count, unmatchedNew.count - inNew))
    }
    matches.append(Match(old: inOld, new: inNew))
    if isUnchanged { return }
    let (from, to) = (unmatchedOld[inOld], unmatchedNew[inNew])
    if !sameBits(old + from, new + to), !new[to].isWholeContentEqual(to: old[from]) {
      updates.append(Changeset.Update(from: from, to: to))
    }
  }
}
