extension Changeset {
  /// Creates the difference between two versions of a collection.
  ///
  /// Elements are recognized by identity. If several elements have the same identity, as many are
  /// kept as occur in both versions. The number of moves is minimal if identities are unique.
  ///
  /// ```swift
  /// let change = Changeset(from: ["a", "b", "c"], to: ["c", "a", "d"])
  /// ```
  ///
  /// - Parameters:
  ///   - old: The earlier version.
  ///   - new: The later version.
  /// - Complexity: O(*n*) if the kept elements are in order, otherwise O(*n* + *k* log *k*) for *k*
  ///   segments of consecutive elements. Memory is needed only for the changes. Only elements
  ///   without a match in order are hashed.
  @inlinable
  public init<Element: Differentiable>(
    from old: some Collection<Element>, to new: some Collection<Element>
  ) {
    self = old.withContiguousElements { old in
      new.withContiguousElements { new in
        Element._difference(from: UnsafeRawBufferPointer(old), to: UnsafeRawBufferPointer(new))
      }
    }
  }

  // Inlinable, like all functions that are called for each element, to be specialized in the module
  // of the element type.
  @inlinable
  init<Comparison: IdentityComparison>(
    between old: UnsafeBufferPointer<Comparison.Element>,
    and new: UnsafeBufferPointer<Comparison.Element>, using _: Comparison.Type
  ) {
    guard let oldBase = old.baseAddress, let newBase = new.baseAddress else {
      self.init(uncheckedDeletions: Array(old.indices), insertions: Array(new.indices))
      return
    }
    let linear = LinearMatcher<Comparison>(
      old: oldBase, count: old.count, new: newBase, count: new.count)
    // In a reversal, at most the element in the middle has a match.
    if linear.unmatchedOld.count >= old.count - 1, linear.unmatchedNew.count >= new.count - 1,
      let reversal = Changeset(reversalFrom: old, to: new, using: Comparison.self)
    {
      self = reversal
      return
    }
    let matching = IdentityMatcher<Comparison>(
      old: oldBase, linear.unmatchedOld, new: newBase, linear.unmatchedNew)
    if matching.matches.isEmpty {
      self.init(
        uncheckedDeletions: linear.unmatchedOld.offsets, insertions: linear.unmatchedNew.offsets,
        updates: linear.updates)
    } else {
      self.init(
        unmatchedOld: linear.unmatchedOld, unmatchedNew: linear.unmatchedNew,
        matches: matching.matches,
        chainCount: old.count - linear.unmatchedOld.count, updates: linear.updates,
        matchUpdates: matching.updates)
    }
  }
}

extension Changeset {
  /// Creates the difference between a list and its reversal, or `nil` if the new version is not the
  /// reversal.
  ///
  /// A list is reversed if its sort direction changes. One pass finds the difference, without a
  /// list of matches.
  ///
  /// - Parameters:
  ///   - old: The earlier version, of which the linear matcher has matched at most one element.
  ///   - new: The later version.
  @inlinable
  init?<Comparison: IdentityComparison>(
    reversalFrom old: UnsafeBufferPointer<Comparison.Element>,
    to new: UnsafeBufferPointer<Comparison.Element>, using _: Comparison.Type
  ) {
    let count = old.count
    guard count >= 64, new.count == count, let old = old.baseAddress, let new = new.baseAddress
    else { return nil }
    let last = count - 1
    // Test a few elements at both ends and in the middle first. The first identities must be
    // distinct, because duplicates could be paired differently.
    for offset in [0, 1, 2, 3, count / 2, last - 1, last]
    where !Comparison.areEqual(old + (last - offset), new + offset) {
      return nil
    }
    for offset in 1..<4
    where (0..<offset).contains(where: { Comparison.areEqual(new + $0, new + offset) }) {
      return nil
    }
    var updates: [Update] = []
    for to in 0..<count {
      let from = last &- to
      if (old + from).hasSameBytes(as: new + to) { continue }
      guard Comparison.areEqual(old + from, new + to) else { return nil }
      if !new[to].isWholeContentEqual(to: old[from]) { updates.append(Update(from: from, to: to)) }
    }
    self.init(uncheckedDeletions: [], moves: Self.movesOfReversal(count, updates), updates: updates)
  }

  /// Returns the moves of all elements but one, which is not updated if possible, and in the middle if possible.
  ///
  /// - Parameter updates: The updates, by ascending offset.
  @usableFromInline
  static func movesOfReversal(_ count: Int, _ updates: [Update]) -> [Move] {
    var kept = count - 1
    for update in updates.reversed() where update.to == kept { kept -= 1 }
    let middle = updates.first { $0.to >= count / 2 }
    if !count.isMultiple(of: 2), kept < 0 || middle?.to != count / 2 { kept = count / 2 }
    kept = max(kept, 0)
    return [Move](unsafeUninitializedCapacity: count - 1) { moves, initialized in
      for to in 0..<kept { moves[to] = Move(from: count - 1 - to, to: to) }
      for to in kept + 1..<count { moves[to - 1] = Move(from: count - 1 - to, to: to) }
      initialized = count - 1
    }
  }
}

extension Changeset {
  /// Creates a changeset from the results of both matchers.
  ///
  /// - Parameters:
  ///   - unmatchedOld: The old offsets that the linear matcher has not matched.
  ///   - unmatchedNew: The new offsets that the linear matcher has not matched.
  ///   - matches: The matches among these offsets, by ascending new offset.
  ///   - chainCount: The number of elements that the linear matcher has matched, which are in
  ///     order.
  ///   - updates: The updates of the linear matcher, by ascending offset.
  ///   - matchUpdates: The updates among the matches, by ascending new offset.
  @usableFromInline
  init(
    unmatchedOld: UnmatchedOffsets, unmatchedNew: UnmatchedOffsets, matches: [Match],
    chainCount: Int, updates: [Update],
    matchUpdates: [Update]
  ) {
    self = unmatchedOld.withBuffer { unmatchedOld in
      unmatchedNew.withBuffer { unmatchedNew in
        let search = LeastMoves(
          unmatchedOld: unmatchedOld, unmatchedNew: unmatchedNew, chainCount: chainCount,
          updates: updates, matchUpdates: matchUpdates)
        return Changeset(
          uncheckedDeletions: unmatchedOld.offsets(without: matches, \.oldPosition),
          insertions: unmatchedNew.offsets(without: matches, \.newPosition),
          moves: matches.withUnsafeBufferPointer(search.moves),
          updates: updates.merged(with: matchUpdates) { $0.to < $1.to })
      }
    }
  }
}

extension Changeset {
  /// Creates a changeset from elements in order and from matches out of order.
  ///
  /// - Parameters:
  ///   - unmatchedOld: The old offsets of all elements that may be out of order, ascending.
  ///   - unmatchedNew: The new offsets of all elements that may be out of order, ascending.
  ///   - matches: The kept elements among them, as positions in these lists, by ascending new
  ///     offset.
  ///   - chainCount: The number of elements in order.
  ///   - updates: The updates among the elements in order, by ascending offset.
  ///   - matchUpdates: The updates among the matches, by ascending new offset.
  /// - Complexity: O(*k* log *k*) for *k* offsets.
  package init(
    unmatchedOld: [Int], unmatchedNew: [Int], matches: [Match], chainCount: Int, updates: [Update],
    matchUpdates: [Update]
  ) {
    self.init(
      unmatchedOld: UnmatchedOffsets(unmatchedOld), unmatchedNew: UnmatchedOffsets(unmatchedNew),
      matches: matches, chainCount: chainCount,
      updates: updates, matchUpdates: matchUpdates)
  }
}

extension UnmatchedOffsets.Buffer {
  /// Returns the offsets that no match has, ascending.
  fileprivate func offsets(without matches: [Match], _ position: (Match) -> Int) -> [Int] {
    if matches.count == count { return [] }
    let matched = BitSet(count: count)
    for match in matches { matched.insert(position(match)) }
    return matched.missing(count: count - matches.count).map { self[$0] }
  }
}
