/// Two elements of one identity that were found out of step: positions in the lists of what a walk has
/// left over.
@usableFromInline
package struct Match {
  // Half a word each: lists of matches are long where little is in order.
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

/// Pairs what a walk has left over by identity.
@usableFromInline
struct Matching<Element: Differentiable> {
  /// By ascending new offset.
  @usableFromInline var matches: [Match] = []
  /// Matches whose content differs, by ascending new offset.
  @usableFromInline var updates: [Changeset.Update] = []

  @usableFromInline let old: UnsafePointer<Element>
  @usableFromInline let new: UnsafePointer<Element>

  /// With so few possible pairs, comparing all costs less than one hash of each.
  @inlinable static var fewPairs: Int { 64 }

  @inlinable
  init(
    old: UnsafePointer<Element>, _ oldRest: Rest, new: UnsafePointer<Element>, _ newRest: Rest
  ) {
    self.old = old
    self.new = new
    if oldRest.isEmpty || newRest.isEmpty { return }
    oldRest.withOffsets { oldRest in
      newRest.withOffsets { newRest in
        if oldRest.count * newRest.count <= Self.fewPairs {
          compareAll(oldRest, newRest)
        } else {
          lookUpAll(oldRest, newRest)
        }
      }
    }
  }

  @inlinable
  mutating func compareAll(_ oldRest: Rest.Offsets, _ newRest: Rest.Offsets) {
    var taken: UInt64 = 0
    for inNew in 0..<newRest.count {
      for inOld in 0..<oldRest.count where taken & (1 << UInt64(inOld)) == 0 {
        if sameIdentity(at: old + oldRest[inOld], new + newRest[inNew]) {
          taken |= 1 << UInt64(inOld)
          add(inOld, inNew, oldRest, newRest)
          break
        }
      }
    }
  }

  @inlinable
  mutating func lookUpAll(_ oldRest: Rest.Offsets, _ newRest: Rest.Offsets) {
    let old = old
    let new = new
    precondition(
      max(oldRest.count, newRest.count) < UInt32.max, "More than 4 billion elements out of step")
    var table: IdentityTable?
    defer { table?.deallocate() }
    let hasher = IdentityHasher()
    let taken = TakenPositions(count: oldRest.count)
    defer { taken.deallocate() }
    // What stayed together is found one after the other, forwards or backwards, without a hash. It begins
    // with the guess that everything was turned round.
    var step = -1
    var follower = oldRest.count - 1
    var isGuess = true
    var credit = 64
    for inNew in 0..<newRest.count {
      let element = new + newRest[inNew]
      if credit > 0, follower >= 0, follower < oldRest.count {
        credit -= 1
        let candidate = old + oldRest[follower]
        let isUnchanged = sameBits(candidate, element)
        if isUnchanged || sameIdentity(at: candidate, element), !taken[follower],
          !isGuess || isTurnedRound(oldRest, newRest, from: inNew)
        {
          isGuess = false
          taken.insert(follower)
          add(follower, inNew, oldRest, newRest, isUnchanged: isUnchanged)
          follower += step
          credit += 2
          continue
        }
      }
      if table == nil {
        table = Self.table(of: old, oldRest, hasher, for: new, newRest, from: inNew)
      }
      let found =
        table?.take(hash: hasher.hash(element), taken) {
          sameIdentity(at: old + oldRest[$0], element)
        } ?? -1
      if found >= 0 {
        isGuess = false
        step = found == follower - 2 * step ? -step : 1
        add(found, inNew, oldRest, newRest)
        follower = found + step
      }
    }
  }

  /// Whether some new elements begin with what the old ones end with, backwards.
  ///
  /// One alone, or some of one identity, may have others before them that come first.
  @inlinable
  func isTurnedRound(
    _ oldRest: Rest.Offsets, _ newRest: Rest.Offsets, from start: Int
  ) -> Bool {
    guard oldRest.count >= 4, newRest.count - start >= 4 else { return false }
    for offset in 0..<4 {
      let old = old + oldRest[oldRest.count - 1 - offset]
      if !sameIdentity(at: old, new + newRest[start + offset]) { return false }
      for other in 0..<offset
      where sameIdentity(at: self.old + oldRest[oldRest.count - 1 - other], old) {
        return false
      }
    }
    return true
  }

  /// A table of the old elements that may be among some new ones.
  ///
  /// Where a hash costs next to nothing, the new ones are hashed once more, so that what is gone need
  /// not be put into the table.
  @inlinable
  static func table(
    of old: UnsafePointer<Element>, _ oldRest: Rest.Offsets, _ hasher: IdentityHasher,
    for new: UnsafePointer<Element>, _ newRest: Rest.Offsets, from start: Int
  ) -> IdentityTable {
    let filter = Element.hasBitwiseIdentity ? HashFilter(count: newRest.count - start) : nil
    defer { filter?.deallocate() }
    if let filter {
      for inNew in start..<newRest.count { filter.insert(hasher.hash(new + newRest[inNew])) }
    }
    var table = IdentityTable(count: oldRest.count)
    for inOld in stride(from: oldRest.count - 1, through: 0, by: -1) {
      let element = old + oldRest[inOld]
      let hash = hasher.hash(element)
      if let filter, !filter.mayContain(hash) { continue }
      table.insert(inOld, hash: hash) { sameIdentity(at: old + oldRest[$0], element) }
    }
    return table
  }

  @inlinable
  mutating func add(
    _ inOld: Int, _ inNew: Int, _ oldRest: Rest.Offsets,
    _ newRest: Rest.Offsets, isUnchanged: Bool = false
  ) {
    if matches.isEmpty {
      matches.reserveCapacity(min(oldRest.count, newRest.count - inNew))
    }
    matches.append(Match(old: inOld, new: inNew))
    if isUnchanged { return }
    let (from, to) = (oldRest[inOld], newRest[inNew])
    if !sameBits(old + from, new + to), !new[to].isContentEqual(to: old[from]) {
      updates.append(Changeset.Update(from: from, to: to))
    }
  }
}
