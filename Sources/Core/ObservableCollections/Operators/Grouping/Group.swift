public import Diffing
public import ReactiveSignals
public import SwappablePrimitives

/// The elements of one key: their newest contents, and the nodes that follow them.
///
/// A grouping has one for each key that has elements, or whose collection somebody holds.
@usableFromInline
final class Group<Key: Hashable & Sendable, Element: Differentiable & Sendable>:
  @unchecked Sendable
{
  // Sendable: the lock of `use` guards `newest`. The operator owns `number`, `rows`, `draft`, `isDisplaced` and
  // `isTouched`. It alone sets `newest`, so the delivering thread reads `newest` without the lock. The rest never
  // changes.

  // The properties that each change of the group uses are next to each other.

  @usableFromInline let key: Key
  /// The newest elements, which are published already or by the current pass.
  @exclusivity(unchecked) @usableFromInline private(set) var newest: ListSection<Key, Element>
  /// The rows of its elements, or `nil` if it has no elements.
  @exclusivity(unchecked) @usableFromInline var rows: RowTree?
  /// The number of the group while it has elements.
  @exclusivity(unchecked) @usableFromInline var number: UInt32 = .max
  /// A Boolean value that indicates whether another element has become the first one, or the first one has moved.
  @exclusivity(unchecked) @usableFromInline var isDisplaced = false
  /// A Boolean value that indicates whether the current pass has edited or displaced the group.
  @exclusivity(unchecked) @usableFromInline var isTouched = false
  /// The edited elements in a pass.
  @exclusivity(unchecked) @usableFromInline var draft: CollectionDraft<Element>?

  @usableFromInline let hash: Int
  /// The parts of the node of the groups.
  @usableFromInline let parts: PartitionedDependents
  /// The nodes that follow this group alone.
  @usableFromInline let followers: Dependents
  @usableFromInline let use = Locked(GroupUse<Element>())

  @usableFromInline
  init(_ key: Key, _ hash: Int, _ parts: PartitionedDependents) {
    self.key = key
    self.hash = hash
    self.parts = parts
    followers = Dependents(parts)
    newest = ListSection(SectionVersion(key, Snapshot()))
  }

  // Inlined: otherwise, the type of the section would be looked up.
  @inlinable
  func setNewest(_ section: consuming ListSection<Key, Element>) {
    // The replaced ones are released outside the lock.
    var section = section
    use.withLock { _ in swap(&section, &newest) }
  }

  // MARK: Rows

  /// Inserts a row at its place in the order of the input, and returns its offset in the group.
  ///
  /// - Parameters:
  ///   - row: A row that is not in the group.
  ///   - order: The rows of the input.
  ///   - storage: The memory for the rows of a group that has none.
  @inlinable
  func insert(
    _ row: UInt32, inOrderOf order: borrowing RowTree, _ storage: RowStorage
  ) -> Int {
    if rows == nil { rows = RowTree(in: storage) }
    return rows?.insert(row, inOrderOf: order) ?? 0
  }

  /// Removes a row, and returns the offset that it had in the group.
  @inlinable
  func remove(_ row: UInt32) -> Int { rows?.remove(row) ?? 0 }

  @inlinable
  func offset(of row: UInt32) -> Int { rows?.offset(of: row) ?? 0 }

  /// The first row of a group that has elements.
  @inlinable var firstRow: UInt32 { rows?[0] ?? 0 }

  /// Removes the list of rows. If it has some, they are in memory that is not used any more.
  @inlinable
  func removeRows() {
    if let rows = rows.take(), rows.count == 0 { rows.free() }
  }

  // MARK: The collection

  /// The newest elements, for other threads.
  @inlinable var section: ListSection<Key, Element> { use.withLock { _ in newest } }

  /// Returns the collection of this group, and creates it if nobody holds one.
  ///
  /// - Returns: `nil` if the group is no longer in the directory.
  @inlinable
  func collection(of grouping: Grouping<Key, Element>) -> LiveCollection<Element>? {
    let (held, isRemoved) = held
    if held != nil || isRemoved { return held }
    let input = NodeInput(grouping.node, part: followers)
    let run = GroupRun(self, input, grouping.condition)
    let node = Node(
      over: [input], remembers: true, composesSteps: true, type: Self.self, run.compute)
    return hold(LiveCollection<Element>(node, upstream: [grouping]))
  }

  /// The collection of this group, if somebody holds it, and whether the group is no longer in the directory.
  @usableFromInline var held: (collection: LiveCollection<Element>?, isRemoved: Bool) {
    use.withLock { ($0.collection, $0.isRemoved) }
  }

  /// Remembers a new collection, unless another thread has been faster. Then its collection is used.
  ///
  /// - Returns: The collection of this group, or `nil` if the group is no longer in the directory.
  @usableFromInline
  func hold(_ new: LiveCollection<Element>) -> LiveCollection<Element>? {
    use.withLock { use in
      if use.isRemoved { return nil }
      if let held = use.collection { return held }
      use.collection = new
      return new
    }
  }

  /// Marks the group as one that has elements.
  ///
  /// - Returns: `false` if the group is no longer in the directory.
  @usableFromInline
  func beginUse() -> Bool {
    use.withLock { use in
      use.hasElements = !use.isRemoved
      return use.hasElements
    }
  }

  /// Marks the group as one without elements.
  @usableFromInline
  func endUse() { use.withLock { $0.hasElements = false } }

  /// Marks the group as removed, if it has no elements and nobody holds its collection.
  ///
  /// - Returns: `true` if it is removed.
  func removeIfUnused() -> Bool {
    let (isRemoved, collection) = use.withLock { use in
      // The collection may be released by the last reference, which must not happen under the lock.
      let collection = use.collection
      use.isRemoved = use.isRemoved || !use.hasElements && collection == nil
      return (use.isRemoved, collection)
    }
    withExtendedLifetime(collection) {}
    return isRemoved
  }

  var isRemoved: Bool { use.withLock { $0.isRemoved } }
}

/// What a group is used for.
@usableFromInline
struct GroupUse<Element: Differentiable & Sendable>: Sendable {
  weak var collection: LiveCollection<Element>?
  var hasElements = false
  var isRemoved = false
}

/// Computes the collection of one group.
@usableFromInline
final class GroupRun<Key: Hashable & Sendable, Element: Differentiable & Sendable> {
  @usableFromInline let group: Group<Key, Element>
  @usableFromInline let input: NodeInput
  /// Returns the status of a state of the input.
  @usableFromInline let condition: @Sendable (NodeState?) -> SourceCondition
  /// The section that the collection shows.
  @exclusivity(unchecked) @usableFromInline var shown: ListSection<Key, Element>

  @inlinable
  init(
    _ group: Group<Key, Element>, _ input: NodeInput,
    _ condition: @escaping @Sendable (NodeState?) -> SourceCondition
  ) {
    self.group = group
    self.input = input
    self.condition = condition
    shown = group.section
  }

  @inlinable
  func compute(_ node: Node) -> (any NodeUpdate)? {
    // The thread that computes a live node has called the operator, so it needs no lock.
    let new = input.isLive ? group.newest : group.section
    let elements = new.elements
    var old = new
    swap(&old, &shown)
    guard let state = node.published else {
      return CollectionUpdate(
        first: CollectionState(elements, revision: 0, condition(input.state)))
    }
    let changeset = old.isContentEqual(to: new) ? nil : old.changeset(to: new)
    let condition = input.isStatusStep ? condition(input.state) : nil
    return StateBox<Element>.read(state).state.advanced(
      to: elements, by: changeset, condition.map { ($0.status, $0.hasLoaded) })
  }
}
