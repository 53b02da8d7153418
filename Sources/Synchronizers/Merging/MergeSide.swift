import Diffing

/// What one side has done to base, as offsets.
struct MergeSide {
  /// What is not where base has it any more.
  struct Departure {
    /// Its offset in base.
    let base: Int
    /// Which of the arrivals it is; -1 where it was deleted.
    let arrival: Int
  }

  /// What was deleted or moved, by ascending offset in base.
  let departures: [Departure]
  /// The offsets of what was inserted or moved, ascending.
  let arrivals: [Int]
  /// Which of the arrivals were inserted.
  let insertions: [Int]
  /// The offsets of what was inserted, ascending.
  let insertedOffsets: [Int]
  /// What was edited, by ascending offset in base.
  let edits: [Changeset.Update]

  init(_ changes: Changeset) {
    var arrivals: [Int] = []
    var insertions: [Int] = []
    var moved: [Departure] = []
    arrivals.reserveCapacity(changes.insertions.count + changes.moves.count)
    var move = 0
    for insertion in changes.insertions + [Int.max] {
      while move < changes.moves.count, changes.moves[move].to < insertion {
        moved.append(Departure(base: changes.moves[move].from, arrival: arrivals.count))
        arrivals.append(changes.moves[move].to)
        move += 1
      }
      if insertion == .max { break }
      insertions.append(arrivals.count)
      arrivals.append(insertion)
    }
    moved.sort { $0.base < $1.base }
    departures = MergeSide.inOrder(changes.deletions, moved)
    insertedOffsets = changes.insertions
    self.arrivals = arrivals
    self.insertions = insertions
    // Without moves, what was kept is in one order on both sides.
    edits = moved.isEmpty ? changes.updates : MergeSide.inOrderOfBase(changes.updates)
  }

  /// What was deleted and what was moved, as one list.
  private static func inOrder(_ deletions: [Int], _ moved: [Departure]) -> [Departure] {
    var departures: [Departure] = []
    departures.reserveCapacity(deletions.count + moved.count)
    var next = 0
    for deletion in deletions {
      while next < moved.count, moved[next].base < deletion {
        departures.append(moved[next])
        next += 1
      }
      departures.append(Departure(base: deletion, arrival: -1))
    }
    departures += moved[next...]
    return departures
  }

  /// Updates by ascending offset in base: most are in that order already, and few were moved as well.
  private static func inOrderOfBase(_ updates: [Changeset.Update]) -> [Changeset.Update] {
    var last = -1
    let isInOrder = updates.allSatisfy { update in
      defer { last = update.from }
      return update.from > last
    }
    return isInOrder ? updates : updates.sorted { $0.from < $1.from }
  }
}

/// Goes through all of base that one side has touched, and tells what became of it.
struct MergeCursor {
  private let side: MergeSide
  private var departure = 0
  private var edit = 0
  private var arrival = 0

  /// What became of an element of base.
  struct Outcome {
    /// Its offset on this side; -1 where it was deleted.
    let offset: Int
    let isEdited: Bool
    let hasDeparted: Bool
    /// Which of the arrivals it is, if it was moved.
    let arrival: Int

    var isMoved: Bool { arrival >= 0 }
  }

  init(_ side: MergeSide) {
    self.side = side
  }

  /// The next offset in base that this side has touched.
  var next: Int {
    min(
      departure < side.departures.count ? side.departures[departure].base : .max,
      edit < side.edits.count ? side.edits[edit].from : .max)
  }

  /// Asks for an element of base; for no later one than the next, and for none twice.
  mutating func outcome(at base: Int) -> Outcome {
    var isEdited = false
    if edit < side.edits.count, side.edits[edit].from == base {
      isEdited = true
      edit += 1
    }
    if departure < side.departures.count, side.departures[departure].base == base {
      let arrival = side.departures[departure].arrival
      departure += 1
      return Outcome(
        offset: arrival < 0 ? -1 : side.arrivals[arrival], isEdited: isEdited, hasDeparted: true,
        arrival: arrival)
    }
    let rank = base - departure
    while arrival < side.arrivals.count, side.arrivals[arrival] - arrival <= rank { arrival += 1 }
    return Outcome(offset: rank + arrival, isEdited: isEdited, hasDeparted: false, arrival: -1)
  }
}
