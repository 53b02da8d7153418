/// A collection without an end, as the stretches of old offsets that it consists of, and single
/// elements between them.
///
/// A treap, ordered by position (R. Seidel and C. Aragon, "Randomized Search Trees", 1996): any
/// position is found, taken out and filled in logarithmic time.
struct StretchSequence {
  enum Stretch {
    /// Old offsets from one on, and how many.
    case untouched(Int, count: Int)
    /// A single element, known by its index elsewhere.
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
    // More than any offset can be, and few enough to be counted on from there.
    root = makeNode(.untouched(0, count: Int.max / 2))
  }

  mutating func insert(_ stretch: Stretch, at offset: Int) {
    cut(at: offset)
    let (left, right) = split(root, at: offset)
    root = merge(merge(left, makeNode(stretch)), right)
  }

  /// Takes a single element out.
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
    // Scattered, but the same each time: by the golden ratio and two rounds of mixing (D. Lea, G. Steele
    // and C. Flood, "Fast Splittable Pseudorandom Number Generators", 2014).
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

  /// Makes a stretch begin at an offset.
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
        // Taken out and put in again as two, each with a priority of its own, so that it stays balanced.
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

  /// Splits a subtree in front of the stretch that begins at an offset.
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
