/// A change as a sequence of single steps. Each step has its element, and its offset at that time.
///
/// Its simultaneous counterpart is `Changeset`.
///
/// ```swift
/// let change = Changeset(from: old, to: new)
/// for step in Patch(change, from: old, to: new).steps {
///   switch step {
///   case .insert(let element, let offset): list.insert(element, at: offset)
///   case .remove(_, let offset): list.remove(at: offset)
///   case .update(_, let element, let offset): list[offset] = element
///   case .move(_, let source, let destination): list.insert(list.remove(at: source), at: destination)
///   }
/// }
/// ```
///
/// A patch is encoded in the JSON format of the `livelist` tool. A ``ChangeRecord`` has the same
/// format, and keeps the simultaneous offsets of that JSON.
public struct Patch<Element> {
  /// The steps, in the order in which they are applied.
  public let steps: [Step]

  /// Creates a patch from steps.
  ///
  /// - Parameter steps: The steps, in order. Each offset is the one at the time of its step.
  public init(steps: [Step]) {
    self.steps = steps
  }

  /// Creates a patch with the same effect as a changeset.
  ///
  /// The steps are removals by descending offset, moves, insertions by ascending offset, and
  /// updates.
  ///
  /// - Parameters:
  ///   - changeset: The change.
  ///   - old: The version before the change.
  ///   - new: The version after the change.
  /// - Complexity: O(*k* log *k*) in the *k* offsets of the changeset.
  public init(
    _ changeset: Changeset, from old: some RandomAccessCollection<Element>,
    to new: some RandomAccessCollection<Element>
  ) {
    self.init(
      changeset,
      deleted: { old.element(at: changeset.deletions[$0]) },
      moved: { old.element(at: changeset.moves[$0].from) },
      inserted: { new.element(at: changeset.insertions[$0]) },
      updated: {
        let update = changeset.updates[$0]
        return (old.element(at: update.from), new.element(at: update.to))
      })
  }

  /// Creates a patch from a changeset and from closures that return the element of each operation.
  init(
    _ changeset: Changeset, deleted: (Int) -> Element, moved: (Int) -> Element,
    inserted: (Int) -> Element, updated: (Int) -> (old: Element, new: Element)
  ) {
    var steps: [Step] = []
    steps.reserveCapacity(
      changeset.deletions.count + changeset.moves.count + changeset.insertions.count
        + changeset.updates.count)
    for position in changeset.deletions.indices.reversed() {
      steps.append(.remove(deleted(position), at: changeset.deletions[position]))
    }
    if !changeset.moves.isEmpty {
      for (position, step) in changeset.sequentialMoves.enumerated()
      where step.from != step.to {
        steps.append(.move(moved(position), from: step.from, to: step.to))
      }
    }
    for (position, offset) in changeset.insertions.enumerated() {
      steps.append(.insert(inserted(position), at: offset))
    }
    for (position, update) in changeset.updates.enumerated() {
      let (old, new) = updated(position)
      steps.append(.update(old: old, new: new, at: update.to))
    }
    self.steps = steps
  }

  /// Applies the steps in order.
  ///
  /// - Parameter old: The version before the change.
  /// - Returns: The elements of the new version.
  /// - Precondition: Each offset is in range at the time of its step.
  /// - Complexity: O(*k* · *n*) for *k* steps, because each step shifts the elements behind it.
  public func applying(to old: some Collection<Element>) -> [Element] {
    var result = Array(old)
    for step in steps {
      switch step {
      case .insert(let element, let offset): result.insert(element, at: offset)
      case .remove(_, let offset): result.remove(at: offset)
      case .update(_, let element, let offset): result[offset] = element
      case .move(_, let source, let destination):
        let element = result.remove(at: source)
        result.insert(element, at: destination)
      }
    }
    return result
  }
}

extension Patch: Sendable where Element: Sendable {}
extension Patch: Equatable where Element: Equatable {}
extension Patch: Hashable where Element: Hashable {}

extension Patch {
  /// A single step of a patch.
  public enum Step {
    /// Inserts an element.
    case insert(Element, at: Int)
    /// Removes an element.
    case remove(Element, at: Int)
    /// Changes the content of an element.
    case update(old: Element, new: Element, at: Int)
    /// Removes an element and inserts it again. The destination does not count the element itself.
    case move(Element, from: Int, to: Int)
  }
}

extension Patch.Step: Sendable where Element: Sendable {}
extension Patch.Step: Equatable where Element: Equatable {}
extension Patch.Step: Hashable where Element: Hashable {}

extension Patch {
  /// The patch from the new version back to the old one.
  ///
  /// It has the inverse of each step, in reverse order.
  ///
  /// - Complexity: O(*k*) for *k* steps.
  public var inverse: Patch {
    Patch(steps: steps.reversed().map(\.inverse))
  }
}

extension Patch.Step {
  /// The step that undoes this one.
  fileprivate var inverse: Self {
    switch self {
    case .insert(let element, let offset): .remove(element, at: offset)
    case .remove(let element, let offset): .insert(element, at: offset)
    case .update(let old, let new, let offset): .update(old: new, new: old, at: offset)
    case .move(let element, let source, let destination):
      .move(element, from: destination, to: source)
    }
  }
}

extension Changeset {
  /// The moves as sequential steps, between the deletions and the insertions.
  ///
  /// Each step has the offsets that are valid at its time. By ascending destination, each element is
  /// put behind its predecessor in the new version. The predecessor has stayed, or has already been
  /// moved. Moved elements thus gather behind an element that stayed, their *anchor*. At any time,
  /// the list consists of each old offset that is still in place, followed by the elements that
  /// gathered behind it. An offset is the number of elements to its left in that order.
  ///
  /// - Complexity: O(*k* log *k*) in the offsets of the changeset.
  @usableFromInline package var sequentialMoves: [Move] {
    if moves.isEmpty || moves.count == 1 && deletions.isEmpty && insertions.isEmpty { return moves }
    let anchors = anchors
    // A move changes offsets only to the right of its origin and of its anchor.
    let places = Set(moves.map(\.from)).union(anchors).sorted()
    var balance = PrefixSums(count: places.count)

    /// Returns the number of remaining old elements left of an offset, before any move.
    func initialCount(before old: Int) -> Int { old - deletions.ascendingCount(below: old) }

    return zip(moves, anchors).map { move, anchor in
      let origin = places.ascendingCount(below: move.from)
      let from = initialCount(before: move.from) + balance.sum(before: origin)
      balance.add(-1, at: origin)
      let place = places.ascendingCount(below: anchor)
      // Count the anchor itself, and all elements that have gathered behind it.
      let to = initialCount(before: anchor + 1) + balance.sum(before: place + 1)
      balance.add(1, at: place)
      return Move(from: from, to: to)
    }
  }

  /// The anchor of each move: the old offset of the last element before its destination that
  /// stayed, or -1.
  private var anchors: [Int] {
    let removals = removals
    var insertion = 0
    return moves.enumerated().map { position, move in
      while insertion < insertions.count && insertions[insertion] < move.to {
        insertion += 1
      }
      let stayedBefore = move.to - insertion - position
      guard stayedBefore > 0 else { return -1 }
      return removals.offset(ofUnlistedRank: stayedBefore - 1)
    }
  }
}

/// A list of numbers that can change one number, and sum a prefix, in logarithmic time.
///
/// This is the structure of P. Fenwick, "A New Data Structure for Cumulative Frequency Tables",
/// 1994.
private struct PrefixSums {
  private var tree: [Int]

  init(count: Int) {
    tree = [Int](repeating: 0, count: count + 1)
  }

  mutating func add(_ value: Int, at position: Int) {
    var node = position + 1
    while node < tree.count {
      tree[node] += value
      node += node & -node
    }
  }

  func sum(before end: Int) -> Int {
    var sum = 0
    var node = end
    while node > 0 {
      sum += tree[node]
      node &= node - 1
    }
    return sum
  }
}
