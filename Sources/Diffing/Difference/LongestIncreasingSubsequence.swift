/// A stretch of kept elements whose old offsets follow one another without a gap.
///
/// All of it can stay or none: where one of its elements fits an increasing sequence, all of them do.
@usableFromInline
struct Run {
  /// The first element's old offset.
  @usableFromInline let start: Int
  /// How many elements there are.
  @usableFromInline var count = 0
  /// How many of them are updated.
  @usableFromInline var updateCount = 0

  @inlinable
  init(start: Int, count: Int = 0) {
    self.start = start
    self.count = count
  }
}

/// Tells which runs belong to a longest increasing subsequence of all elements.
///
/// - Parameter runs: The runs in the order of the new version. They do not overlap.
/// - Returns: One value for each run. It depends on nothing but the arguments.
/// - Complexity: O(*n* + *k* log *k*) for *k* runs of *n* elements.
@usableFromInline
func longestIncreasingSubsequence(of runs: [Run]) -> [Bool] {
  let count = runs.reduce(0) { $0 + $1.count }
  // The heaviest subsequence of whole runs needs memory for the runs only, and can weigh updates, but
  // costs more for each run. Where nearly each element is a run of its own, patience is faster.
  return runs.count <= 64 || runs.count < count / 8
    ? heaviestIncreasingSubsequence(of: runs, elementCount: count)
    : longestIncreasingSubsequenceByPatience(of: runs)
}

/// Finds the longest subsequence by the weight of whole runs, and among those the one that holds the
/// fewest updates.
///
/// A Fenwick tree over the runs by ascending start answers which is the best chain to the left of a run
/// (P. Fenwick, "A New Data Structure for Cumulative Frequency Tables", 1994, with maxima for sums).
func heaviestIncreasingSubsequence(of runs: [Run], elementCount: Int) -> [Bool] {
  let byStart = runs.indices.sorted { runs[$0].start < runs[$1].start }
  var rank = [Int](repeating: 0, count: runs.count)
  for (position, run) in byStart.enumerated() { rank[run] = position + 1 }

  // Updates weigh less than one element, all of them together.
  let unit = elementCount + 1
  var weights = [Int](repeating: 0, count: runs.count)
  var predecessors = [Int32](repeating: -1, count: runs.count)
  // Each node holds the run at which the best chain in its range ends.
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
      runs[run].count * unit - runs[run].updateCount + (predecessor < 0 ? 0 : weights[predecessor])
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

/// Finds the longest subsequence by patience sorting, a whole run at a time.
///
/// The method goes back to C. Schensted, "Longest Increasing and Decreasing Subsequences", 1961.
func longestIncreasingSubsequenceByPatience(of runs: [Run]) -> [Bool] {
  let count = runs.reduce(0) { $0 + $1.count }
  // For each length, the smallest offset in which an increasing sequence of that length ends, and its
  // run.
  return withUnsafeTemporaryAllocation(of: Int.self, capacity: count) { tails in
    withUnsafeTemporaryAllocation(of: Int32.self, capacity: count) { tailRuns in
      var length = 0
      var predecessors = [Int32](repeating: -1, count: runs.count)
      for position in runs.indices {
        let run = runs[position]
        let low = lowerBound(of: run.start, in: UnsafeBufferPointer(rebasing: tails[..<length]))
        if low > 0 { predecessors[position] = tailRuns[low - 1] }
        // No other offset lies inside a run, so that the rest of it follows without a search.
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

/// How many of some ascending values are less than another.
///
/// Halved by arithmetic alone, since which half it is is as good as random, and a wrong guess of the
/// processor costs more than the step: a difference shifted to its sign is all ones or none. (A
/// conditional expression becomes a branch: `DifferenceBenchmarks W7` took 1.3 times as long.)
func lowerBound<Value: FixedWidthInteger>(
  of value: Value, in values: UnsafeBufferPointer<Value>
) -> Int {
  guard let last = values.last, last >= value else { return values.count }
  var low = 0
  var rest = values.count
  // What moved a little only belongs near the end.
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

/// Marks a run and all before it in its chain.
private func chain(endingAt last: Int32, predecessors: [Int32]) -> [Bool] {
  var isMember = [Bool](repeating: false, count: predecessors.count)
  var run = Int(last)
  while run >= 0 {
    isMember[run] = true
    run = Int(predecessors[run])
  }
  return isMember
}

/// Marks a longest increasing subsequence of some distinct values, by patience sorting.
///
/// - Parameters:
///   - values: From zero on.
///   - isMember: As many places, all `false`; set to `true` for each value of the subsequence.
/// - Complexity: O(*n* log *n*), O(*n*) where values follow one another in runs.
func markLongestIncreasingSubsequence(
  of values: UnsafeBufferPointer<Int32>, in isMember: UnsafeMutableBufferPointer<Bool>
) {
  let count = values.count
  withUnsafeTemporaryAllocation(of: Int32.self, capacity: count) { predecessors in
    var last: Int32 = -1
    // Only as much of these is touched as the subsequence is long.
    withUnsafeTemporaryAllocation(of: Int32.self, capacity: count) { tailItems in
      var tails = PileTops(capacity: count)
      defer { tails.deallocate() }
      var low = -1
      for item in 0..<count {
        let value = values[item]
        // A value that follows the one before comes right behind it.
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

/// The ascending tops of the piles of patience sorting.
///
/// Each 16 of them are a block, and the last of each block stands in a list of its own. Which block and
/// which place in it is counted by comparing many at once, without one comparison waiting for
/// the one before: `DifferenceBenchmarks W7` took 6.9 ms by halving, and takes 4.6 ms so.
private struct PileTops {
  private typealias Lanes = SIMD8<Int32>

  private(set) var count = 0
  private let tops: UnsafeMutablePointer<Int32>
  private let lastOfBlocks: UnsafeMutablePointer<Int32>

  private static var block: Int { 16 }
  /// From so many on, halving is faster than looking through the list of blocks.
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

  /// Whether a value that is greater than the one before a place belongs there.
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

  /// Fills a new block with what is greater than all values, behind its first.
  private func open(_ block: Int) {
    let start = block * Self.block
    for place in start + 1..<start + Self.block { tops[place] = .max }
    for place in block..<block + Lanes.scalarCount { lastOfBlocks[place] = .max }
  }

  /// How many are less than a value.
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

  /// How many blocks end with less than a value.
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
