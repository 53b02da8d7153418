/// An edit of the list of shown rows.
@usableFromInline
enum OutlineEdit {
  case remove(Range<Int>)
  case insert([UInt32], depths: [Int32], at: Int)
}

// A row is shown if its parent is shown and expanded, or if it has no parent. The shown rows below a row follow it in the
// list, and are deeper. Rows that are not shown are in no order, so a collapsed subtree moves in no time.

extension OutlineForest {
  static func depths(_ depths: [Int32]) -> SummaryTree<Int32> {
    SummaryTree(depths, empty: .max) { min($0, $1) }
  }

  /// The shown rows in their order, with their depths.
  @usableFromInline var shownRows: [(row: UInt32, depth: Int32)] {
    Array(zip(Array(shown.rows), depths.array))
  }

  /// Returns the depth of the shown row at an offset.
  @usableFromInline
  func depth(shownAt offset: Int) -> Int32 { depths[offset] }

  /// Shows what a change of rows and of expanded keys brings.
  mutating func show(_ affected: Set<UInt32>, toggling toggled: [UInt32]) -> [OutlineEdit] {
    var edits: [OutlineEdit] = []
    // First, everything disappears that must not stay where it is. The rest is in its final order.
    for row in affected.sorted() where shown.contains(row) {
      hide(subtree(shownAt: shown.offset(of: row)), &edits)
    }
    for key in toggled { toggle(key, &edits) }
    let holders = toggled.map { keys[Int($0)].holder }
    for row in holders where row != Self.none && shown.contains(row) && isOpen(row) {
      showChildren(of: row, &edits)
    }
    // Later siblings are shown first, so a row finds its next sibling in the list.
    let arriving = affected.filter { source.contains($0) && !shown.contains($0) }
      .map { (row: $0, offset: source.offset(of: $0)) }
    for (row, _) in arriving.sorted(by: { $0.offset > $1.offset }) where !shown.contains(row) {
      show(row, &edits)
    }
    return edits
  }

  /// Collapses or expands a key. The new children are not shown yet.
  private mutating func toggle(_ key: UInt32, _ edits: inout [OutlineEdit]) {
    let holder = keys[Int(key)].holder
    setExpanded(!keys[Int(key)].isExpanded, key)
    guard holder != Self.none, shown.contains(holder) else { return }
    refreshed.insert(holder)
    if !keys[Int(key)].isExpanded {
      let subtree = subtree(shownAt: shown.offset(of: holder))
      hide(subtree.dropFirst(), &edits)
    }
  }

  /// Shows all rows below an expanded one, unless they are shown already.
  private mutating func showChildren(of row: UInt32, _ edits: inout [OutlineEdit]) {
    let offset = shown.offset(of: row)
    // The children of an expanded row are shown together.
    if subtree(shownAt: offset).count > 1 { return }
    let below = subtree(of: row, depth: depths[offset])
    insert(Array(below.rows.dropFirst()), Array(below.depths.dropFirst()), at: offset + 1, &edits)
  }

  /// Shows a row at its place, with the rows below it, unless its parent hides it.
  private mutating func show(_ row: UInt32, _ edits: inout [OutlineEdit]) {
    let parent = parent(of: row)
    if parent != Self.none, !shown.contains(parent) || !isOpen(parent) { return }
    let parentOffset = parent == Self.none ? nil : shown.offset(of: parent)
    let depth = parentOffset.map { depths[$0] + 1 } ?? 0
    let offset: Int
    if let next = nextSibling(of: row, parent) {
      offset = shown.offset(of: next)
    } else {
      offset = parentOffset.map { subtree(shownAt: $0).upperBound } ?? shown.count
    }
    let arriving = subtree(of: row, depth: depth)
    insert(arriving.rows, arriving.depths, at: offset, &edits)
  }

  /// Returns the next shown row with the same parent.
  private func nextSibling(of row: UInt32, _ parent: UInt32) -> UInt32? {
    let isRoot = parent == Self.none
    var offset = (isRoot ? roots.offset(of: row) : siblings.offset(of: row)) + 1
    while offset < (isRoot ? roots.count : siblings.count) {
      let next = isRoot ? roots[offset] : siblings[offset]
      if !isRoot, links[next].parentKey != links[row].parentKey { return nil }
      // A row of a cycle with the parent is a root.
      if shown.contains(next), self.parent(of: next) == parent { return next }
      offset += 1
    }
    return nil
  }

  /// Returns the range of a shown row and the rows below it.
  private func subtree(shownAt offset: Int) -> Range<Int> {
    let depth = depths[offset]
    return offset..<(depths.firstOffset(from: offset + 1) { $0 <= depth } ?? shown.count)
  }

  // MARK: The rows below a row

  /// Returns a row and the rows below it that are to be shown, with their depths.
  private func subtree(of row: UInt32, depth: Int32) -> (rows: [UInt32], depths: [Int32]) {
    var (rows, depths): ([UInt32], [Int32]) = ([], [])
    visit(
      row, depth: depth, first: { firstSibling(naming: $0) },
      sibling: { $0 < siblings.count ? siblings[$0] : Self.none }
    ) {
      rows.append($0)
      depths.append($1)
    }
    return (rows, depths)
  }

  /// Calls a closure with a row and each row below it that is to be shown, in depth-first order.
  ///
  /// - Parameters:
  ///   - first: A closure that returns the offset of the first row that names a key.
  ///   - sibling: A closure that returns the row at an offset among the siblings, or `none` at the end.
  @inline(__always)
  private func visit(
    _ row: UInt32, depth: Int32, first: (UInt32) -> Int, sibling: (Int) -> UInt32,
    _ body: (UInt32, Int32) -> Void
  ) {
    body(row, depth)
    if !isOpen(row) { return }
    // The ancestors of the next row: their keys, and the offsets of their next children. Trees may be too deep for
    // a recursion.
    var open = [(key: links[row].key, next: first(links[row].key))]
    while let (key, next) = open.last {
      let child = sibling(next)
      guard child != Self.none, links[child].parentKey == key else {
        open.removeLast()
        continue
      }
      open[open.count - 1].next += 1
      if isInCycle(child) { continue }
      body(child, depth + Int32(open.count))
      if isOpen(child) { open.append((links[child].key, first(links[child].key))) }
    }
  }

  /// Shows all rows anew.
  ///
  /// - Complexity: O(*n*)
  @usableFromInline
  mutating func showAll() {
    let siblings = Array(siblings.rows)
    var firsts = Array(repeating: siblings.count, count: keys.count)
    for offset in siblings.indices.reversed() {
      firsts[Int(links[siblings[offset]].parentKey)] = offset
    }
    var (rows, depths): ([UInt32], [Int32]) = ([], [])
    rows.reserveCapacity(source.count)
    depths.reserveCapacity(source.count)
    for root in roots.rows {
      visit(
        root, depth: 0, first: { firsts[Int($0)] },
        sibling: { $0 < siblings.count ? siblings[$0] : Self.none }
      ) {
        rows.append($0)
        depths.append($1)
      }
    }
    shown = RowTree(rows)
    self.depths = Self.depths(depths)
  }

  // MARK: Edits of the list

  private mutating func hide(_ range: Range<Int>, _ edits: inout [OutlineEdit]) {
    if range.isEmpty { return }
    edits.append(.remove(range))
    replace(range, with: [], [])
  }

  private mutating func insert(
    _ rows: [UInt32], _ depths: [Int32], at offset: Int, _ edits: inout [OutlineEdit]
  ) {
    if rows.isEmpty { return }
    edits.append(.insert(rows, depths: depths, at: offset))
    replace(offset..<offset, with: rows, depths)
  }

  private mutating func replace(_ range: Range<Int>, with rows: [UInt32], _ depths: [Int32]) {
    let count = range.count + rows.count
    if count > 64, count > shown.count / 16 {
      var (all, allDepths) = (Array(shown.rows), self.depths.array)
      all.replaceSubrange(range, with: rows)
      allDepths.replaceSubrange(range, with: depths)
      shown = RowTree(all)
      self.depths = Self.depths(allDepths)
      return
    }
    for offset in range.reversed() {
      shown.remove(at: offset)
      self.depths.remove(at: offset)
    }
    for index in rows.indices {
      shown.insert(rows[index], at: range.lowerBound + index)
      self.depths.insert(depths[index], at: range.lowerBound + index)
    }
  }
}
