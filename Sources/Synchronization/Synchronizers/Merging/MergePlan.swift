import Diffing

/// The decisions of a merge, expressed in offsets. Elements that neither side changed cost nothing.
///
/// The elements that neither side moved or deleted form the *chain*. Their order is the same
/// everywhere. Each other element is an *entry*, and the number of chain elements before it gives its
/// place.
struct MergePlan {
  /// The origin of the content of a merged element.
  struct Content {
    /// An index into the contents that the resolver made, or -1 if the content is from a side.
    var value = -1
    var isNewToMine = false
    var isNewToTheirs = false

    static let both = Content()
    static let mine = Content(isNewToTheirs: true)
    static let theirs = Content(isNewToMine: true)
  }

  /// An edited element of the chain.
  struct ChainEdit {
    /// The number of chain elements before it.
    let rank: Int
    let mine: Int
    let theirs: Int
    let content: Content
  }

  /// An element of the merged result that is not part of the chain.
  ///
  /// An offset of -1 means that the element is missing on this side.
  struct Entry {
    /// The offset in the base, or -1 for an added element.
    var base = -1
    let mine: Int
    let theirs: Int
    let content: Content
    var isMovedByMine = false
    var isMovedByTheirs = false
    /// A Boolean value that indicates whether mine deleted the element and the merge restores it.
    var isRestored = false
  }

  /// The elements of one side outside the chain, by ascending offset.
  struct Rest {
    let offsets: [Int]
    /// The entry of each element, or -1 if the element is deleted.
    let entries: [Int]

    /// Returns the number of chain elements before a position of `offsets`.
    func gap(of position: Int) -> Int { offsets[position] - position }

    /// Combines the elements that only the other side moved or deleted with this side's arrivals.
    fileprivate init(_ stayed: [(offset: Int, entry: Int)], _ arrivals: [Int], _ entries: [Int]) {
      let all = stayed.merged(with: zip(arrivals, entries).map { ($0, $1) }) {
        $0.offset < $1.offset
      }
      offsets = all.map(\.offset)
      self.entries = all.map(\.entry)
    }
  }

  /// Decides the content of an element that both sides changed, or returns `nil` to delete it.
  ///
  /// The arguments are the offsets of the element. An offset of -1 means that it is missing.
  typealias Decide = (_ base: Int, _ mine: Int, _ theirs: Int) -> Content?

  private(set) var chainEdits: [ChainEdit] = []
  private(set) var entries: [Entry] = []
  let mineRest: Rest
  let theirRest: Rest
  let chainCount: Int

  /// Decides about each element.
  ///
  /// - Parameters:
  ///   - baseCount: The number of elements of the base.
  ///   - mine: The changes of mine.
  ///   - theirs: The changes of theirs.
  ///   - pairs: For each insertion of theirs, the insertion of mine that has the same identity, or -1.
  ///   - decide: Decides about contents. It is called in the order of the base, and then for
  ///     elements that both sides added.
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
            isMovedByTheirs: there.isMoved, isRestored: here.offset < 0))
      }
      if here.isMoved { mineEntries[here.arrival] = entry }
      if there.isMoved { theirEntries[there.arrival] = entry }
      if !here.hasDeparted { mineStayed.append((here.offset, entry)) }
      if !there.hasDeparted { theirsStayed.append((there.offset, entry)) }
    }
    chainCount = baseCount - departed
    // The insertions of theirs come first, and then the insertions of mine alone.
    for (arrival, pair) in zip(theirs.insertions, pairs) {
      let offset = theirs.arrivals[arrival]
      theirEntries[arrival] = entries.count
      guard pair >= 0 else {
        entries.append(Entry(mine: -1, theirs: offset, content: .theirs))
        continue
      }
      let mineArrival = mine.insertions[pair]
      let mineOffset = mine.arrivals[mineArrival]
      let content = decide(-1, mineOffset, offset)
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

  /// Returns the content of an element of the base, or `nil` if it is deleted.
  private static func content(
    _ base: Int, _ mine: MergeCursor.Outcome, _ theirs: MergeCursor.Outcome, _ decide: Decide
  ) -> Content? {
    switch (mine.offset >= 0, theirs.offset >= 0) {
    case (true, true):
      return switch (mine.isEdited, theirs.isEdited) {
      case (true, true): decide(base, mine.offset, theirs.offset)
      case (true, false): .mine
      case (false, true): .theirs
      case (false, false): .both
      }
    case (false, true):
      return theirs.isEdited ? decide(base, -1, theirs.offset) : nil
    case (true, false): return mine.isEdited ? decide(base, mine.offset, -1) : nil
    case (false, false): return nil
    }
  }
}
