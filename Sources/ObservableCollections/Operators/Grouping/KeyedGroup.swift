public import Diffing
public import ReactiveSignals
import SwappablePrimitives

/// The elements of one key: their newest contents, and the nodes that follow them.
///
/// A grouping has one for each key that has elements, or whose collection somebody holds.
@usableFromInline
final class KeyedGroup<Key: Hashable & Sendable, Element: Differentiable & Sendable>:
  @unchecked Sendable
{
  // Sendable: `lock` guards `published`, and `use` is locked. The operator owns `newest`, `number`, `rows`, `edit`,
  // `draft` and `isDisplaced`. The rest never changes.

  // The properties that each change of the group uses are next to each other.

  @usableFromInline let key: Key
  @usableFromInline let lock: ListLock
  /// The newest elements, for other threads.
  @exclusivity(unchecked) @usableFromInline var published: ListSection<Key, Element>
  /// The newest elements, which are published already or by the current pass. Only the operator uses them.
  @exclusivity(unchecked) @usableFromInline private(set) var newest: ListSection<Key, Element>
  /// The rows of its elements, or `nil` if it has no elements.
  @exclusivity(unchecked) @usableFromInline var rows: RowTree?
  /// The number of the group while it has elements.
  @exclusivity(unchecked) @usableFromInline var number: UInt32 = .max
  /// A Boolean value that indicates whether another element has become the first one, or the first one has moved.
  @exclusivity(unchecked) @usableFromInline var isDisplaced = false
  /// The elements after several edits in a pass.
  @exclusivity(unchecked) @usableFromInline var draft: CollectionDraft<Element>?
  /// The only edit of the elements in a pass so far, which is not made yet.
  @exclusivity(unchecked) @usableFromInline var edit: (offsets: ElementEdit, element: Element?)?

  /// The hash value of the key.
  @usableFromInline let hash: Int
  /// The nodes that follow this group alone.
  @usableFromInline let followers: ChildList
  private let use = Locked(GroupUse<Element>())

  @usableFromInline
  init(_ key: Key, _ hash: Int, _ parts: NodeParts, _ lock: ListLock) {
    self.key = key
    self.hash = hash
    self.lock = lock
    followers = ChildList(parts)
    newest = ListSection(SectionVersion(ofGroupWith: key, lock))
    published = newest
  }

  /// Sets the newest elements.
  // Inlined: otherwise, the type of the section would be looked up.
  @inlinable
  func setNewest(_ section: ListSection<Key, Element>) {
    newest = section
    // Released outside the lock.
    var replaced = section
    lock.hold { swap(&replaced, &published) }
  }

  /// The newest elements, for other threads.
  var section: ListSection<Key, Element> {
    var section: ListSection<Key, Element>?
    lock.hold { section = published }
    guard let section else { preconditionFailure("a group has no section") }
    return section
  }

  /// Returns the collection of this group, and creates it if nobody holds one.
  ///
  /// - Returns: `nil` if the group is no longer in the directory.
  func collection(of grouping: Grouping<Key, Element>) -> LiveCollection<Element>? {
    let (held, isRemoved) = use.withLock { ($0.collection, $0.isRemoved) }
    if held != nil || isRemoved { return held }
    let base = grouping.sections
    let input = NodeInput(base.node, part: followers)
    let run = GroupRun(self, input)
    let node = Node(
      over: [input], remembers: true, composesSteps: true, type: Self.self, run.compute)
    let new = LiveCollection<Element>(node, upstream: [grouping])
    // Another thread may have been faster. Then its collection is used, and this one is released outside the lock.
    return use.withLock { use in
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

  /// A Boolean value that indicates whether the group is no longer in the directory.
  var isRemoved: Bool { use.withLock { $0.isRemoved } }
}

/// What a group is used for.
private struct GroupUse<Element: Differentiable & Sendable>: Sendable {
  weak var collection: LiveCollection<Element>?
  var hasElements = false
  var isRemoved = false
}

/// Computes the collection of one group.
private final class GroupRun<Key: Hashable & Sendable, Element: Differentiable & Sendable> {
  let group: KeyedGroup<Key, Element>
  let input: NodeInput
  /// The section that the collection shows.
  var shown: ListSection<Key, Element>

  init(_ group: KeyedGroup<Key, Element>, _ input: NodeInput) {
    self.group = group
    self.input = input
    shown = group.section
  }

  func compute(_ node: Node) -> (any Update)? {
    let base = StateBox<ListSection<Key, Element>>.read(input.state).state
    guard let state = node.published else {
      shown = group.section
      return CollectionUpdate(
        before: Snapshot(), revisionBefore: 0, changeset: .empty,
        state: CollectionState(
          shown.elements, revision: 0, status: base.status, hasLoaded: base.hasLoaded),
        isStatusStep: false)
    }
    let published = StateBox<Element>.read(state).state
    let (old, new) = (shown, group.section)
    let changeset = old.isContentEqual(to: new) ? nil : old.changeset(to: new)
    shown = new
    if input.update?.isStatusStep == true {
      return published.advanced(
        to: changeset.map { (new.elements, $0) }, status: base.status, hasLoaded: base.hasLoaded)
    }
    return changeset.map { published.changed(to: new.elements, by: $0) }
  }
}
