/// A change as a sequence of stages, each of which a view can perform as one batch.
///
/// A view that animates its rows cannot perform all operations of a change in one batch. A staged
/// changeset has at most five stages that it can perform. Deletions and origins of a stage are
/// offsets in the data of the previous stage, or in the old version. Insertions and destinations
/// are offsets in the stage's own data.
///
/// | stage | list | sections |
/// |---|---|---|
/// | 1 | updates | element updates |
/// | 2 | deletions | section and element deletions |
/// | 3 | insertions, moves | section insertions, section moves |
/// | 4 | | element insertions, element moves |
/// | 5 | | section updates |
///
/// Stages without operations are left out, and an empty change has no stages. Kept elements have
/// their new value from the first stage on. Kept sections have their old content up to the last
/// stage. Inserted sections arrive with all their elements. The data of the last stage is the new
/// version.
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
/// `Item` is the type of the elements or sections. `Change` is `Changeset` or `SectionedChangeset`.
public struct StagedChangeset<Item, Change: Hashable & Sendable> {
  /// Operations that a view can perform as one batch.
  public struct Stage {
    /// The contents after the stage.
    public let data: [Item]

    /// The change from the contents before the stage to the contents after it.
    public let changeset: Change

    /// Creates a stage.
    ///
    /// - Parameters:
    ///   - data: The contents after the stage.
    ///   - changeset: The change from the contents before the stage to the contents after it.
    @inlinable
    package init(data: [Item], changeset: Change) {
      self.data = data
      self.changeset = changeset
    }
  }

  /// The stages, in order.
  @usableFromInline let stages: [Stage]

  /// Creates a staged changeset from stages.
  ///
  /// - Parameter stages: The stages, in order. Each stage must have an operation.
  @inlinable
  package init(stages: [Stage]) {
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

  /// Returns the stage at a position, counted from zero.
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
  /// Creates stages from changes, without the empty ones.
  ///
  /// - Parameters:
  ///   - changes: The change of each stage.
  ///   - new: The contents after the last stage.
  ///   - isEmpty: A closure that indicates whether a change is empty.
  ///   - data: A closure that returns the contents after a stage. It is not called for the last
  ///     stage.
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

extension StagedChangeset where Change == Changeset, Item: Differentiable {
  /// Creates the difference between two versions of a collection, in stages.
  ///
  /// ```swift
  /// let stages = StagedChangeset(from: ["a", "b"], to: ["b", "c"])
  /// // deletions: [0], then insertions: [1]
  /// ```
  ///
  /// - Parameters:
  ///   - old: The earlier version.
  ///   - new: The later version.
  /// - Complexity: The complexity of the difference, and O(*n*) for each stage but the last.
  // For sections, prefer the other initializer unless the type says otherwise.
  @_disfavoredOverload
  @inlinable
  public init(from old: some Collection<Item>, to new: some Collection<Item>) {
    self.init(Changeset(from: old, to: new), from: old, to: new)
  }
}

extension StagedChangeset where Change == Changeset {
  /// Creates the stages of a change of a collection.
  ///
  /// ```swift
  /// let change = Changeset(from: old, to: new)
  /// let stages = StagedChangeset(change, from: old, to: new)
  /// ```
  ///
  /// - Parameters:
  ///   - changeset: The change.
  ///   - old: The version before the change.
  ///   - new: The version after the change.
  /// - Precondition: The counts of the versions fit the changeset.
  /// - Complexity: O(*n*) for each stage but the last, O(*k* log *k*) for *k* operations.
  @inlinable
  public init(
    _ changeset: Changeset, from old: some Collection<Item>, to new: some Collection<Item>
  ) {
    let new = Array(new)
    let changes = changeset.stages
    precondition(
      old.count + changeset.countChange == new.count,
      """
      the new version must have \(old.count + changeset.countChange) elements, but has \(new.count)
      """)
    var renewed: [Item]?
    self.init(changes: changes, to: new, isEmpty: \.isEmpty) { stage in
      // Kept elements have their new value from the first stage on.
      var data = renewed ?? Array(old)
      if renewed == nil {
        for (target, origin) in changeset.origins(oldCount: data.count).enumerated()
        where origin >= 0 {
          data[origin] = new[target]
        }
        renewed = data
      }
      return stage == 0 ? data : data.removing(at: changeset.deletions)
    }
  }
}

extension Changeset {
  /// The change of each stage: updates, then deletions, then insertions and moves.
  @usableFromInline var stages: [Changeset] {
    [
      Changeset(
        updates: updates.map { Update(from: $0.from, to: $0.from) }.sorted { $0.to < $1.to }),
      Changeset(deletions: deletions),
      Changeset(
        insertions: insertions,
        moves: moves.map {
          Move(from: $0.from - deletions.ascendingCount(below: $0.from), to: $0.to)
        }),
    ]
  }
}
