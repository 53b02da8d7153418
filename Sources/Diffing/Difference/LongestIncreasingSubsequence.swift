/// A run of kept elements with consecutive old offsets.
///
/// A run stays or moves as a whole: if one of its elements fits into an increasing subsequence, all
/// of them do.
@usableFromInline
struct Run {
  /// The old offset of the first element.
  @usableFromInline let start: Int
  /// The number of elements.
  @usableFromInline var count = 0
  /// The weight of the edited elements. Among equally long subsequences, the lightest is the best.
  @usableFromInline var editWeight = 0

  @inlinable
  init(start: Int, count: Int = 0) {
    self.start = start
    self.count = count
  }
}

/// The runs of a version, in its order. They do not overlap.
extension [Run] {
  /// Returns the runs that belong to a longest increasing subsequence of all elements.
  ///
  /// - Returns: A Boolean value for each run. Equal arguments give equal results.
  /// - Complexity: O(*n* + *k* log *k*) for *k* runs of *n* elements.
  @usableFromInline
  func longestIncreasingSubsequence() -> [Bool] {
    let elementCount = reduce(0) { $0 + $1.count }
    // The search for whole runs needs memory for the runs only, and can consider updates, but costs
    // more for each run. If most runs have a single element, patience sorting is faster.
    return count <= 64 || count < elementCount / 8
      ? heaviestIncreasingSubsequence(maximumEditWeight: elementCount)
      : longestIncreasingSubsequenceByPatience()
  }

  /// Finds a longest increasing subsequence by the weight of whole runs. Among several, it prefers
  /// the one with the lightest edits.
  ///
  /// A Fenwick tree over the runs by ascending start finds the best chain before a run (P. Fenwick,
  /// "A New Data Structure for Cumulative Frequency Tables", 1994, with maxima instead of sums).
  ///
  /// - Parameter maximumEditWeight: A number that is not less than the edit weight of all runs
  ///   together.
  func heaviestIncreasingSubsequence(maximumEditWeight: Int) -> [Bool] {
    let byStart = indices.sorted { self[$0].start < self[$1].start }
    var rank = [Int](repeating: 0, count: count)
    for (position, run) in byStart.enumerated() { rank[run] = position + 1 }

    // All edits together weigh less than one element.
    let unit = maximumEditWeight + 1
    var weights = [Int](repeating: 0, count: count)
    var predecessors = [Int32](repeating: -1, count: count)
    // Each node has the last run of the best chain in its range.
    var tree = [Int](repeating: -1, count: count + 1)
    var best = -1
    for run in indices {
      var predecessor = -1
      var node = rank[run] - 1
      while node > 0 {
        let candidate = tree[node]
        if candidate >= 0 && (predecessor < 0 || weights[candidate] > weights[predecessor]) {
          predecessor = candidate
        }
        node &= node - 1
      }
      let weight =
        self[run].count * unit - self[run].editWeight + (predecessor < 0 ? 0 : weights[predecessor])
      weights[run] = weight
      predecessors[run] = Int32(truncatingIfNeeded: predecessor)
      if best < 0 || weight > weights[best] { best = run }
      node = rank[run]
      while node <= count {
        if tree[node] < 0 || weight > weights[tree[node]] { tree[node] = run }
        node += node & -node
      }
    }
    return Self.chain(endingAt: Int32(truncatingIfNeeded: best), predecessors: predecessors)
  }

  /// Finds a longest increasing subsequence by patience sorting, one run at a time.
  ///
  /// The method is by C. Schensted, "Longest Increasing and Decreasing Subsequences", 1961.
  private func longestIncreasingSubsequenceByPatience() -> [Bool] {
    // For each length, the smallest offset at the end of an increasing subsequence of that length,
    // and its run.
    var tails: [Int] = []
    var tailRuns: [Int32] = []
    var predecessors = [Int32](repeating: -1, count: count)
    for position in indices {
      let run = self[position]
      let low = tails.ascendingCount(below: run.start)
      if low > 0 { predecessors[position] = tailRuns[low - 1] }
      // No other offset lies inside a run, so its other elements follow without a search.
      for step in 0..<run.count {
        if low + step < tails.count {
          tails[low + step] = run.start + step
          tailRuns[low + step] = Int32(truncatingIfNeeded: position)
        } else {
          tails.append(run.start + step)
          tailRuns.append(Int32(truncatingIfNeeded: position))
        }
      }
    }
    return Self.chain(endingAt: tailRuns.last ?? -1, predecessors: predecessors)
  }

  /// Marks a run and all runs before it in its chain.
  private static func chain(endingAt last: Int32, predecessors: [Int32]) -> [Bool] {
    var isMember = [Bool](repeating: false, count: predecessors.count)
    var run = Int(last)
    while run >= 0 {
      isMember[run] = true
      run = Int(predecessors[run])
    }
    return isMember
  }
}
