import DataSourceTesting
import ObservableCollections
import TestTags
import Testing

/// The tree of rows, compared with an array.
@Suite struct RowTreeTests {
  /// Nodes that are so small that a few rows form several levels.
  private static let limits = [(2, 4), (3, 4), (4, 5), (7, 6), (62, 14)]

  @Test(.reaches("insert", "insert before rows", "remove"), arguments: 0..<5)
  func `random edits of a small list are correct`(_ index: Int) {
    for seed in UInt64(0)..<10 {
      var random = SeededGenerator(seed: seed)
      let list = ModelledRows(Self.limits[index])
      for step in 0..<600 {
        list.edit(isGrowing: step % 200 < 110, &random)
        if let violation = step % 5 == 0 ? list.violation : list.tree.violation {
          Issue.record("seed \(seed), step \(step): \(violation)")
          return
        }
      }
    }
  }

  @Test(arguments: 0..<5) func `lists that are created with each size are correct`(_ index: Int) {
    for count in 0..<300 {
      let list = ModelledRows(Self.limits[index], (0..<UInt32(count)).map { ($0 &* 7) % 307 })
      if let violation = list.violation {
        Issue.record("\(count): \(violation)")
        return
      }
    }
  }

  @Test func `every sequence of a few edits is correct`() {
    for (start, depth) in [(0, 6), (4, 4), (9, 3), (14, 2)] {
      var sequences = 0
      var open: [[Edit]] = [[]]
      while let edits = open.popLast() {
        let list = ModelledRows((2, 4), Array(0..<UInt32(start)))
        for edit in edits { list.apply(edit) }
        sequences += 1
        if let violation = list.violation {
          Issue.record("\(start), \(edits): \(violation)")
          return
        }
        if edits.count < depth { open += list.possibleEdits.map { edits + [$0] } }
      }
      #expect(sequences > 400)
    }
  }

  @Test func `a queue of rows is right, and its nodes are too`() {
    var tree = RowTree(leafLimit: 4, fanLimit: 4, 0..<500)
    for step in 0..<2_000 {
      tree.insert(tree.remove(at: 0), at: tree.count)
      #expect(tree.violation == nil, "step \(step)")
      if tree.violation != nil { return }
    }
    #expect(Array(tree.rows) == Array(0..<500))
  }

  /// An order that reads a setting which another thread changes answers like this.
  @Test func `a condition that changes its answers leaves a list of the right rows`() {
    var random = SeededGenerator(seed: 7)
    var tree = RowTree(leafLimit: 4, fanLimit: 4, 0..<200)
    for step in 0..<3_000 {
      let row = UInt32(random.below(200))
      tree.remove(row)
      tree.insert(row) { _ in random.oneIn(2) }
      #expect(tree.violation == nil, "step \(step)")
      if tree.violation != nil { return }
    }
    #expect(tree.rows.sorted() == Array(0..<200))
  }

  @Test func `a list that grows at random and shrinks to nothing is right`() {
    var random = SeededGenerator(seed: 1)
    let count = 100_000
    var tree = RowTree()
    var model: [UInt32] = []
    for row in UInt32(0)..<UInt32(count) {
      let offset = random.below(model.count + 1)
      tree.insert(row, at: offset)
      model.insert(row, at: offset)
    }
    #expect(tree.violation == nil)
    #expect(Array(tree.rows) == model)
    #expect(model.indices.allSatisfy { tree.offset(of: model[$0]) == $0 })
    let byteCount = tree.byteCount
    #expect(byteCount < 16 * count)
    while !model.isEmpty {
      let offset = random.below(model.count)
      let row = model.remove(at: offset)
      if model.count % 2 == 0 {
        #expect(tree.remove(at: offset) == row)
      } else {
        #expect(tree.remove(row) == offset)
      }
      if model.count % 5_000 == 0 {
        #expect(tree.violation == nil)
        #expect(Array(tree.rows) == model)
      }
    }
    // The slots of freed nodes are used again.
    for row in UInt32(0)..<UInt32(count) { tree.insert(row, at: tree.count) }
    #expect(tree.violation == nil)
    #expect(Array(tree.rows) == Array(0..<UInt32(count)))
    #expect(tree.byteCount == byteCount)
  }

  @Test(arguments: [true, false])
  func `leaves that are filled from one end are nearly full`(isAtEnd: Bool) {
    var tree = RowTree()
    for row in UInt32(0)..<20_000 { tree.insert(row, at: isAtEnd ? tree.count : 0) }
    #expect(tree.violation == nil)
    #expect(tree.byteCount < 16 * 20_000)
    let rows = isAtEnd ? Array(0..<UInt32(20_000)) : (0..<20_000).reversed()
    #expect(Array(tree.rows) == rows)
    while tree.count > 0 { tree.remove(at: isAtEnd ? tree.count - 1 : 0) }
    #expect(tree.violation == nil)
  }

  @Test(arguments: [4, 62])
  func `rows are before each other as their offsets say`(leafLimit: Int) {
    var random = SeededGenerator(seed: 5)
    var tree = RowTree(leafLimit: leafLimit, fanLimit: 4, 0..<500)
    var next: UInt32 = 500
    func check() {
      let rows = Array(tree.rows)
      for _ in 0..<20 {
        let (one, other) = (random.below(rows.count), random.below(rows.count))
        #expect(tree.isBefore(rows[one], rows[other]) == (one < other))
      }
    }
    // Leaves that are split at one place again and again are numbered again.
    for place in [0, 250, 0, -1] {
      for step in 0..<600 {
        tree.insert(next, at: place < 0 ? tree.count : place)
        next += 1
        if step % 7 == 0 { check() }
      }
    }
    for step in 0..<4_000 {
      if random.below(3_000) < tree.count {
        tree.remove(at: random.below(tree.count))
      } else {
        tree.insert(next, at: random.below(tree.count + 1))
        next += 1
      }
      if step % 20 == 0 { check() }
      if step == 2_000 { while tree.count > 3 { tree.remove(at: random.below(tree.count)) } }
    }
    #expect(tree.violation == nil)
  }

  @Test func `two lists share row numbers in different orders`() {
    var random = SeededGenerator(seed: 3)
    var keys = (0..<3_000).map { _ in random.below(1_000) }
    var source = RowTree(0..<3_000)
    func isAfter(_ row: UInt32, _ other: UInt32) -> Bool {
      let (key, otherKey) = (keys[Int(row)], keys[Int(other)])
      return key == otherKey ? source.offset(of: row) > source.offset(of: other) : key > otherKey
    }
    var sorted = RowTree((0..<3_000).sorted { isAfter($1, $0) })
    for _ in 0..<3_000 {
      let row = UInt32(random.below(3_000))
      let rank = sorted.remove(row)
      if random.oneIn(2) {
        let offset = source.remove(row)
        #expect(source.contains(row) == false)
        source.insert(row, at: random.oneIn(2) ? offset : random.below(3_000))
      } else {
        keys[Int(row)] = random.below(1_000)
      }
      var calls = 0
      let newRank = sorted.insert(row) {
        calls += 1
        return isAfter($0, row)
      }
      #expect(sorted.offset(of: row) == newRank && rank < 3_000)
      #expect(calls <= 16)
    }
    #expect(source.violation == nil && sorted.violation == nil)
    #expect(Array(sorted.rows) == (0..<3_000).sorted { isAfter($1, $0) })
  }

  /// The rows of a list that are in one of several lists, in the order of the first one.
  @Test(arguments: [(2, 4), (7, 6), (62, 14)])
  func `lists that share memory have their rows in the order of another list`(limits: (Int, Int)) {
    for spread in [1, 40, 1_000] {
      var random = SeededGenerator(seed: UInt64(spread))
      let count = 4_000
      var model = Array(0..<UInt32(count))
      // The numbers of the rows need not be in order.
      if spread == 40 { model.shuffle(using: &random) }
      var source = RowTree(leafLimit: limits.0, fanLimit: limits.1, model)
      // Rows that are next to each other are in one list if the spread is large.
      var listOfRow = (0..<count).map { $0 / spread % 5 }
      let storage = RowStorage(expectedCount: count, listCount: 5)
      var lists = (0..<5).map { number in
        SharedList(
          RowTree(
            in: storage, leafLimit: limits.0, fanLimit: limits.1,
            model.filter { listOfRow[Int($0)] == number }))
      }
      func check() {
        #expect(violation(of: lists, in: storage) == nil)
        for number in 0..<5 {
          #expect(Array(lists[number].tree.rows) == model.filter { listOfRow[Int($0)] == number })
        }
      }
      for step in 0..<3_000 {
        // In the last third, one list loses its rows to the others.
        let row =
          step > 2_000 ? lists[2].tree.rows.first { _ in true } ?? 0 : UInt32(random.below(count))
        let old = listOfRow[Int(row)]
        let oldRank = lists[old].tree.offset(of: row)
        let offset = source.remove(row)
        model.remove(at: offset)
        let target = random.oneIn(3) ? min(offset, model.count) : random.below(model.count + 1)
        source.insert(row, at: target)
        model.insert(row, at: target)
        let new = step > 2_000 ? [0, 1, 3, 4][random.below(4)] : random.below(5)
        listOfRow[Int(row)] = new
        #expect(lists[old].tree.remove(row) == oldRank)
        let rank = lists[new].tree.insert(row, inOrderOf: source)
        #expect(lists[new].tree.offset(of: row) == rank)
        if step % 500 == 0 { check() }
      }
      check()
      let emptied = lists.remove(at: 2)
      while emptied.tree.count > 0 { emptied.tree.remove(at: 0) }
      emptied.free()
      #expect(violation(of: lists, in: storage) == nil)
    }
  }

  @Test func `a list that shares memory does not accept the rows of another one`() async {
    await #expect(processExitsWith: .failure) {
      let storage = RowStorage()
      let lists = (0..<2).map { SharedList(RowTree(in: storage, [2 * $0, 2 * $0 + 1])) }
      _ = lists[0].tree.offset(of: 3)
    }
    await #expect(processExitsWith: .failure) {
      let storage = RowStorage()
      let lists = (0..<2).map { SharedList(RowTree(in: storage, [2 * $0, 2 * $0 + 1])) }
      lists[0].tree.remove(UInt32(2))
    }
    await #expect(processExitsWith: .failure) {
      let storage = RowStorage()
      let lists = (0..<2).map { SharedList(RowTree(in: storage, [2 * $0, 2 * $0 + 1])) }
      lists[1].tree.insert(0, at: 0)
    }
  }

  @Test func `a row that is missing or present twice is a programmer's error`() async {
    await #expect(processExitsWith: .failure) {
      var tree = RowTree(0..<3)
      tree.insert(2, at: 0)
    }
    await #expect(processExitsWith: .failure) { _ = RowTree([1, 2, 1]) }
    await #expect(processExitsWith: .failure) { _ = RowTree(0..<3).offset(of: 3) }
    await #expect(processExitsWith: .failure) {
      var tree = RowTree(0..<3)
      tree.remove(UInt32(1_000))
    }
    await #expect(processExitsWith: .failure) { _ = RowTree(0..<3)[3] }
    await #expect(processExitsWith: .failure) {
      var tree = RowTree(0..<3)
      tree.insert(3, at: 4)
    }
    await #expect(processExitsWith: .failure) {
      var tree = RowTree(0..<3)
      tree.remove(at: 3)
    }
  }
}

private enum Edit {
  case insert(Int)
  case remove(Int)
}

/// A tree of rows and the array that it must equal.
private final class ModelledRows {
  var tree: RowTree
  var model: [UInt32]
  /// The numbers that no row has. The last one is used next.
  var unused: [UInt32]

  init(_ limits: (Int, Int), _ rows: [UInt32] = []) {
    tree = RowTree(leafLimit: limits.0, fanLimit: limits.1, rows)
    model = rows
    let last = rows.max().map { $0 + 1 } ?? 0
    unused = [last + 6, last + 3, last + 5, last + 4, last + 1, last + 2, last]
  }

  func apply(_ edit: Edit) {
    switch edit {
    case .insert(let offset):
      Coverage.note("insert")
      let row = unused.removeLast()
      tree.insert(row, at: offset)
      model.insert(row, at: offset)
    case .remove(let offset):
      Coverage.note("remove")
      let row = model.remove(at: offset)
      if offset % 2 == 0 {
        #expect(tree.remove(at: offset) == row)
      } else {
        #expect(tree.remove(row) == offset)
      }
      unused.append(row)
    }
  }

  var possibleEdits: [Edit] {
    (0...model.count).map { .insert($0) } + model.indices.map { .remove($0) }
  }

  func edit(isGrowing: Bool, _ random: inout SeededGenerator) {
    if unused.isEmpty {
      let next = (model.max() ?? 0) + 1
      unused = [next + 3, next + 1, next, next + 2]
    }
    let offset = random.below(model.count + 1)
    switch random.below(10) {
    case 0...(isGrowing ? 6 : 2):
      apply(.insert(offset))
    case 8 where isGrowing:
      let row = unused.removeLast()
      let later = Set(model[offset...])
      Coverage.note("insert before rows")
      #expect(tree.insert(row) { later.contains($0) } == offset)
      model.insert(row, at: offset)
    default:
      if offset < model.count { apply(.remove(offset)) }
    }
  }

  var violation: String? {
    if tree.count != model.count { return "it counts \(tree.count) of \(model.count)" }
    if Array(tree.rows) != model { return "it holds \(Array(tree.rows)), not \(model)" }
    var offsets: [UInt32: Int] = [:]
    for (offset, row) in model.enumerated() { offsets[row] = offset }
    for (offset, row) in model.enumerated() {
      if tree[offset] != row { return "\(tree[offset]) is at \(offset), not \(row)" }
      if tree.offset(of: row) != offset { return "\(row) is found at \(tree.offset(of: row))" }
      if !tree.contains(row) { return "\(row) is missing" }
    }
    for offset in 0...model.count {
      var calls = 0
      let found = tree.partitioningOffset {
        calls += 1
        return offsets[$0, default: -1] >= offset
      }
      if found != offset { return "the partition at \(offset) is found at \(found)" }
      if calls > 4 * 12 { return "the search asks \(calls) rows" }
    }
    if unused.contains(where: { tree.contains($0) }) { return "an unused row is in the list" }
    return tree.violation
  }
}

/// A list that shares its memory with others.
private final class SharedList {
  var tree: RowTree

  init(_ tree: consuming RowTree) {
    self.tree = tree
  }

  /// Frees the memory of an empty list.
  func free() {
    var list = RowTree()
    swap(&list, &tree)
    list.free()
  }
}

/// The first violated invariant of all lists that share memory, or `nil`.
private func violation(of lists: [SharedList], in storage: RowStorage) -> String? {
  var (nodeCount, rowCount) = (0, 0)
  for list in lists {
    if let violation = list.tree.violation(&nodeCount) { return violation }
    rowCount += list.tree.count
  }
  return storage.violation(nodes: nodeCount, rows: rowCount)
}
