/// A replay of the steps of a patch on an unknown collection.
///
/// The collection is a sequence of stretches that no step has touched, and single elements that a
/// step has touched.
struct PatchReplay<Element> {
  /// An element that a step has touched.
  private struct Touched {
    /// The old offset, or `nil` for an inserted element.
    let origin: Int?
    /// The value before the first step.
    let first: Element
    /// The value after the steps so far.
    var last: Element
    var isUpdated = false
    var isMoved = false
  }

  private var stretches = StretchSequence()
  private var touched: [Touched] = []
  /// The removed elements that the steps have not inserted before, as indices in `touched`.
  private var gone: [Int] = []

  mutating func apply(_ step: Patch<Element>.Step) {
    switch step {
    case .insert(let element, let offset):
      touched.append(Touched(origin: nil, first: element, last: element))
      stretches.insert(.touched(touched.count - 1), at: offset)
    case .remove(let element, let offset):
      let index = take(at: offset, element)
      if touched[index].origin != nil { gone.append(index) }
    case .update(let old, let new, let offset):
      let index = take(at: offset, old)
      touched[index].last = new
      touched[index].isUpdated = true
      stretches.insert(.touched(index), at: offset)
    case .move(let element, let source, let destination):
      guard source != destination else { return }
      let index = take(at: source, element)
      touched[index].isMoved = true
      stretches.insert(.touched(index), at: destination)
    }
  }

  /// Removes an element from its place.
  ///
  /// - Returns: Its index in `touched`.
  private mutating func take(at offset: Int, _ element: Element) -> Int {
    switch stretches.remove(at: offset) {
    case .touched(let index): return index
    case .untouched(let origin, _):
      touched.append(Touched(origin: origin, first: element, last: element))
      return touched.count - 1
    }
  }

  // MARK: The result

  /// A kept element that a step has moved, with its offsets before and after all steps.
  private struct Mover {
    let origin: Int
    let destination: Int
    let index: Int
  }

  /// Returns the combined change of all steps.
  func record() -> ChangeRecord<Element> {
    var insertions: [(offset: Int, index: Int)] = []
    var updates: [(update: Changeset.Update, index: Int)] = []
    var movers: [Mover] = []
    // Elements that no step has moved are in order. A moved element between two of them in both
    // versions stays, as far as such elements are in order among themselves.
    var fitting: [Mover] = []
    var waiting: [Mover] = []
    var lastStay = -1
    func stay(from first: Int, to last: Int) {
      for mover in waiting {
        if lastStay < mover.origin, mover.origin < first {
          fitting.append(mover)
        } else {
          movers.append(mover)
        }
      }
      waiting = []
      lastStay = last
    }
    var offset = 0
    stretches.forEach { stretch in
      defer { offset += stretch.count }
      switch stretch {
      case .untouched(let start, let count): stay(from: start, to: start + count - 1)
      case .touched(let index):
        let element = touched[index]
        guard let origin = element.origin else {
          insertions.append((offset, index))
          return
        }
        if element.isUpdated {
          updates.append((Changeset.Update(from: origin, to: offset), index))
        }
        if element.isMoved {
          waiting.append(Mover(origin: origin, destination: offset, index: index))
        } else {
          stay(from: origin, to: origin)
        }
      }
    }
    stay(from: .max, to: .max)
    if !fitting.isEmpty {
      let stays = longestIncreasingSubsequence(
        of: fitting.map { Run(start: $0.origin, count: 1) })
      for (mover, stays) in zip(fitting, stays) where !stays { movers.append(mover) }
    }
    movers.sort { $0.destination < $1.destination }
    let gone = gone.compactMap { index in touched[index].origin.map { (offset: $0, index: index) } }
      .sorted { $0.offset < $1.offset }
    return ChangeRecord(
      Changeset(
        deletions: gone.map(\.offset), insertions: insertions.map(\.offset),
        moves: movers.map { Changeset.Move(from: $0.origin, to: $0.destination) },
        updates: updates.map(\.update)),
      deleted: gone.map { touched[$0.index].first },
      inserted: insertions.map { touched[$0.index].last },
      replaced: updates.map { touched[$0.index].first },
      updated: updates.map { touched[$0.index].last },
      moved: movers.map { touched[$0.index].first })
  }
}

/// An endless collection, as a sequence of stretches of old offsets and of single elements.
///
/// It is a treap, ordered by position (R. Seidel and C. Aragon, "Randomized Search Trees", 1996).
/// Access to a position, removal and insertion take logarithmic time.
struct StretchSequence {
  enum Stretch {
    /// Consecutive old offsets: the first one and their number.
    case untouched(Int, count: Int)
    /// A single element, as its index in a list of the caller.
    case touched(Int)

    var count: Int {
      switch self {
      case .untouched(_, let count): count
      case .touched: 1
      }
    }
  }

  private struct Node {
    var stretch: Stretch
    let priority: UInt64
    /// The number of elements in the subtree.
    var count: Int
    var left: Int32 = -1
    var right: Int32 = -1
  }

  private var nodes: [Node] = []
  private var root: Int32 = -1

  init() {
    // Larger than each valid offset, and small enough for additions.
    root = makeNode(.untouched(0, count: Int.max / 2))
  }

  mutating func insert(_ stretch: Stretch, at offset: Int) {
    cut(at: offset)
    let (left, right) = split(root, at: offset)
    root = merge(merge(left, makeNode(stretch)), right)
  }

  /// Removes and returns a single element.
  mutating func remove(at offset: Int) -> Stretch {
    cut(at: offset)
    cut(at: offset + 1)
    let (left, rest) = split(root, at: offset)
    let (single, right) = split(rest, at: 1)
    root = merge(left, right)
    return nodes[Int(single)].stretch
  }

  func forEach(_ body: (Stretch) -> Void) {
    var path: [Int32] = []
    var node = root
    while node >= 0 || !path.isEmpty {
      while node >= 0 {
        path.append(node)
        node = nodes[Int(node)].left
      }
      let next = path.removeLast()
      body(nodes[Int(next)].stretch)
      node = nodes[Int(next)].right
    }
  }

  private mutating func makeNode(_ stretch: Stretch) -> Int32 {
    // A pseudorandom priority that is the same in each run (D. Lea, G. Steele and C. Flood, "Fast
    // Splittable Pseudorandom Number Generators", 2014).
    var priority = UInt64(nodes.count + 1) &* 0x9E37_79B9_7F4A_7C15
    priority = (priority ^ (priority >> 30)) &* 0xBF58_476D_1CE4_E5B9
    priority = (priority ^ (priority >> 27)) &* 0x94D0_49BB_1331_11EB
    nodes.append(Node(stretch: stretch, priority: priority, count: stretch.count))
    return Int32(truncatingIfNeeded: nodes.count - 1)
  }

  private func count(_ node: Int32) -> Int { node < 0 ? 0 : nodes[Int(node)].count }

  private mutating func recount(_ node: Int32) {
    let (left, right) = (nodes[Int(node)].left, nodes[Int(node)].right)
    nodes[Int(node)].count = nodes[Int(node)].stretch.count + count(left) + count(right)
  }

  /// Splits a stretch if necessary, to make a stretch begin at an offset.
  private mutating func cut(at offset: Int) {
    var (node, start) = (root, 0)
    while node >= 0 {
      let before = start + count(nodes[Int(node)].left)
      let stretch = nodes[Int(node)].stretch
      if offset == before || offset == before + stretch.count { return }
      if offset < before {
        node = nodes[Int(node)].left
      } else if offset > before + stretch.count {
        start = before + stretch.count
        node = nodes[Int(node)].right
      } else {
        guard case .untouched(let origin, let whole) = stretch else { return }
        // Replace the node by two new nodes with priorities of their own, to keep the tree
        // balanced.
        let (left, rest) = split(root, at: before)
        let (_, right) = split(rest, at: whole)
        let kept = offset - before
        let first = makeNode(.untouched(origin, count: kept))
        let second = makeNode(.untouched(origin + kept, count: whole - kept))
        root = merge(merge(left, first), merge(second, right))
        return
      }
    }
  }

  /// Splits a subtree before the stretch that begins at an offset.
  private mutating func split(_ node: Int32, at offset: Int) -> (Int32, Int32) {
    guard node >= 0 else { return (-1, -1) }
    let before = count(nodes[Int(node)].left)
    if offset <= before {
      let (first, second) = split(nodes[Int(node)].left, at: offset)
      nodes[Int(node)].left = second
      recount(node)
      return (first, node)
    }
    let end = before + nodes[Int(node)].stretch.count
    let (first, second) = split(nodes[Int(node)].right, at: offset - end)
    nodes[Int(node)].right = first
    recount(node)
    return (node, second)
  }

  private mutating func merge(_ left: Int32, _ right: Int32) -> Int32 {
    guard left >= 0 else { return right }
    guard right >= 0 else { return left }
    if nodes[Int(left)].priority > nodes[Int(right)].priority {
      let merged = merge(nodes[Int(left)].right, right)
      nodes[Int(left)].right = merged
      recount(left)
      return left
    }
    let merged = merge(left, nodes[Int(right)].left)
    nodes[Int(right)].left = merged
    recount(right)
    return right
  }
}
