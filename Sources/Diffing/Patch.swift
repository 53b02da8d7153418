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
    var steps: [ElementChange<Element>] = []
    steps.reserveCapacity(
      changeset.deletions.count + changeset.moves.count + changeset.insertions.count
        + changeset.updates.count)
    for offset in changeset.deletions.reversed() {
      steps.append(.remove(old.element(at: offset), at: offset))
    }
    if !changeset.moves.isEmpty {
      for (move, step) in zip(changeset.moves, sequentialMoves(of: changeset))
      where step.from != step.to {
        steps.append(.move(old.element(at: move.from), from: step.from, to: step.to))
      }
    }
    for offset in changeset.insertions {
      steps.append(.insert(new.element(at: offset), at: offset))
    }
    for update in changeset.updates {
      steps.append(
        .update(
          old: old.element(at: update.from), new: new.element(at: update.to), at: update.to))
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
