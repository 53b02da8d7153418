/// A change in stages, each of which a batch-updating view may perform at once.
///
/// A view that animates its rows cannot take all operations of a change in one batch. This breaks the
/// change into at most five that it can. Each stage is a changeset from the data of the stage before it,
/// or the old version, to its own data: deletions and origins count in the one, insertions and
/// destinations in the other.
///
/// | stage | of a list | of sections |
/// |---|---|---|
/// | 1 | updates | element updates |
/// | 2 | deletions | section and element deletions |
/// | 3 | insertions, moves | section insertions, section moves |
/// | 4 | | element insertions, element moves |
/// | 5 | | section updates |
///
/// Stages without an operation are left out, and without a difference there is none. Elements that are
/// kept have their new value from the first stage on. Sections that are kept hold on to their old
/// content until the last one, those that are inserted arrive with all their elements. The data of the
/// last stage is the new version.
///
/// ```swift
/// for stage in StagedChangeset(from: table.rows, to: rows) {
///   view.performBatchUpdates {
///     table.rows = stage.data
///     view.reload(stage.changeset.updates.map(\.from))
///     view.delete(stage.changeset.deletions)
///     view.insert(stage.changeset.insertions)
///     for move in stage.changeset.moves { view.move(from: move.from, to: move.to) }
///   }
/// }
/// ```
///
/// `Item` is what the collection holds, elements or sections; `Change` is `Changeset` or
/// `SectionedChangeset`.
public struct StagedChangeset<Item, Change: Hashable & Sendable> {
  /// Operations that may be performed at once.
  public struct Stage {
    /// The contents after the stage.
    public let data: [Item]

    /// What changes, from the contents before the stage to those after it.
    public let changeset: Change

    /// Creates a stage.
    ///
    /// - Parameters:
    ///   - data: The contents after the stage.
    ///   - changeset: What changes, from the contents before the stage to those after it.
    @inlinable
    public init(data: [Item], changeset: Change) {
      self.data = data
      self.changeset = changeset
    }
  }

  /// The stages, in order.
  @usableFromInline let stages: [Stage]

  /// Creates a staged change of given stages.
  ///
  /// - Parameter stages: The stages, in order, none of them without an operation.
  @inlinable
  public init(stages: [Stage]) {
    self.stages = stages
  }
}

extension StagedChangeset: RandomAccessCollection {
  /// Zero.
  @inlinable
  public var startIndex: Int { 0 }

  /// The number of stages.
  @inlinable
  public var endIndex: Int { stages.count }

  /// The stage at a position, from zero.
  @inlinable
  public subscript(position: Int) -> Stage { stages[position] }
}

extension StagedChangeset: Sendable where Item: Sendable {}
extension StagedChangeset: Equatable where Item: Equatable {}
extension StagedChangeset: Hashable where Item: Hashable {}
extension StagedChangeset.Stage: Sendable where Item: Sendable {}
extension StagedChangeset.Stage: Equatable where Item: Equatable {}
extension StagedChangeset.Stage: Hashable where Item: Hashable {}

extension StagedChangeset.Stage: CustomStringConvertible {
  /// The changeset and the data, for example `Changeset(deletions: [1]): [0, 2]`.
  public var description: String { "\(changeset): \(data)" }
}

extension StagedChangeset: CustomStringConvertible {
  /// The stages, for example `[Changeset(deletions: [1]): [0, 2]]`.
  public var description: String { "\(stages)" }
}

extension StagedChangeset {
  /// Creates stages of changes, leaving out those that are empty.
  ///
  /// - Parameters:
  ///   - changes: The change of each stage.
  ///   - new: The contents after the last one.
  ///   - isEmpty: Tells whether a change is empty.
  ///   - data: Makes the contents after each stage but the last one that is not empty.
  @inlinable
  init(
    changes: [Change], to new: [Item], isEmpty: (Change) -> Bool, data: (_ stage: Int) -> [Item]
  ) {
    let last = changes.lastIndex { !isEmpty($0) }
    stages = changes.indices.filter { !isEmpty(changes[$0]) }.map { stage in
      Stage(data: stage == last ? new : data(stage), changeset: changes[stage])
    }
  }
}
