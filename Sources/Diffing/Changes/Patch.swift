/// A change as a sequence of single steps, each with its element, each at its offset at that moment.
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
/// As JSON it is what the tool `livelist` writes of a change; see ``ChangeRecord``, which has all
/// offsets at the same time, as that JSON does.
public struct Patch<Element> {
  /// The steps: removals by descending offset, moves, insertions by ascending offset, updates.
  public let steps: [ElementChange<Element>]

  /// Creates a patch from steps.
  ///
  /// - Parameter steps: The steps, in order, each at its offset at that moment.
  public init(steps: [ElementChange<Element>]) {
    self.steps = steps
  }

  /// Creates the patch that does what a changeset does.
  ///
  /// - Parameters:
  ///   - changeset: The change.
  ///   - old: The version that the changeset was made from.
  ///   - new: The version that it leads to.
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

  /// Creates the patch that does what a changeset does, of elements by their positions in its lists.
  init(
    _ changeset: Changeset, deleted: (Int) -> Element, moved: (Int) -> Element,
    inserted: (Int) -> Element, updated: (Int) -> (old: Element, new: Element)
  ) {
    var steps: [ElementChange<Element>] = []
    steps.reserveCapacity(
      changeset.deletions.count + changeset.moves.count + changeset.insertions.count
        + changeset.updates.count)
    for position in changeset.deletions.indices.reversed() {
      steps.append(.remove(deleted(position), at: changeset.deletions[position]))
    }
    if !changeset.moves.isEmpty {
      for (position, step) in sequentialMoves(of: changeset).enumerated()
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

  /// Applies the steps in turn.
  ///
  /// - Parameter old: The version that the patch was made from.
  /// - Returns: The new version's elements.
  /// - Precondition: Every offset exists at its moment.
  /// - Complexity: O(*k* · *n*) for *k* steps, since each shifts what stands behind it.
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
