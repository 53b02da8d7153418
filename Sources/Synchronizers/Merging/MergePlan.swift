import Diffing

/// What a merge comes to, worked out on offsets: what neither side has touched costs nothing.
///
/// What stood still on both sides is the *chain*: it is in one order everywhere, and the place of all else is
/// told by how much of the chain stands before it. All else is an *entry*.
struct MergePlan {
  /// Where the content of a merged element comes from.
  struct Content {
    /// Which of the resolver's own values it is; -1 where it is one of the sides'.
    var value = -1
    var isNewToMine = false
    var isNewToTheirs = false

    static let both = Content()
    static let mine = Content(isNewToTheirs: true)
    static let theirs = Content(isNewToMine: true)
  }

  /// An element of the chain that was edited.
  struct ChainEdit {
    /// How much of the chain stands before it.
    let rank: Int
    let mine: Int
    let theirs: Int
    let content: Content
  }

  /// An element that is to be there and is not of the chain, with its offsets on both sides; -1 where it
  /// is not there.
  struct Entry {
    /// Its offset in base; -1 where it was added.
    var base = -1
    let mine: Int
    let theirs: Int
    let content: Content
    var isMovedByMine = false
    var isMovedByTheirs = false
    /// Whether mine had deleted it.
    var isBack = false
  }

  /// What of one side is not of the chain, by ascending offset.
  struct Rest {
    private(set) var offsets: [Int] = []
    /// The entry of each; -1 of what goes.
    private(set) var entries: [Int] = []

    /// How much of the chain stands before one.
    func gap(of position: Int) -> Int { offsets[position] - position }

    fileprivate mutating func append(_ offset: Int, _ entry: Int) {
      offsets.append(offset)
      entries.append(entry)
    }

    /// Puts together what stood still on this side but not on the other, and what arrived here.
    fileprivate init(_ stayed: [(offset: Int, entry: Int)], _ arrivals: [Int], _ entries: [Int]) {
      offsets.reserveCapacity(stayed.count + arrivals.count)
      self.entries.reserveCapacity(stayed.count + arrivals.count)
      var next = 0
      for (arrival, entry) in zip(arrivals, entries) {
        while next < stayed.count, stayed[next].offset < arrival {
          append(stayed[next].offset, stayed[next].entry)
          next += 1
        }
        append(arrival, entry)
      }
      for (offset, entry) in stayed[next...] { append(offset, entry) }
    }
  }

  /// What two sides have done that cannot both hold: asked with the offsets in base, mine and theirs, -1 where
  /// it is not there. The answer is nil where the element goes.
  typealias Decide = (MergeConflictKind, _ base: Int, _ mine: Int, _ theirs: Int) -> Content?

  private(set) var chainEdits: [ChainEdit] = []
  private(set) var entries: [Entry] = []
  private(set) var mineRest = Rest([], [], [])
  private(set) var theirRest = Rest([], [], [])
  let chainCount: Int

  /// Decides what becomes of each element.
  ///
  /// - Parameters:
  ///   - baseCount: How many elements base has.
  ///   - pairs: For each insertion of theirs the one of mine that has the same identity; -1 where none has.
  ///   - decide: Asked for contents in the order of base, and then for what both have added.
  init(
    baseCount: Int, mine: MergeSide, theirs: MergeSide, pairs: [Int], _ decide: Decide
  ) {
    var mineEntries = Array(repeating: -1, count: mine.arrivals.count)
    var theirEntries = Array(repeating: -1, count: theirs.arrivals.count)
    var mineStayed: [(offset: Int, entry: Int)] = []
    var theirsStayed: [(offset: Int, entry: Int)] = []
    var mineCursor = MergeCursor(mine)
    var theirCursor = MergeCursor(theirs)
    var departed = 0
    entries.reserveCapacity(
      mine.departures.count + theirs.departures.count + mine.insertions.count
        + theirs.insertions.count)
    chainEdits.reserveCapacity(mine.edits.count + theirs.edits.count)
    mineStayed.reserveCapacity(theirs.departures.count)
    theirsStayed.reserveCapacity(mine.departures.count)
    while true {
      let base = min(mineCursor.next, theirCursor.next)
      if base == .max { break }
      let here = mineCursor.outcome(at: base)
      let there = theirCursor.outcome(at: base)
      let content = MergePlan.content(base, here, there, decide)
      if !here.hasDeparted, !there.hasDeparted {
        if let content {
          chainEdits.append(
            ChainEdit(
              rank: base - departed, mine: here.offset, theirs: there.offset, content: content))
        }
        continue
      }
      departed += 1
      var entry = -1
      if let content {
        entry = entries.count
        entries.append(
          Entry(
            base: base, mine: here.offset, theirs: there.offset, content: content,
            isMovedByMine: here.isMoved,
            isMovedByTheirs: there.isMoved, isBack: here.offset < 0))
      }
      if here.isMoved { mineEntries[here.arrival] = entry }
      if there.isMoved { theirEntries[there.arrival] = entry }
      if !here.hasDeparted { mineStayed.append((here.offset, entry)) }
      if !there.hasDeparted { theirsStayed.append((there.offset, entry)) }
    }
    chainCount = baseCount - departed
    // What theirs has added, then what mine alone has.
    for (arrival, pair) in zip(theirs.insertions, pairs) {
      let offset = theirs.arrivals[arrival]
      theirEntries[arrival] = entries.count
      guard pair >= 0 else {
        entries.append(Entry(mine: -1, theirs: offset, content: .theirs))
        continue
      }
      let mineArrival = mine.insertions[pair]
      let mineOffset = mine.arrivals[mineArrival]
      let content = decide(.added, -1, mineOffset, offset)
      mineEntries[mineArrival] = entries.count
      entries.append(Entry(mine: mineOffset, theirs: offset, content: content ?? .both))
    }
    for arrival in mine.insertions where mineEntries[arrival] < 0 {
      mineEntries[arrival] = entries.count
      entries.append(Entry(mine: mine.arrivals[arrival], theirs: -1, content: .mine))
    }
    mineRest = Rest(mineStayed, mine.arrivals, mineEntries)
    theirRest = Rest(theirsStayed, theirs.arrivals, theirEntries)
  }

  /// What becomes of the content of an element of base; nil where it goes.
  private static func content(
    _ base: Int, _ mine: MergeCursor.Outcome, _ theirs: MergeCursor.Outcome, _ decide: Decide
  ) -> Content? {
    switch (mine.offset >= 0, theirs.offset >= 0) {
    case (true, true):
      return switch (mine.isEdited, theirs.isEdited) {
      case (true, true): decide(.edited, base, mine.offset, theirs.offset)
      case (true, false): .mine
      case (false, true): .theirs
      case (false, false): .both
      }
    case (false, true):
      return theirs.isEdited ? decide(.deletedByMine, base, -1, theirs.offset) : nil
    case (true, false): return mine.isEdited ? decide(.deletedByTheirs, base, mine.offset, -1) : nil
    case (false, false): return nil
    }
  }
}
