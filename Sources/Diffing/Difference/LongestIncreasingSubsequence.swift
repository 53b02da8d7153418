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

/// Returns the runs that belong to a longest increasing subsequence of all elements.
///
/// - Parameter runs: The runs in the order of the new version. They do not overlap.
/// - Returns: A Boolean value for each run. Equal arguments give equal results.
/// - Complexity: O(*n* + *k* log *k*) for *k* runs of *n* elements.
@usableFromInline
func longestIncreasingSubsequence(of runs: [Run]) -> [Bool] {
  let count = runs.reduce(0) { $0 + $1.count }
  // The search for whole runs needs memory for the runs only, and can consider updates, but costs
  // more for each run. If most runs have a single element, patience sorting is faster.
  return runs.count <= 64 || runs.count < count / 8
    ? heaviestIncreasingSubsequence(of: runs, maximumEditWeight: count)
    : longestIncreasingSubsequenceByPatience(of: runs)
}

/// Finds a longest increasing subsequence by the weight of whole runs. Among several, it prefers
/// the one with the lightest edits.
///
/// A Fenwick tree over the runs by ascending start finds the best chain before a run (P. Fenwick,
/// "A New Data Structure for Cumulative Frequency Tables", 1994, with maxima instead of sums).
///
/// - Parameters:
///   - runs: The runs in the order of the new version.
///   - maximumEditWeight: A number that is not less than the edit weight of all runs together.
func heaviestIncreasingSubsequence(of runs: [Run], maximumEditWeight: Int) -> [Bool] {
  let byStart = runs.indices.sorted { runs[$0].start < runs[$1].start }
  var rank = [Int](repeating: 0, count: runs.count)
  for (position, run) in byStart.enumerated() { rank[run] = position + 1 }

  // All edits together weigh less than one element.
  let unit = maximumEditWeight + 1
  var weights = [Int](repeating: 0, count: runs.count)
  var predecessors = [Int32](repeating: -1, count: runs.count)
  // Each node has the last run of the best chain in its range.
  var tree = [Int](repeating: -1, count: runs.count + 1)
  var best = -1
  for run in runs.indices {
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
      runs[run].count * unit - runs[run].editWeight + (predecessor < 0 ? 0 : weights[predecessor])
    weights[run] = weight
    predecessors[run] = Int32(truncatingIfNeeded: predecessor)
    if best < 0 || weight > weights[best] { best = run }
    node = rank[run]
    while node <= runs.count {
      if tree[node] < 0 || weight > weights[tree[node]] { tree[node] = run }
      node += node & -node
    }
  }
  return chain(endingAt: Int32(truncatingIfNeeded: best), predecessors: predecessors)
}

/// Finds a longest increasing subsequence by patience sorting, one run at a time.
///
/// The method is by C. Schensted, "Longest Increasing and Decreasing Subsequences", 1961.
func longestIncreasingSubsequenceByPatience(of runs: [Run]) -> [Bool] {
  let count = runs.reduce(0) { $0 + $1.count }
  // For each length, the smallest offset at the end of an increasing subsequence of that length,
  // and its run.
  return withUnsafeTemporaryAllocation(of: Int.self, capacity: count) { tails in
    withUnsafeTemporaryAllocation(of: Int32.self, capacity: count) { tailRuns in
      var length = 0
      var predecessors = [Int32](repeating: -1, count: runs.count)
      for position in runs.indices {
        let run = runs[position]
        let low = lowerBound(of: run.start, in: UnsafeBufferPointer(rebasing: tails[..<length]))
        if low > 0 { predecessors[position] = tailRuns[low - 1] }
        // No other offset lies inside a run, so its other elements follow without a search.
        for step in 0..<run.count {
          tails[low + step] = run.start + step
          tailRuns[low + step] = Int32(truncatingIfNeeded: position)
        }
        length = max(length, low + run.count)
      }
      return chain(endingAt: length > 0 ? tailRuns[length - 1] : -1, predecessors: predecessors)
    }
  }
}

/// Returns the number of ascending values that are less than another value.
///
/// The search uses arithmetic without branches, because the result of each step is unpredictable,
/// and a mispredicted branch costs more than the step. A difference that is shifted to its sign has
/// all bits set or none. (The compiler turns a conditional expression into a branch:
/// `DifferenceBenchmarks W7` took 1.3 times as long.)
func lowerBound<Value: FixedWidthInteger>(
  of value: Value, in values: UnsafeBufferPointer<Value>
) -> Int {
  guard let last = values.last, last >= value else { return values.count }
  var low = 0
  var rest = values.count
  // An element that moved only a little belongs near the end.
  if rest > 32, values[rest - 33] < value {
    low = rest - 32
    rest = 32
  }
  while rest > 1 {
    let half = rest / 2
    let sign = (values[low &+ half &- 1] &- value) >> (Value.bitWidth &- 1)
    low &+= half & Int(truncatingIfNeeded: sign)
    rest &-= half
  }
  return low &+ (values[low] < value ? 1 : 0)
}

/// Marks a run and all runs before it in its chain.
private func chain(endingAt last: Int32, predecessors: [Int32]) -> [Bool] {
  var isMember = [Bool](repeating: false, count: predecessors.count)
  var run = Int(last)
  while run >= 0 {
    isMember[run] = true
    run = Int(predecessors[run])
  }
  return isMember
}

/// Marks a longest increasing subsequence of distinct values, by patience sorting.
///
/// - Parameters:
///   - values: The values, which are at least 0.
///   - isMember: A buffer of the same count, whose elements are all `false`. The elements at the
///     offsets of the subsequence are set to `true`.
/// - Complexity: O(*n* log *n*), or O(*n*) if the values form runs.
func markLongestIncreasingSubsequence(
  of values: UnsafeBufferPointer<Int32>, in isMember: UnsafeMutableBufferPointer<Bool>
) {
  let count = values.count
  withUnsafeTemporaryAllocation(of: Int32.self, capacity: count) { predecessors in
    var last: Int32 = -1
    // Only a prefix as long as the subsequence is written.
    withUnsafeTemporaryAllocation(of: Int32.self, capacity: count) { tailItems in
      var tails = PileTops(capacity: count)
      defer { tails.deallocate() }
      var low = -1
      for item in 0..<count {
        let value = values[item]
        // The successor of the previous value belongs directly behind it.
        let next = low + 1
        let follows = item > 0 && value == values[item - 1] + 1 && tails.isFree(value, at: next)
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

/// The ascending top values of the piles of patience sorting.
///
/// Each 16 values form a block, and a second list has the last value of each block. A search counts
/// smaller values in both lists, with many comparisons at once and without dependencies between
/// them. With a binary search, `DifferenceBenchmarks W7` took 6.9 ms. It now takes 4.6 ms.
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
      return Diffing.lowerBound(
        of: value, in: UnsafeBufferPointer(start: lastOfBlocks, count: blocks))
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
