/// The links between the rows of an outline.
///
/// Each element of the source has a *row*, and each identity a *key*: numbers that stay the same as long as they are in
/// use. A row knows its key, and the key of the parent that it names. A key knows its *holder*: the first row that has
/// it, which is the parent of all rows that name the key.
///
/// A change takes these steps: ``detach(_:)`` for each row that is deleted or has other links, the edits of ``source``,
/// ``detach(_:)`` for each moved row that ``isDisplaced(_:moved:)``, ``attach(_:)`` for each detached or new row that is
/// there, and ``finish(toggling:)``, which returns the edits of the list of shown rows. No code of the user runs here.
@usableFromInline
struct OutlineForest: ~Copyable, Sendable {
  /// The number that means no row, or no key.
  @inlinable static var none: UInt32 { .max }

  /// The links of a row.
  @usableFromInline
  struct Links: Sendable {
    @usableFromInline var key: UInt32
    /// The key of the parent that the row names, or `none`.
    @usableFromInline var parentKey: UInt32

    @inlinable
    init(key: UInt32, parentKey: UInt32) {
      self.key = key
      self.parentKey = parentKey
    }
  }

  /// The state of a key.
  struct Key: Sendable {
    var holder = OutlineForest.none
    /// The number of rows that name the key as their parent.
    var namingCount = 0
    var isExpanded = false
  }

  /// The rows in the order of the source.
  @usableFromInline var source = RowTree()
  @usableFromInline var links = RowTable<Links>()
  private(set) var keys: [Key] = []
  /// The rows that name a parent, by the key of that, then in the order of the source.
  private(set) var siblings = RowTree()
  /// The rows without a parent, in the order of the source.
  private(set) var roots = RowTree()
  /// The rows of keys that several rows have, without the holders.
  private var duplicates: [UInt32: Set<UInt32>] = [:]
  /// For each row that would be its own ancestor, all rows of the cycle.
  private var cycles: [UInt32: [UInt32]] = [:]

  /// The shown rows in their order. See `OutlineForest+Showing.swift`.
  @usableFromInline var shown = RowTree()
  /// The depths of the shown rows, each node with the least of them.
  var depths = OutlineForest.depths([])

  // The state of a change.

  /// The rows that were detached.
  private var detached: Set<UInt32> = []
  /// The rows whose place may change, and rows that were deleted.
  private(set) var affected: Set<UInt32> = []
  /// Further rows whose content may change.
  var refreshed: Set<UInt32> = []
  /// The keys whose rows change, each with its holder before the change.
  private var touched: [UInt32: UInt32] = [:]

  @usableFromInline
  init() {}

  // MARK: Links

  /// Stores whether the children of a key are shown. The change of a key that is in use is up to the caller.
  @usableFromInline
  mutating func setExpanded(_ isExpanded: Bool, _ key: UInt32) {
    while keys.count <= Int(key) { keys.append(Key()) }
    keys[Int(key)].isExpanded = isExpanded
  }

  /// Returns the row that a row names as its parent, or `none`.
  private func namedParent(of row: UInt32) -> UInt32 {
    let key = links[row].parentKey
    return key == Self.none ? key : keys[Int(key)].holder
  }

  func isInCycle(_ row: UInt32) -> Bool { !cycles.isEmpty && cycles[row] != nil }

  /// Returns the parent of a row, or `none` for a root.
  func parent(of row: UInt32) -> UInt32 {
    isInCycle(row) ? Self.none : namedParent(of: row)
  }

  /// Returns whether other rows name a row as their parent. One of them may be in a cycle with it.
  func isNamed(_ row: UInt32) -> Bool {
    let key = keys[Int(links[row].key)]
    return key.holder == row && key.namingCount > 0
  }

  @usableFromInline
  func hasChildren(_ row: UInt32) -> Bool {
    let key = keys[Int(links[row].key)]
    // The row before it in a cycle names it, and is a root.
    return key.holder == row && key.namingCount > (isInCycle(row) ? 1 : 0)
  }

  /// Returns whether a row has children, and they are shown if the row is.
  @usableFromInline
  func isOpen(_ row: UInt32) -> Bool {
    keys[Int(links[row].key)].isExpanded && hasChildren(row)
  }

  /// Returns the offset among the siblings of the first row that names a key.
  func firstSibling(naming key: UInt32) -> Int {
    siblings.partitioningOffset { links[$0].parentKey >= key }
  }

  // MARK: Few changes

  /// Takes a row out of the lists before a change of its place or its links.
  @usableFromInline
  mutating func detach(_ row: UInt32) {
    guard detached.insert(row).inserted else { return }
    affected.insert(row)
    let links = links[row]
    breakCycle(of: row)
    if links.parentKey != Self.none {
      refreshed.insert(namedParent(of: row))
      siblings.remove(row)
      keys[Int(links.parentKey)].namingCount -= 1
    }
    if roots.contains(row) { roots.remove(row) }
    touch(links.key)
    if keys[Int(links.key)].holder == row {
      keys[Int(links.key)].holder = Self.none
    } else {
      removeDuplicate(row, links.key)
    }
  }

  /// Returns whether a moved row needs another place in the lists. The source is edited, and no moved row is detached for
  /// its place yet.
  ///
  /// - Parameter moved: All moved rows. The others have kept their order.
  @usableFromInline
  func isDisplaced(_ row: UInt32, moved: Set<UInt32>) -> Bool {
    if detached.contains(row) { return false }
    // Of several rows with one key, the first one is the holder.
    if duplicates[links[row].key] != nil { return true }
    let (key, place) = (links[row].parentKey, source.offset(of: row))
    func isBetweenNeighbors(in list: borrowing RowTree, where isNeighbor: (UInt32) -> Bool) -> Bool
    {
      let offset = list.offset(of: row)
      for index in [offset - 1, offset + 1] where index >= 0 && index < list.count {
        let other = list[index]
        if !isNeighbor(other) { continue }
        let isOrdered = (source.offset(of: other) < place) == (index < offset)
        if !isOrdered || moved.contains(other) { return false }
      }
      return true
    }
    if key != Self.none,
      !isBetweenNeighbors(in: siblings, where: { links[$0].parentKey == key })
    {
      return true
    }
    return roots.contains(row) && !isBetweenNeighbors(in: roots, where: { _ in true })
  }

  /// Stores other links of a row, which is detached before.
  @usableFromInline
  mutating func relink(_ row: UInt32, _ new: Links) {
    detach(row)
    links[row] = new
  }

  /// Puts a row into the lists. All rows of the change are detached, and the source is edited.
  @usableFromInline
  mutating func attach(_ row: UInt32) {
    affected.insert(row)
    let new = links[row]
    if new.parentKey != Self.none {
      let place = siblings.place { other in
        let key = links[other].parentKey
        return key == new.parentKey ? source.isBefore(row, other) : key > new.parentKey
      }
      siblings.insert(row, at: place)
      keys[Int(new.parentKey)].namingCount += 1
    }
    touch(new.key)
    let holder = keys[Int(new.key)].holder
    if holder == Self.none, duplicates[new.key] == nil {
      keys[Int(new.key)].holder = row
    } else if holder != Self.none, source.isBefore(row, holder) {
      keys[Int(new.key)].holder = row
      duplicates[new.key, default: []].insert(holder)
    } else {
      duplicates[new.key, default: []].insert(row)
    }
  }

  private mutating func touch(_ key: UInt32) {
    if touched[key] == nil { touched[key] = keys[Int(key)].holder }
  }

  private mutating func removeDuplicate(_ row: UInt32, _ key: UInt32) {
    duplicates[key]?.remove(row)
    if duplicates[key]?.isEmpty == true { duplicates[key] = nil }
  }

  /// Ends a change: finds the new parents of rows, and edits the list of shown rows.
  ///
  /// - Parameter toggled: The keys whose children are shown from now on, or no longer.
  /// - Returns: The edits of the shown rows, and the rows whose content may have changed.
  @usableFromInline
  mutating func finish(toggling toggled: [UInt32] = []) -> (
    edits: [OutlineEdit], refreshed: Set<UInt32>
  ) {
    for (key, old) in touched { settleHolder(of: key, old) }
    findCycles(from: Array(affected))
    for row in affected where source.contains(row) {
      let parent = parent(of: row)
      if (parent == Self.none) != roots.contains(row) {
        if parent == Self.none { roots.insert(row, inOrderOf: source) } else { roots.remove(row) }
      }
      refreshed.insert(parent)
    }
    let edits = show(affected, toggling: toggled)
    let refreshed = refreshed.filter { shown.contains($0) }
    (detached, self.affected, self.refreshed, touched) = ([], [], [], [:])
    return (edits, refreshed)
  }

  /// Finds the first row of a key. If it is another one than before, its children change their parent.
  private mutating func settleHolder(of key: UInt32, _ old: UInt32) {
    if keys[Int(key)].holder == Self.none, let others = duplicates[key],
      let first = others.min(by: { source.isBefore($0, $1) })
    {
      removeDuplicate(first, key)
      keys[Int(key)].holder = first
    }
    let new = keys[Int(key)].holder
    if new == old { return }
    refreshed.formUnion([old, new])
    if keys[Int(key)].namingCount == 0 { return }
    var offset = firstSibling(naming: key)
    while offset < siblings.count, links[siblings[offset]].parentKey == key {
      affected.insert(siblings[offset])
      breakCycle(of: siblings[offset])
      offset += 1
    }
  }

  // MARK: Cycles

  private mutating func breakCycle(of row: UInt32) {
    guard isInCycle(row), let cycle = cycles[row] else { return }
    for member in cycle {
      cycles[member] = nil
      affected.insert(member)
    }
  }

  /// Finds the cycles that some rows are in. Each row of a cycle is a root.
  private mutating func findCycles(from rows: some Sequence<UInt32>) {
    /// The row from which each visited row was reached first.
    var starts: [UInt32: UInt32] = [:]
    // A row that no other names is in no cycle. Most rows are leaves.
    for start in rows where source.contains(start) && isNamed(start) {
      var row = start
      while row != Self.none, starts[row] == nil, !isInCycle(row) {
        starts[row] = start
        row = namedParent(of: row)
      }
      guard row != Self.none, starts[row] == start, !isInCycle(row) else { continue }
      var (cycle, next) = ([row], namedParent(of: row))
      while next != row {
        cycle.append(next)
        next = namedParent(of: next)
      }
      for member in cycle { cycles[member] = cycle }
      affected.formUnion(cycle)
    }
  }

  // MARK: Many changes

  /// Links all rows anew.
  ///
  /// - Parameter rows: The rows in the order of the source. ``links`` and the expanded keys are up to date.
  /// - Complexity: O(*n*)
  @usableFromInline
  mutating func rebuild(_ rows: [UInt32]) {
    source = RowTree(rows)
    for key in keys.indices { (keys[key].holder, keys[key].namingCount) = (Self.none, 0) }
    (duplicates, cycles) = ([:], [:])
    for row in rows {
      let links = links[row]
      if keys[Int(links.key)].holder == Self.none {
        keys[Int(links.key)].holder = row
      } else {
        duplicates[links.key, default: []].insert(row)
      }
      if links.parentKey != Self.none { keys[Int(links.parentKey)].namingCount += 1 }
    }
    var starts = keys.map { $0.namingCount }
    var count = 0
    for key in starts.indices { (starts[key], count) = (count, count + starts[key]) }
    var grouped = Array(repeating: Self.none, count: count)
    for row in rows where links[row].parentKey != Self.none {
      let key = Int(links[row].parentKey)
      grouped[starts[key]] = row
      starts[key] += 1
    }
    siblings = RowTree(grouped)
    findCycles(from: rows)
    roots = RowTree(rows.filter { parent(of: $0) == Self.none })
    showAll()
  }
}
