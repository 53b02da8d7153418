/// A search for a minimal set of moves that brings the kept elements into their new order.
///
/// The matches of the linear matcher are in order: the *chain*. Each other match is a *candidate*.
/// A candidate moves, unless moving parts of the chain is better. The chain is not stored. The
/// number of its elements before an offset is the offset minus the number of unmatched offsets
/// before it. These numbers determine how many elements of the chain a candidate crosses.
///
/// If several choices are minimal, updated elements are moved, and then elements whose offsets
/// differ, unless nearly everything is out of order.
struct LeastMoves {
  /// The old offsets that the linear matcher has not matched, ascending.
  let unmatchedOld: UnmatchedOffsets.Buffer
  /// The new offsets that the linear matcher has not matched, ascending.
  let unmatchedNew: UnmatchedOffsets.Buffer
  let chainCount: Int
  /// The updates in the chain, by ascending new offset.
  let updates: [Changeset.Update]
  /// The updates among the matches, by ascending new offset.
  let matchUpdates: [Changeset.Update]

  func moves(of matches: UnsafeBufferPointer<Match>) -> [Changeset.Move] {
    // Below, an array without elements would write to the empty array that all threads share.
    if matches.isEmpty { return [] }
    // A candidate that crosses more elements of the chain than there are candidates must move.
    // Keeping it would cost more than all candidates can save. This reduces the number of
    // candidates, so repeat it.
    var limit = matches.count
    if chainCount <= limit { return leastMoves(matches) }
    var count = countCandidates(matches, limit)
    if count == limit { return leastMoves(matches) }
    while count < limit, count > 0 {
      limit = count
      count = countCandidates(matches, limit)
    }
    var candidates: [Match] = []
    candidates.reserveCapacity(count)
    var moves: [Changeset.Move] = []
    moves.reserveCapacity(matches.count - count)
    for match in matches {
      if crossing(match) <= limit {
        candidates.append(match)
      } else {
        moves.append(move(of: match))
      }
    }
    if candidates.isEmpty { return moves }
    return moves.merged(with: candidates.withUnsafeBufferPointer(leastMoves)) { $0.to < $1.to }
  }

  private func countCandidates(_ matches: UnsafeBufferPointer<Match>, _ limit: Int) -> Int {
    var count = 0
    for match in matches where crossing(match) <= limit { count += 1 }
    return count
  }

  /// Returns the number of elements of the chain before an unmatched old offset.
  private func chainBefore(old position: Int) -> Int { unmatchedOld[position] - position }

  private func chainBefore(new position: Int) -> Int { unmatchedNew[position] - position }

  /// Returns the number of elements of the chain that a match crosses.
  private func crossing(_ match: Match) -> Int {
    abs(chainBefore(old: match.oldPosition) - chainBefore(new: match.newPosition))
  }

  private func move(of match: Match) -> Changeset.Move {
    Changeset.Move(from: unmatchedOld[match.oldPosition], to: unmatchedNew[match.newPosition])
  }

  // MARK: The order of chain and candidates together

  /// A part of the chain between candidates, and the run that contains it.
  private struct Segment {
    let start: Int
    let count: Int
    let run: Int
  }

  /// Finds the moves by runs of consecutive elements, which stay or move together.
  ///
  /// Elements of the chain and candidates are numbered together by old offset. Elements that are
  /// consecutive in both versions therefore form one run.
  private func leastMoves(_ candidates: UnsafeBufferPointer<Match>) -> [Changeset.Move] {
    let ranks = oldRanks(candidates)
    if candidates.count > max(chainCount / 4, 256) {
      return leastMovesOneByOne(candidates, ranks)
    }
    func rank(_ position: Int) -> Int {
      ranks.isEmpty ? candidates[position].oldPosition : Int(ranks[position])
    }
    // The number of elements of the chain before each candidate, by ascending old offset.
    var borders = [Int](repeating: 0, count: chainCount == 0 ? 0 : candidates.count)
    if chainCount > 0 {
      for position in 0..<candidates.count {
        borders[rank(position)] = chainBefore(old: candidates[position].oldPosition)
      }
    }
    var runs: [Run] = []
    runs.reserveCapacity(candidates.count)
    var segments: [Segment] = []
    var runOfCandidate = [Int32](repeating: 0, count: candidates.count)
    var end = -1
    var border = 0
    var chain = 0
    var chainUpdates = ChainUpdates(updates: updates, unmatchedNew: unmatchedNew)
    var fixed = FixedElements(unmatchedOld: unmatchedOld, unmatchedNew: unmatchedNew)
    var nextUpdate = 0
    for position in 0...candidates.count {
      let isLast = position == candidates.count
      let before =
        isLast ? chainCount : chainBefore(new: candidates[position].newPosition)
      while chain < before {
        while border < borders.count, borders[border] <= chain { border += 1 }
        let next = border < borders.count ? min(before, borders[border]) : before
        if chain + border != end { runs.append(Run(start: chain + border)) }
        runs[runs.count - 1].count += next - chain
        runs[runs.count - 1].editWeight += chainUpdates.count(upTo: next)
        runs[runs.count - 1].fixedCount += fixed.count(upTo: next)
        segments.append(Segment(start: chain, count: next - chain, run: runs.count - 1))
        end = next + border
        chain = next
      }
      if isLast { break }
      let rank = rank(position)
      let place = chainCount == 0 ? rank : borders[rank] + rank
      if place != end { runs.append(Run(start: place)) }
      runs[runs.count - 1].count += 1
      let offset = unmatchedNew[candidates[position].newPosition]
      while nextUpdate < matchUpdates.count, matchUpdates[nextUpdate].to < offset {
        nextUpdate += 1
      }
      if nextUpdate < matchUpdates.count, matchUpdates[nextUpdate].to == offset {
        runs[runs.count - 1].editWeight += 1
      }
      if unmatchedOld[candidates[position].oldPosition] == offset {
        runs[runs.count - 1].fixedCount += 1
      }
      runOfCandidate[position] = Int32(truncatingIfNeeded: runs.count - 1)
      end = place + 1
    }
    let stays = runs.longestIncreasingSubsequence()
    let moves = movesOfSegments(segments, stays)
    let candidateMoves = [Changeset.Move](unsafeUninitializedCapacity: candidates.count) {
      buffer, initialized in
      for position in 0..<candidates.count where !stays[Int(runOfCandidate[position])] {
        buffer[initialized] = move(of: candidates[position])
        initialized += 1
      }
    }
    return candidateMoves.merged(with: moves) { $0.to < $1.to }
  }

  /// Finds the moves element by element. If much is out of order, this needs less memory than runs.
  private func leastMovesOneByOne(
    _ candidates: UnsafeBufferPointer<Match>, _ ranks: [Int32]
  ) -> [Changeset.Move] {
    let count = chainCount + candidates.count
    precondition(
      count < Int32.max, "\(count) elements are out of order; at most \(Int32.max) can be")
    return withUnsafeTemporaryAllocation(of: Bool.self, capacity: count) { stays in
      stays.initialize(repeating: false)
      withUnsafeTemporaryAllocation(of: Int32.self, capacity: count) { places in
        fill(places, candidates, ranks)
        UnsafeBufferPointer(places).markLongestIncreasingSubsequence(in: stays)
      }
      var moves: [Changeset.Move] = []
      var moveCount = 0
      for stays in stays where !stays { moveCount += 1 }
      moves.reserveCapacity(moveCount)
      var (item, chain, inOld, inNew) = (0, 0, 0, 0)
      for position in 0...candidates.count {
        let isLast = position == candidates.count
        let before = isLast ? chainCount : chainBefore(new: candidates[position].newPosition)
        while chain < before {
          if !stays[item] {
            while inOld < unmatchedOld.count, chainBefore(old: inOld) <= chain { inOld += 1 }
            while inNew < unmatchedNew.count, chainBefore(new: inNew) <= chain { inNew += 1 }
            moves.append(Changeset.Move(from: chain + inOld, to: chain + inNew))
          }
          chain += 1
          item += 1
        }
        if isLast { break }
        if !stays[item] { moves.append(move(of: candidates[position])) }
        item += 1
      }
      return moves
    }
  }

  /// Writes the number of each element by old offset, in the order of the new version.
  private func fill(
    _ places: UnsafeMutableBufferPointer<Int32>, _ candidates: UnsafeBufferPointer<Match>,
    _ ranks: [Int32]
  ) {
    var borders = [Int32](repeating: 0, count: chainCount == 0 ? 0 : candidates.count)
    func rank(_ position: Int) -> Int {
      ranks.isEmpty ? candidates[position].oldPosition : Int(ranks[position])
    }
    if chainCount > 0 {
      for position in 0..<candidates.count {
        borders[rank(position)] = Int32(chainBefore(old: candidates[position].oldPosition))
      }
    }
    var (item, chain, border) = (0, 0, 0)
    for position in 0...candidates.count {
      let isLast = position == candidates.count
      let before = isLast ? chainCount : chainBefore(new: candidates[position].newPosition)
      while chain < before {
        while border < borders.count, borders[border] <= chain { border += 1 }
        places[item] = Int32(truncatingIfNeeded: chain + border)
        chain += 1
        item += 1
      }
      if isLast { break }
      let rank = rank(position)
      places[item] = Int32(truncatingIfNeeded: rank) + (chainCount == 0 ? 0 : borders[rank])
      item += 1
    }
  }

  /// Returns the rank of each candidate by old offset. The result is empty if each unmatched old
  /// offset has a candidate, because the rank is then the position.
  private func oldRanks(_ candidates: UnsafeBufferPointer<Match>) -> [Int32] {
    if candidates.count == unmatchedOld.count { return [] }
    var ranks = [Int32](repeating: 0, count: candidates.count)
    if candidates.count < unmatchedOld.count / 16 {
      let order = candidates.indices.sorted {
        candidates[$0].oldPosition < candidates[$1].oldPosition
      }
      for (rank, position) in order.enumerated() { ranks[position] = Int32(rank) }
      return ranks
    }
    withUnsafeTemporaryAllocation(of: Int32.self, capacity: unmatchedOld.count) { places in
      places.initialize(repeating: -1)
      for position in 0..<candidates.count {
        places[candidates[position].oldPosition] = Int32(truncatingIfNeeded: position)
      }
      var rank: Int32 = 0
      for position in places where position >= 0 {
        ranks[Int(position)] = rank
        rank += 1
      }
    }
    return ranks
  }

  /// Returns the moves of the parts of the chain that do not stay.
  private func movesOfSegments(_ segments: [Segment], _ stays: [Bool]) -> [Changeset.Move] {
    var moves: [Changeset.Move] = []
    var (inOld, inNew) = (0, 0)
    for segment in segments where !stays[segment.run] {
      for place in segment.start..<segment.start + segment.count {
        while inOld < unmatchedOld.count, chainBefore(old: inOld) <= place { inOld += 1 }
        while inNew < unmatchedNew.count, chainBefore(new: inNew) <= place { inNew += 1 }
        moves.append(Changeset.Move(from: place + inOld, to: place + inNew))
      }
    }
    return moves
  }
}

/// A counter of the updates in consecutive parts of the chain.
private struct ChainUpdates {
  let updates: [Changeset.Update]
  let unmatchedNew: UnmatchedOffsets.Buffer
  var next = 0
  var unmatchedBefore = 0

  /// Returns the number of updates up to a place in the chain, since the previous call.
  mutating func count(upTo end: Int) -> Int {
    var count = 0
    while next < updates.count {
      let offset = updates[next].to
      while unmatchedBefore < unmatchedNew.count, unmatchedNew[unmatchedBefore] < offset {
        unmatchedBefore += 1
      }
      if offset - unmatchedBefore >= end { break }
      count += 1
      next += 1
    }
    return count
  }
}

/// A counter of the elements of the chain whose offset is the same in both versions.
private struct FixedElements {
  let unmatchedOld: UnmatchedOffsets.Buffer
  let unmatchedNew: UnmatchedOffsets.Buffer
  var place = 0
  var oldBefore = 0
  var newBefore = 0

  /// Returns the number of such elements up to a place in the chain, since the previous call.
  mutating func count(upTo end: Int) -> Int {
    var count = 0
    while place < end {
      var next = end
      Self.pass(&oldBefore, of: unmatchedOld, at: place, &next)
      Self.pass(&newBefore, of: unmatchedNew, at: place, &next)
      if oldBefore == newBefore { count += next - place }
      place = next
    }
    return count
  }

  /// Advances over the unmatched offsets before a place in the chain, and lowers the next place to that of the one
  /// that follows.
  private static func pass(
    _ before: inout Int, of unmatched: UnmatchedOffsets.Buffer, at place: Int, _ next: inout Int
  ) {
    while before < unmatched.count, unmatched[before] - before <= place { before += 1 }
    if before < unmatched.count { next = min(next, unmatched[before] - before) }
  }
}
