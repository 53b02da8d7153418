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
    let hasher = IdentityHasher()
    // If hashing is cheap, the new elements are hashed twice, to leave deleted elements out of the
    // table.
    let wanted = BitSet(count: Comparison.isBitwise ? 8 * unmatchedNew.count : 0)
    if Comparison.isBitwise {
      for inNew in 0..<unmatchedNew.count {
        wanted.insert(hash: hasher.hash(new + unmatchedNew[inNew], Comparison.self))
      }
    }
    let table = IdentityTable(count: unmatchedOld.count) {
      hasher.hash(old + unmatchedOld[$0], Comparison.self)
    } isWanted: {
      !Comparison.isBitwise || wanted.mayContain(hash: $0)
    } areSame: {
      Comparison.areEqual(old + unmatchedOld[$0], old + unmatchedOld[$1])
    }
    // Elements that moved together are found without a hash, forward or backward.
    var step = 1
    var follower = -1
    var credit = 64
    for inNew in 0..<unmatchedNew.count {
      let element = new + unmatchedNew[inNew]
      if credit > 0, follower >= 0, follower < unmatchedOld.count {
        credit -= 1
        let candidate = old + unmatchedOld[follower]
        let isUnchanged = candidate.hasSameBytes(as: element)
        if isUnchanged || Comparison.areEqual(candidate, element), !table.taken.contains(follower) {
          table.taken.insert(follower)
          add(follower, inNew, unmatchedOld, unmatchedNew, isUnchanged: isUnchanged)
          follower += step
          credit += 2
          continue
        }
      }
      let found = table.take(hash: hasher.hash(element, Comparison.self)) {
        Comparison.areEqual(old + unmatchedOld[$0], element)
      }
      if found >= 0 {
        step = found == follower - 2 * step ? -step : 1
        add(found, inNew, unmatchedOld, unmatchedNew)
        follower = found + step
      }
    }
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
    if !(old + from).hasSameBytes(as: new + to), !new[to].isWholeContentEqual(to: old[from]) {
      updates.append(Changeset.Update(from: from, to: to))
    }
  }
}
