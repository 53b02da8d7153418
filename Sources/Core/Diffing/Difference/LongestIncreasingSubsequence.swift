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
  /// The number of elements whose offset is the same in both versions. Moving them would look like a fault.
  @usableFromInline var fixedCount = 0

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
    return count <= 1024 || count < elementCount / 8
      ? heaviestIncreasingSubsequence(maximumEditWeight: elementCount)
      : longestIncreasingSubsequenceByPatience()
  }

  /// Finds a longest increasing subsequence by the weight of whole runs. Among several, it prefers
  /// the one with the lightest edits, and then the one with the most elements at the same offset.
  ///
  /// A Fenwick tree over the runs by ascending start finds the best chain before a run (P. Fenwick,
  /// "A New Data Structure for Cumulative Frequency Tables", 1994, with maxima instead of sums).
  ///
  /// - Parameter maximumEditWeight: A number that is not less than the edit weight of all runs
  ///   together.
  func heaviestIncreasingSubsequence(maximumEditWeight: Int) -> [Bool] {
    // Sorting copies of the starts is faster than reading them from the runs.
    let byStart = indices.map { (start: self[$0].start, run: $0) }.sorted { $0.start < $1.start }
    var rank = [Int](repeating: 0, count: count)
    for (position, entry) in byStart.enumerated() { rank[entry.run] = position + 1 }

    // All edits together weigh less than one element.
    let unit = maximumEditWeight + 1
    var weights = [(main: Int, fixed: Int)](repeating: (0, 0), count: count)
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
      var weight: (main: Int, fixed: Int) = predecessor < 0 ? (0, 0) : weights[predecessor]
      weight.main += self[run].count * unit - self[run].editWeight
      weight.fixed += self[run].fixedCount
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

extension UnsafeBufferPointer<Int32> {
  /// Marks a longest increasing subsequence of these distinct values, which are at least 0, by
  /// patience sorting.
  ///
  /// - Parameter isMember: A buffer of the same count, whose elements are all `false`. The elements
  ///   at the offsets of the subsequence are set to `true`.
  /// - Complexity: O(*n* log *n*), or O(*n*) if the values form runs.
  func markLongestIncreasingSubsequence(in isMember: UnsafeMutableBufferPointer<Bool>) {
    withUnsafeTemporaryAllocation(of: Int32.self, capacity: count) { predecessors in
      var last: Int32 = -1
      // Only a prefix as long as the subsequence is written.
      withUnsafeTemporaryAllocation(of: Int32.self, capacity: count) { tailItems in
        var tails = PileTops(capacity: count)
        defer { tails.deallocate() }
        var low = -1
        for item in 0..<count {
          let value = self[item]
          // The successor of the previous value belongs directly behind it.
          let next = low + 1
          let follows = item > 0 && value == self[item - 1] + 1 && tails.isFree(value, at: next)
          low = follows ? next : tails.lowerBound(of: value)
          predecessors[item] = low > 0 ? tailItems[low - 1] : -1
          tails.put(value, at: low)
          tailItems[low] = Int32(truncatingIfNeeded: item)
        }
        if tails.count > 0 { last = tailItems[tails.count - 1] }
      }
      while last >= 0 {
        isMember[Int(last)] = true
        last = predecessors[Int(last)]
      }
    }
  }
}

/// The ascending top values of the piles of patience sorting.
///
/// Each 16 values form a block, and a second list has the last value of each block. A search counts
/// smaller values in both lists, with many comparisons at once and without dependencies between
/// them. This is faster than a binary search (`DifferenceBenchmarks W7`).
private struct PileTops {
  private typealias Lanes = SIMD8<Int32>

  private(set) var count = 0
  private let tops: UnsafeMutablePointer<Int32>
  private let lastOfBlocks: UnsafeMutablePointer<Int32>

  private static var block: Int { 16 }
  /// The number of values from which a binary search in the list of blocks is faster.
  private static var most: Int { 2048 }

  init(capacity: Int) {
    let blocks = capacity / Self.block + 1
    tops = .allocate(capacity: blocks * Self.block)
    lastOfBlocks = .allocate(capacity: blocks + Lanes.scalarCount)
  }

  func deallocate() {
    tops.deallocate()
    lastOfBlocks.deallocate()
  }

  /// Returns a Boolean value that indicates whether a value belongs at a place. The value must be
  /// greater than the value before that place.
  func isFree(_ value: Int32, at place: Int) -> Bool {
    place == count || tops[place] > value
  }

  mutating func put(_ value: Int32, at place: Int) {
    tops[place] = value
    let block = place / Self.block
    if place == count {
      if place % Self.block == 0 { open(block) }
      count += 1
    }
    if place % Self.block == Self.block - 1 { lastOfBlocks[block] = value }
  }

  /// Fills a new block behind its first value with a value greater than all others.
  private func open(_ block: Int) {
    let start = block * Self.block
    for place in start + 1..<start + Self.block { tops[place] = .max }
    for place in block..<block + Lanes.scalarCount { lastOfBlocks[place] = .max }
  }

  /// Returns the number of values that are less than a value.
  func lowerBound(of value: Int32) -> Int {
    if count == 0 || tops[count - 1] < value { return count }
    if tops[0] > value { return 0 }
    let lanes = Lanes(repeating: value)
    let zero = Lanes(repeating: 0)
    let one = Lanes(repeating: 1)
    let start = block(of: value, lanes) * Self.block
    let raw = UnsafeRawPointer(tops + start)
    var below = zero.replacing(with: one, where: raw.loadUnaligned(as: Lanes.self) .< lanes)
    below &+= zero.replacing(
      with: one,
      where: (raw + MemoryLayout<Lanes>.size).loadUnaligned(as: Lanes.self) .< lanes)
    return start + Int(below.wrappedSum())
  }

  /// Returns the number of blocks whose last value is less than a value.
  private func block(of value: Int32, _ lanes: Lanes) -> Int {
    let blocks = (count + Self.block - 1) / Self.block
    if count > Self.most {
      return UnsafeBufferPointer(start: lastOfBlocks, count: blocks).ascendingCount(below: value)
    }
    let zero = Lanes(repeating: 0)
    let one = Lanes(repeating: 1)
    var below = zero
    var place = 0
    while place < blocks {
      let part = UnsafeRawPointer(lastOfBlocks + place).loadUnaligned(as: Lanes.self)
      below &+= zero.replacing(with: one, where: part .< lanes)
      place += Lanes.scalarCount
    }
    return Int(below.wrappedSum())
  }
}
