extension PartialInjection {
  /// The changeset that describes this, with the fewest moves.
  ///
  /// - Complexity: O(*k*) where all is in order, otherwise O(*k* log *k*).
  package var changeset: Changeset {
    var insertions: [Int] = []
    var updates: [Changeset.Update] = []
    var new = 0
    for stretch in stretches {
      if stretch.new > new { insertions.append(contentsOf: new..<stretch.new) }
      new = stretch.new + stretch.count
      guard stretch.isUpdated else { continue }
      for step in 0..<stretch.count {
        updates.append(Changeset.Update(from: stretch.old + step, to: stretch.new + step))
      }
    }
    var deletions: [Int] = []
    var old = 0
    for position in stretches.indices {
      let stretch = stretches[byOld?[position] ?? position]
      if stretch.old > old { deletions.append(contentsOf: old..<stretch.old) }
      old = stretch.old + stretch.count
    }
    return Changeset(
      unchecked: (
        deletions: deletions, insertions: insertions, moves: byOld == nil ? [] : moves,
        updates: updates
      ))
  }

  /// The fewest elements that must move so that the rest is in order, by ascending destination.
  private var moves: [Changeset.Move] {
    // Those that never left the order are in order, so that no more than the others need to move. What
    // is longer than that never moves, and weighs just more than all that might: nothing is endless.
    let heaviest = stretches.reduce(0) { $0 + ($1.isMoved ? $1.count : 0) } + 1
    var runs: [Run] = []
    var oldEnd = -1
    for stretch in stretches {
      if stretch.old != oldEnd { runs.append(Run(start: stretch.old)) }
      oldEnd = stretch.old + stretch.count
      let run = runs.count - 1
      runs[run].count = min(heaviest, runs[run].count + min(heaviest, stretch.count))
      if stretch.isUpdated {
        runs[run].updateCount = min(heaviest, runs[run].updateCount + min(heaviest, stretch.count))
      }
    }
    let count = runs.reduce(0) { $0 + $1.count }
    let updateCount = runs.reduce(0) { $0 + $1.updateCount }
    // Millions of moves far apart could be weighed with the updates no more.
    let canWeighUpdates = !count.multipliedReportingOverflow(by: updateCount + 1).overflow
    if !canWeighUpdates { for run in runs.indices { runs[run].updateCount = 0 } }
    let stays = heaviestIncreasingSubsequence(
      of: runs, elementCount: canWeighUpdates ? updateCount : 0)

    var moves: [Changeset.Move] = []
    var run = -1
    oldEnd = -1
    for stretch in stretches {
      if stretch.old != oldEnd { run += 1 }
      oldEnd = stretch.old + stretch.count
      guard !stays[run] else { continue }
      for step in 0..<stretch.count {
        moves.append(Changeset.Move(from: stretch.old + step, to: stretch.new + step))
      }
    }
    return moves
  }
}
