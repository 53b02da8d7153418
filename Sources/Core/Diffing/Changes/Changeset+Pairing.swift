extension Changeset {
  /// Creates a changeset from a known pairing of old and new offsets.
  ///
  /// Moves are the kept elements outside a longest increasing subsequence. If only few segments
  /// are out of order and several choices of moves are minimal, updated elements are moved rather
  /// than others, and then elements whose offsets differ.
  ///
  /// - Parameters:
  ///   - origins: The old offset for each new offset, or -1 for an inserted element. No old offset
  ///     occurs twice.
  ///   - oldCount: The number of elements in the old version.
  ///   - isUpdated: A closure that indicates whether the content of a kept element differs. It is
  ///     called once for each kept element, by ascending new offset.
  /// - Complexity: O(*n*) if the kept elements are in order, with memory only for the changes.
  ///   Otherwise O(*n* + *k* log *k*), where *k* is the number of segments of consecutive
  ///   elements.
  @inlinable
  package init(
    origins: some RandomAccessCollection<Int>, oldCount: Int,
    isUpdated: (_ old: Int, _ new: Int) -> Bool
  ) {
    var deletions: [Int] = []
    var insertions: [Int] = []
    var updates: [Update] = []
    var isInOrder = true
    var expected = 0
    var new = 0
    for old in origins {
      if old < 0 {
        insertions.append(new)
      } else {
        if isUpdated(old, new) { updates.append(Update(from: old, to: new)) }
        // While nothing is out of order, each skipped old offset is a deletion.
        if old >= expected {
          if old > expected && isInOrder { deletions.append(contentsOf: expected..<old) }
          expected = old + 1
        } else {
          isInOrder = false
        }
      }
      new += 1
    }
    var moves: [Move] = []
    if isInOrder {
      deletions.append(contentsOf: expected..<oldCount)
    } else {
      let kept = BitSet(count: oldCount)
      for old in origins where old >= 0 { kept.insert(old) }
      deletions = kept.missing(count: oldCount + insertions.count - origins.count)
      moves = Self.minimalMoves(origins: origins, updates: updates)
    }
    self.init(uncheckedDeletions: deletions, insertions: insertions, moves: moves, updates: updates)
  }

  /// Returns the pairing that this changeset describes.
  ///
  /// - Parameter oldCount: The number of elements in the old version.
  /// - Returns: The old offset for each new offset, or -1 for an inserted element.
  /// - Precondition: The changeset is valid for that number of elements.
  /// - Complexity: O(*n* + *k* log *k*) for *k* moves.
  @usableFromInline
  package func origins(oldCount: Int) -> [Int] {
    var origins = Array(repeating: -1, count: oldCount + countChange)
    for segment in SegmentList(self).segments {
      for offset in 0..<min(segment.count, origins.count - segment.new) {
        origins[segment.new + offset] = segment.old + offset
      }
    }
    return origins
  }

  /// Returns a minimal set of moves that brings the kept elements into their new order, by ascending
  /// destination.
  @inlinable
  static func minimalMoves(
    origins: some Collection<Int>, updates: [Update]
  ) -> [Move] {
    var runs: [Run] = []
    var new = 0
    var update = 0
    var end = -1
    for old in origins {
      if old >= 0 {
        if old != end { runs.append(Run(start: old)) }
        runs[runs.count - 1].count += 1
        if update < updates.count && updates[update].to == new {
          update += 1
          runs[runs.count - 1].editWeight += 1
        }
        if old == new { runs[runs.count - 1].fixedCount += 1 }
        end = old + 1
      }
      new += 1
    }
    let stays = runs.longestIncreasingSubsequence()

    var moves: [Move] = []
    var run = -1
    end = -1
    new = 0
    for old in origins {
      if old >= 0 {
        if old != end { run += 1 }
        if !stays[run] { moves.append(Move(from: old, to: new)) }
        end = old + 1
      }
      new += 1
    }
    return moves
  }
}

extension Changeset {
  /// Returns the normal form of a recorded change, in which observers receive it.
  ///
  /// A deletion and an insertion with the same identity become a kept element. The first deletion
  /// is paired with the first insertion, and so on. Updates with equal content are dropped. Only
  /// deletions and insertions are hashed. Only recorded updates and new pairs are compared.
  ///
  /// - Parameters:
  ///   - old: The version before the change.
  ///   - new: The version after the change.
  /// - Returns: The change with the recorded pairs and the new ones.
  /// - Complexity: O(*k*) in the offsets, and O(*k* log *k*) if a deletion is paired with an
  ///   insertion.
  @inlinable
  package func normalForm<Element: Differentiable>(
    from old: some RandomAccessCollection<Element>, to new: some RandomAccessCollection<Element>
  ) -> Changeset {
    normalForm(
      old: { old.element(at: $0) }, new: { new.element(at: $0) })
  }

  /// Returns the normal form of a recorded change, in which observers receive it.
  ///
  /// - Parameters:
  ///   - old: A closure that returns the element at an offset in the version before the change.
  ///   - new: A closure that returns the element at an offset in the version after the change.
  @inlinable
  package func normalForm<Element: Differentiable>(
    old: (Int) -> Element, new: (Int) -> Element
  ) -> Changeset {
    // A recorded update may have replaced an element with one of another identity.
    let updates = updates.filter {
      let (old, new) = (old($0.from), new($0.to))
      return !old.hasSameIdentity(as: new)
        || !new.hasSameContent(as: old)
    }
    var pairs: [Update] = []
    if !deletions.isEmpty && !insertions.isEmpty {
      IdentityTable.pair(
        oldCount: deletions.count, newCount: insertions.count,
        old: { old(deletions[$0]).differenceIdentifier },
        new: { new(insertions[$0]).differenceIdentifier }
      ) { deletion, insertion in
        pairs.append(Update(from: deletions[deletion], to: insertions[insertion]))
      }
    }
    let change = Changeset(
      uncheckedDeletions: deletions, insertions: insertions, moves: moves, updates: updates)
    if pairs.isEmpty { return change }
    return change.keeping(pairs) { !new($0.to).hasSameContent(as: old($0.from)) }
  }
}

extension RandomAccessCollection {
  /// Returns the element at an offset from the start.
  @inlinable
  package func element(at offset: Int) -> Element {
    self[index(startIndex, offsetBy: offset)]
  }
}
