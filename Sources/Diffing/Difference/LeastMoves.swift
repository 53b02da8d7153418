/// Finds the fewest moves that bring what was kept into its new order.
///
/// The walk's pairs are in order on both sides: the *chain*. What was matched besides is a *candidate*: it
/// moves, unless it is better that parts of the chain do. The chain is not spelled out. How many of
/// its elements stand before an offset is that offset less what was left over before it, and that is
/// all that is needed to tell how much of the chain a candidate crosses.
///
/// Of several choices that are equally small, it is the one where elements move that are updated
/// anyway, unless nearly everything is out of order.
struct LeastMoves {
  /// Old offsets that the walk has not paired, ascending.
  let oldRest: Rest.Offsets
  /// New offsets that the walk has not paired, ascending.
  let newRest: Rest.Offsets
  let chainCount: Int
  /// Those of the chain whose content differs, by ascending new offset.
  let updates: [Changeset.Update]
  /// Those of the matches whose content differs, by ascending new offset.
  let matchUpdates: [Changeset.Update]

  func moves(of matches: UnsafeBufferPointer<Match>) -> [Changeset.Move] {
    // Otherwise an array of no memory would be made below, which writes to the one that all share.
    if matches.isEmpty { return [] }
    // A candidate that crosses more of the chain than there are candidates has to move: to leave it in
    // place would cost more than all of them can bring. This leaves fewer, so again.
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
    return merged(moves, candidates.withUnsafeBufferPointer(leastMoves)) { $0.to < $1.to }
  }

  private func countCandidates(_ matches: UnsafeBufferPointer<Match>, _ limit: Int) -> Int {
    var count = 0
    for match in matches where crossing(match) <= limit { count += 1 }
    return count
  }

  /// How many elements of the chain stand before an old element that was left over.
  private func chainBefore(old position: Int) -> Int { oldRest[position] - position }

  private func chainBefore(new position: Int) -> Int { newRest[position] - position }

  /// How many elements of the chain a match crosses.
  private func crossing(_ match: Match) -> Int {
    abs(chainBefore(old: match.oldPosition) - chainBefore(new: match.newPosition))
  }

  private func move(of match: Match) -> Changeset.Move {
    Changeset.Move(from: oldRest[match.oldPosition], to: newRest[match.newPosition])
  }

  // MARK: The order of chain and candidates together

  /// A stretch of the chain between candidates, and the run that it belongs to.
  private struct Stretch {
    let start: Int
    let count: Int
    let run: Int
  }

  /// The candidates and the chain between them as stretches that stay or move together.
  ///
  /// Places are counted among the chain and the candidates together, by old offset, so that what
  /// follows without a gap on both sides is one run.
  private func leastMoves(_ candidates: UnsafeBufferPointer<Match>) -> [Changeset.Move] {
    if chainCount == 0, isTurnedRound(candidates) { return movesOfAllButLast(candidates) }
    let ranks = oldRanks(candidates)
    if candidates.count > max(chainCount / 4, 256) {
      return leastMovesOneByOne(candidates, ranks)
    }
    func rank(_ position: Int) -> Int {
      ranks.isEmpty ? candidates[position].oldPosition : Int(ranks[position])
    }
    // How much of the chain stands before each candidate, by ascending old offset.
    var borders = [Int](repeating: 0, count: chainCount == 0 ? 0 : candidates.count)
    if chainCount > 0 {
      for position in 0..<candidates.count {
        borders[rank(position)] = chainBefore(old: candidates[position].oldPosition)
      }
    }
    var runs: [Run] = []
    runs.reserveCapacity(candidates.count)
    var stretches: [Stretch] = []
    var runOfCandidate = [Int32](repeating: 0, count: candidates.count)
    var end = -1
    var border = 0
    var chain = 0
    var chainUpdates = ChainUpdates(updates: updates, newRest: newRest)
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
        runs[runs.count - 1].updateCount += chainUpdates.count(upTo: next)
        stretches.append(Stretch(start: chain, count: next - chain, run: runs.count - 1))
        end = next + border
        chain = next
      }
      if isLast { break }
      let rank = rank(position)
      let place = chainCount == 0 ? rank : borders[rank] + rank
      if place != end { runs.append(Run(start: place)) }
      runs[runs.count - 1].count += 1
      let offset = newRest[candidates[position].newPosition]
      while nextUpdate < matchUpdates.count, matchUpdates[nextUpdate].to < offset {
        nextUpdate += 1
      }
      if nextUpdate < matchUpdates.count, matchUpdates[nextUpdate].to == offset {
        runs[runs.count - 1].updateCount += 1
      }
      runOfCandidate[position] = Int32(truncatingIfNeeded: runs.count - 1)
      end = place + 1
    }
    let stays = longestIncreasingSubsequence(of: runs)
    let moves = movesOfStretches(stretches, stays)
    let candidateMoves = [Changeset.Move](unsafeUninitializedCapacity: candidates.count) {
      buffer, initialized in
      for position in 0..<candidates.count where !stays[Int(runOfCandidate[position])] {
        buffer[initialized] = move(of: candidates[position])
        initialized += 1
      }
    }
    return merged(candidateMoves, moves) { $0.to < $1.to }
  }

  /// Whether no two candidates are in order.
  private func isTurnedRound(_ candidates: UnsafeBufferPointer<Match>) -> Bool {
    var position = 1
    while position < candidates.count, candidates[position].old < candidates[position - 1].old {
      position += 1
    }
    return position >= candidates.count
  }

  /// The moves where only one can stay: a list whose order is turned round needs no search for it.
  private func movesOfAllButLast(_ candidates: UnsafeBufferPointer<Match>) -> [Changeset.Move] {
    let count = candidates.count - 1
    if count < 1 { return [] }
    return [Changeset.Move](unsafeUninitializedCapacity: count) { moves, initialized in
      for position in 0..<count { moves[position] = move(of: candidates[position]) }
      initialized = count
    }
  }

  /// The same where much is out of order: each element by itself, which takes less memory than stretches.
  private func leastMovesOneByOne(
    _ candidates: UnsafeBufferPointer<Match>, _ ranks: [Int32]
  ) -> [Changeset.Move] {
    let count = chainCount + candidates.count
    precondition(count < Int32.max, "More than 2 billion elements out of order")
    return withUnsafeTemporaryAllocation(of: Bool.self, capacity: count) { stays in
      stays.initialize(repeating: false)
      withUnsafeTemporaryAllocation(of: Int32.self, capacity: count) { places in
        fill(places, candidates, ranks)
        markLongestIncreasingSubsequence(of: UnsafeBufferPointer(places), in: stays)
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
            while inOld < oldRest.count, chainBefore(old: inOld) <= chain { inOld += 1 }
            while inNew < newRest.count, chainBefore(new: inNew) <= chain { inNew += 1 }
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

  /// Writes down, in the order of the new version, the place of each element by old offset.
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

  /// For each candidate how many have a smaller old offset; empty where nothing was deleted, so that its
  /// position among the old ones says it.
  private func oldRanks(_ candidates: UnsafeBufferPointer<Match>) -> [Int32] {
    if candidates.count == oldRest.count { return [] }
    var ranks = [Int32](repeating: 0, count: candidates.count)
    if candidates.count < oldRest.count / 16 {
      let order = candidates.indices.sorted {
        candidates[$0].oldPosition < candidates[$1].oldPosition
      }
      for (rank, position) in order.enumerated() { ranks[position] = Int32(rank) }
      return ranks
    }
    withUnsafeTemporaryAllocation(of: Int32.self, capacity: oldRest.count) { places in
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

  /// The moves of those parts of the chain that do not stay.
  private func movesOfStretches(_ stretches: [Stretch], _ stays: [Bool]) -> [Changeset.Move] {
    var moves: [Changeset.Move] = []
    var (inOld, inNew) = (0, 0)
    for stretch in stretches where !stays[stretch.run] {
      for place in stretch.start..<stretch.start + stretch.count {
        while inOld < oldRest.count, chainBefore(old: inOld) <= place { inOld += 1 }
        while inNew < newRest.count, chainBefore(new: inNew) <= place { inNew += 1 }
        moves.append(Changeset.Move(from: place + inOld, to: place + inNew))
      }
    }
    return moves
  }
}

/// Counts the updates in stretches of the chain, from its start on.
private struct ChainUpdates {
  let updates: [Changeset.Update]
  let newRest: Rest.Offsets
  var next = 0
  var restBefore = 0

  init(updates: [Changeset.Update], newRest: Rest.Offsets) {
    self.updates = updates
    self.newRest = newRest
  }

  /// How many there are from where it stands up to a place in the chain, where it then stands.
  mutating func count(upTo end: Int) -> Int {
    var count = 0
    while next < updates.count {
      let offset = updates[next].to
      while restBefore < newRest.count, newRest[restBefore] < offset { restBefore += 1 }
      if offset - restBefore >= end { break }
      count += 1
      next += 1
    }
    return count
  }
}
