/// A search for a minimal set of moves that brings the kept elements into their new order.
///
/// The matches of the linear matcher are in order: the *chain*. Each other match is a *candidate*.
/// A candidate moves, unless moving parts of the chain is better. The chain is not stored. The
/// number of its elements before an offset is the offset minus the number of unmatched offsets
/// before it. These numbers determine how many elements of the chain a candidate crosses.
///
/// If several choices are minimal, updated elements are moved, unless nearly everything is out of
/// order.
struct LeastMoves {
  /// The old offsets that the linear matcher has not matched, ascending.
  let unmatchedOld: UnmatchedOffsets
  /// The new offsets that the linear matcher has not matched, ascending.
  let unmatchedNew: UnmatchedOffsets
  let chainCount: Int
  /// The updates in the chain, by ascending new offset.
  let updates: [Changeset.Update]
  /// The updates among the matches, by ascending new offset.
  let matchUpdates: [Changeset.Update]

  func moves(of matches: [Match]) -> [Changeset.Move] {
    // A candidate that crosses more elements of the chain than there are candidates must move.
    // Keeping it would cost more than all candidates can save. This reduces the number of
    // candidates, so repeat it.
    var candidates = matches
    var limit = Int.max
    while candidates.count < limit {
      limit = candidates.count
      candidates.removeAll { crossing($0) > limit }
    }
    if limit == matches.count { return leastMoves(candidates) }
    let movers = matches.lazy.filter { crossing($0) > limit }.map { move(of: $0) }
    return Array(movers).merged(with: leastMoves(candidates)) { $0.to < $1.to }
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

  /// Finds the moves by runs of consecutive elements, which stay or move together.
  private func leastMoves(_ candidates: [Match]) -> [Changeset.Move] {
    if candidates.isEmpty { return [] }
    let parts = PartsInOrder(of: self, candidates)
    var runs: [Run] = []
    runs.reserveCapacity(candidates.count)
    var end = -1
    var offsets = ChainOffsets(unmatchedNew)
    var (update, matchUpdate) = (0, 0)
    parts.forEach { place, part in
      if place != end { runs.append(Run(start: place)) }
      let run = runs.count - 1
      end = place + part.count
      runs[run].count += part.count
      switch part {
      case .chain(let range):
        let bound = update < updates.count ? offsets.offset(of: range.upperBound) : 0
        while update < updates.count, updates[update].to < bound {
          runs[run].editWeight += 1
          update += 1
        }
      case .candidate(let match):
        let offset = unmatchedNew[match.newPosition]
        while matchUpdate < matchUpdates.count, matchUpdates[matchUpdate].to < offset {
          matchUpdate += 1
        }
        if matchUpdate < matchUpdates.count, matchUpdates[matchUpdate].to == offset {
          runs[run].editWeight += 1
        }
      }
    }
    let stays = runs.longestIncreasingSubsequence()

    var moves: [Changeset.Move] = []
    var (old, new) = (ChainOffsets(unmatchedOld), ChainOffsets(unmatchedNew))
    var run = -1
    end = -1
    parts.forEach { place, part in
      if place != end { run += 1 }
      end = place + part.count
      if stays[run] { return }
      switch part {
      case .chain(let range):
        for element in range {
          moves.append(
            Changeset.Move(from: old.offset(of: element), to: new.offset(of: element)))
        }
      case .candidate(let match): moves.append(move(of: match))
      }
    }
    return moves
  }

  /// The candidates and the parts of the chain between them, in the order of the new version.
  ///
  /// The elements of the chain and the candidates are numbered together by old offset, so elements
  /// that are consecutive in both versions have consecutive numbers.
  private struct PartsInOrder {
    enum Part {
      case chain(Range<Int>)
      case candidate(Match)

      var count: Int {
        switch self {
        case .chain(let range): range.count
        case .candidate: 1
        }
      }
    }

    private let search: LeastMoves
    private let candidates: [Match]
    /// For each unmatched old offset with a candidate, the number of candidates before it.
    private var ranks: [Int32]
    /// The number of elements of the chain before each candidate, by ascending old offset.
    private var borders: [Int] = []

    init(of search: LeastMoves, _ candidates: [Match]) {
      self.search = search
      self.candidates = candidates
      ranks = Array(repeating: -1, count: search.unmatchedOld.count)
      borders.reserveCapacity(candidates.count)
      for match in candidates { ranks[match.oldPosition] = 0 }
      for position in ranks.indices where ranks[position] == 0 {
        ranks[position] = Int32(truncatingIfNeeded: borders.count)
        borders.append(search.chainBefore(old: position))
      }
    }

    /// Calls a closure with each part and the number of its first element.
    func forEach(_ body: (_ place: Int, _ part: Part) -> Void) {
      var (chain, border) = (0, 0)
      func visitChain(upTo end: Int) {
        while chain < end {
          while border < borders.count, borders[border] <= chain { border += 1 }
          let next = border < borders.count ? min(end, borders[border]) : end
          body(chain + border, .chain(chain..<next))
          chain = next
        }
      }
      for match in candidates {
        visitChain(upTo: search.chainBefore(new: match.newPosition))
        let before = search.chainBefore(old: match.oldPosition)
        body(before + Int(ranks[match.oldPosition]), .candidate(match))
      }
      visitChain(upTo: search.chainCount)
    }
  }

  /// The offsets of the elements of the chain in one version. They are visited in order.
  private struct ChainOffsets {
    private let unmatched: UnmatchedOffsets
    private var position = 0

    init(_ unmatched: UnmatchedOffsets) {
      self.unmatched = unmatched
    }

    mutating func offset(of element: Int) -> Int {
      while position < unmatched.count, unmatched[position] - position <= element { position += 1 }
      return element + position
    }
  }
}
