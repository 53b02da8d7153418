import Diffing
import Synchronizers

/// A slow and simple reference merge that works on single elements instead of ranges.
struct ReferenceMerge<Element: Differentiable & Sendable> {
  typealias Resolve = (MergeConflict<Element>) -> MergeConflict<Element>.Resolution

  /// An element of the result and its offsets on both sides, or -1 if it is missing there.
  struct Entry {
    var value: Element
    var mine: Int
    var theirs: Int
  }

  /// The changes of one side to the base.
  private struct Side {
    let elements: [Element]
    /// The offset in the base for each offset, or -1.
    let origins: [Int]
    /// The offset on this side for each offset in the base, or -1.
    var targets: [Int]
    /// The offsets in the base of edited elements, and the offsets on this side of moved ones.
    let edited: Set<Int>
    let moved: Set<Int>

    init(_ elements: [Element], from base: [Element]) {
      self.elements = elements
      let changeset = Changeset(from: base, to: elements)
      origins = changeset.origins(oldCount: base.count)
      targets = Array(repeating: -1, count: base.count)
      for (offset, origin) in origins.enumerated() where origin >= 0 { targets[origin] = offset }
      edited = Set(changeset.updates.map(\.from))
      moved = Set(changeset.moves.map(\.to))
    }
  }

  private let base: [Element]
  private let mineSide: Side
  private let theirSide: Side
  /// The number of the entry for each offset on a side, or -1.
  private var ofMine: [Int]
  private var ofTheirs: [Int]
  private var entries: [Entry] = []
  /// The numbers of the entries, in order.
  private var order: [Int] = []
  private(set) var conflicts: [MergeConflict<Element>] = []

  var mine: [Element] { mineSide.elements }
  var theirs: [Element] { theirSide.elements }

  init(
    base: [Element], mine: [Element], theirs: [Element], resolve: Resolve
  ) {
    self.base = base
    mineSide = Side(mine, from: base)
    theirSide = Side(theirs, from: base)
    ofMine = Array(repeating: -1, count: mine.count)
    ofTheirs = Array(repeating: -1, count: theirs.count)
    mergeContents(resolve)
    mergeAdditions(resolve)
    mergePlaces(resolve)
  }

  // MARK: Contents

  /// Decides about the elements of the base.
  private mutating func mergeContents(_ resolve: Resolve) {
    for offset in base.indices {
      let (mine, theirs) = (mineSide.targets[offset], theirSide.targets[offset])
      let isMineEdited = mineSide.edited.contains(offset)
      let areTheirsEdited = theirSide.edited.contains(offset)
      switch (mine >= 0, theirs >= 0) {
      case (true, true):
        let isMine = isMineEdited && !areTheirsEdited
        var value = isMine ? mineSide.elements[mine] : theirSide.elements[theirs]
        if isMineEdited, areTheirsEdited {
          value = merged(.edited, offset, mine, theirs, resolve) ?? value
        }
        keep(value, mine, theirs)
      case (false, true) where areTheirsEdited:
        if let value = merged(.deletedByMine, offset, mine, theirs, resolve) {
          keep(value, -1, theirs)
        }
      case (true, false) where isMineEdited:
        if let value = merged(.deletedByTheirs, offset, mine, theirs, resolve) {
          keep(value, mine, -1)
        }
      default: break
      }
    }
  }

  /// Combines elements of one identity that both sides added.
  private mutating func mergeAdditions(_ resolve: Resolve) {
    let mineAdded = mineSide.origins.indices.filter { mineSide.origins[$0] < 0 }
    let theirsAdded = theirSide.origins.indices.filter { theirSide.origins[$0] < 0 }
    let pairs = Changeset(from: mineAdded.map { mine[$0] }, to: theirsAdded.map { theirs[$0] })
      .origins(oldCount: mineAdded.count)
    for (theirs, pair) in zip(theirsAdded, pairs) {
      guard pair >= 0 else {
        keep(self.theirs[theirs], -1, theirs)
        continue
      }
      let mine = mineAdded[pair]
      if let value = merged(.added, nil, mine, theirs, resolve) { keep(value, mine, theirs) }
    }
    for offset in mineAdded where ofMine[offset] < 0 { keep(mine[offset], offset, -1) }
  }

  private mutating func keep(_ value: Element, _ mine: Int, _ theirs: Int) {
    if mine >= 0 { ofMine[mine] = entries.count }
    if theirs >= 0 { ofTheirs[theirs] = entries.count }
    entries.append(Entry(value: value, mine: mine, theirs: theirs))
  }

  /// Returns the content of an element, or `nil` if it is deleted.
  private mutating func merged(
    _ kind: MergeConflict<Element>.Kind, _ offset: Int?, _ mine: Int, _ theirs: Int,
    _ resolve: Resolve
  ) -> Element? {
    let mineValue = mine >= 0 ? self.mine[mine] : nil
    let theirValue = theirs >= 0 ? self.theirs[theirs] : nil
    if let mineValue, let theirValue, theirValue.isContentEqual(to: mineValue) { return theirValue }
    let conflict = MergeConflict(
      kind: kind, base: offset.map { base[$0] }, mine: mineValue, theirs: theirValue)
    switch record(conflict, resolve) {
    case .mine: return mineValue
    case .theirs: return theirValue
    case .merged(let value): return value
    }
  }

  private mutating func record(
    _ conflict: MergeConflict<Element>, _ resolve: Resolve
  ) -> MergeConflict<Element>.Resolution {
    let resolution = resolve(conflict)
    conflicts.append(conflict)
    return resolution
  }

  // MARK: Places

  /// Decides the place of each element.
  private mutating func mergePlaces(_ resolve: Resolve) {
    // The entries whose place mine determines.
    var isPlacedByMine = entries.map { $0.theirs < 0 }
    for offset in mineSide.moved.sorted() {
      let entry = ofMine[offset]
      guard entry >= 0, entries[entry].theirs >= 0 else { continue }
      isPlacedByMine[entry] =
        !theirSide.moved.contains(entries[entry].theirs) || prefersMine(entry, resolve)
    }
    // The successor of each entry. The last element of the array is the first entry.
    var next = Array(repeating: -1, count: entries.count + 1)
    let head = entries.count
    var last = head
    for entry in ofTheirs where entry >= 0 && !isPlacedByMine[entry] {
      next[last] = entry
      last = entry
    }
    var previous = head
    for entry in ofMine where entry >= 0 {
      if isPlacedByMine[entry] {
        // An element that mine deleted and that comes back keeps its place behind its predecessor.
        while next[previous] >= 0, isBack(entries[next[previous]]) { previous = next[previous] }
        next[entry] = next[previous]
        next[previous] = entry
      }
      previous = entry
    }
    order.reserveCapacity(entries.count)
    var entry = next[head]
    while entry >= 0 {
      order.append(entry)
      entry = next[entry]
    }
  }

  /// Returns a Boolean value that indicates whether mine deleted an element that comes back.
  private func isBack(_ entry: Entry) -> Bool {
    entry.mine < 0 && theirSide.origins[entry.theirs] >= 0
  }

  /// Returns a Boolean value that indicates whether an element that both sides moved takes the place in mine.
  private mutating func prefersMine(_ entry: Int, _ resolve: Resolve) -> Bool {
    let (mine, theirs) = (entries[entry].mine, entries[entry].theirs)
    // If both sides moved the element behind the same predecessor, there is no conflict.
    if neighbour(of: mine, ofMine) == neighbour(of: theirs, ofTheirs) { return false }
    let conflict = MergeConflict(
      kind: .moved, base: base[mineSide.origins[mine]], mine: self.mine[mine],
      theirs: self.theirs[theirs])
    if case .mine = record(conflict, resolve) { return true }
    return false
  }

  /// Returns the entry before an offset that is on both sides, or -1.
  private func neighbour(of offset: Int, _ side: [Int]) -> Int {
    for other in (0..<offset).reversed() {
      let entry = side[other]
      if entry >= 0, entries[entry].mine >= 0, entries[entry].theirs >= 0 { return entry }
    }
    return -1
  }

  // MARK: Result

  var merged: [Element] { order.map { entries[$0].value } }

  /// Returns the changes from one side to the result.
  func changes(from side: KeyPath<Entry, Int>, _ elements: [Element]) -> Changeset {
    Changeset(
      origins: order.map { entries[$0][keyPath: side] }, oldCount: elements.count
    ) { old, new in
      !entries[order[new]].value.isContentEqual(to: elements[old])
    }
  }
}
