public import Diffing
public import ReactiveSignals
import SwappablePrimitives

/// How the elements of a collection are divided into groups.
@usableFromInline
struct GroupingRule<Key: Hashable & Sendable, Element: Differentiable & Sendable>: Sendable {
  @usableFromInline let source: any DataSource<Element>
  @usableFromInline let key: OperatorParameter<@Sendable (Element) -> Key>
  /// The order of the groups, or `nil` for the order of their first elements.
  @usableFromInline let order: OperatorParameter<ElementOrder<Key>>?

  @inlinable
  init(
    _ source: any DataSource<Element>, key: OperatorParameter<@Sendable (Element) -> Key>,
    order: OperatorParameter<ElementOrder<Key>>?
  ) {
    (self.source, self.key, self.order) = (source, key, order)
  }

  @inlinable var sections: LiveCollection<ListSection<Key, Element>> {
    list(GroupDirectory(), GroupView(showsElements: true) { $0 })
  }

  /// The groups: the keys, and the numbers of elements.
  @inlinable var groups: LiveCollection<LiveIndex<Key, Element>.Group> {
    let (origin, directory) = (GroupOrigin(self), GroupDirectory<Key, Element>())
    let list = list(
      directory,
      GroupView(showsElements: false) { section in
        LiveIndex<Key, Element>.Group(
          key: section.key, count: section.elements.count, origin: origin)
      })
    origin.setList(list, directory)
    return list
  }

  @inlinable var index: LiveIndex<Key, Element> {
    let directory = GroupDirectory<Key, Element>()
    let list: LiveCollection<ListSection<Key, Element>> = list(directory, nil)
    return LiveIndex(Grouping(list, directory))
  }

  /// Derives a list of the groups.
  ///
  /// - Parameters:
  ///   - directory: A directory for the groups.
  ///   - view: What the list shows, or `nil` to show nothing.
  @inlinable
  func list<Output>(
    _ directory: GroupDirectory<Key, Element>, _ view: GroupView<Key, Element, Output>?
  ) -> LiveCollection<Output> {
    LiveCollection { inputs in
      inputs.parts = directory.parts
      return GroupOperator(self, inputs, directory, view)
    }
  }
}

/// What a list of groups shows of each group.
@usableFromInline
struct GroupView<
  Key: Hashable & Sendable, Element: Differentiable & Sendable,
  Output: Differentiable & Sendable
>: Sendable {
  /// A Boolean value that indicates whether a change of the elements changes the output. Otherwise, only a change of their
  /// number does.
  @usableFromInline let showsElements: Bool
  /// Returns the element of the output for a group.
  @usableFromInline let element: @Sendable (ListSection<Key, Element>) -> Output

  @inlinable
  init(showsElements: Bool, _ element: @escaping @Sendable (ListSection<Key, Element>) -> Output) {
    (self.showsElements, self.element) = (showsElements, element)
  }
}

/// The groups of a collection, which make the live collection of each key.
@usableFromInline
final class Grouping<Key: Hashable & Sendable, Element: Differentiable & Sendable>: Sendable {
  /// The node of the list of groups.
  @usableFromInline let node: Node
  @usableFromInline let directory: GroupDirectory<Key, Element>
  /// Returns the status of a state of the node.
  @usableFromInline let condition: @Sendable (NodeState?) -> SourceCondition
  /// Keeps the node live.
  @usableFromInline let list: any AnyObject & Sendable

  @inlinable
  init<Output>(_ list: LiveCollection<Output>, _ directory: GroupDirectory<Key, Element>) {
    (self.list, node, self.directory) = (list, list.node, directory)
    condition = { StateBox<Output>.read($0).state.condition }
  }

  /// Returns the live collection of a key, which may have no elements.
  @inlinable
  func collection(for key: Key) -> LiveCollection<Element> {
    while true {
      if let collection = directory.group(for: key, key.hashValue).collection(of: self) {
        return collection
      }
    }
  }
}

/// The way from an element of a list of groups to the live collection of its group.
///
/// The element cannot hold the list that it is in: neither of them would be released. If the list has been released, the
/// elements of the source are grouped again, once for all groups of that list.
@usableFromInline
final class GroupOrigin<Key: Hashable & Sendable, Element: Differentiable & Sendable>: Sendable {
  private struct Current: Sendable {
    weak var list: LiveCollection<LiveIndex<Key, Element>.Group>?
    weak var directory: GroupDirectory<Key, Element>?
    /// The groups after the list was released. They show nothing, so they do not have this origin.
    var later: Grouping<Key, Element>?
  }

  @usableFromInline let rule: GroupingRule<Key, Element>
  private let current = Locked(Current())

  @usableFromInline
  init(_ rule: GroupingRule<Key, Element>) {
    self.rule = rule
  }

  /// Sets the list, before anybody has an element of it.
  @usableFromInline
  func setList(
    _ list: LiveCollection<LiveIndex<Key, Element>.Group>,
    _ directory: GroupDirectory<Key, Element>
  ) {
    current.withLock { $0 = Current(list: list, directory: directory) }
  }

  @inlinable var grouping: Grouping<Key, Element> { known ?? keep(rule.index.grouping) }

  /// The groups of the list, or the ones after it was released.
  @usableFromInline var known: Grouping<Key, Element>? {
    // These may be the last references, which are released outside the lock.
    let (list, directory, later) = current.withLock { ($0.list, $0.directory, $0.later) }
    if let list, let directory { return Grouping(list, directory) }
    return later
  }

  /// Keeps new groups, unless another thread has been faster.
  @usableFromInline
  func keep(_ new: Grouping<Key, Element>) -> Grouping<Key, Element> {
    current.withLock { current in
      let kept = current.later ?? new
      current.later = kept
      return kept
    }
  }
}

/// The groups of a grouping, by key. Every thread can search it.
@usableFromInline
final class GroupDirectory<Key: Hashable & Sendable, Element: Differentiable & Sendable>: Sendable {
  @usableFromInline typealias Group = ObservableCollections.Group<Key, Element>

  /// A group with the hash value of its key.
  private struct Entry: Sendable {
    let hash: Int
    let group: Group
  }

  @usableFromInline let parts = PartitionedDependents()
  /// The groups by hash value. Searching compares keys, so it reads a version without the lock.
  private let entries = Locked(Entries())

  private struct Entries: Sendable {
    var list = PersistentArray<Entry>([])
    var version = 0
    /// The number of groups at which unused ones are removed.
    var limit = 64
  }

  @usableFromInline
  init() {}

  /// Returns the group of a key, and adds it if there is none.
  @usableFromInline
  func group(for key: Key, _ hash: Int) -> Group {
    var new: Group?
    while true {
      let entries = entries.withLock { $0 }
      let (offset, found) = Self.find(key, hash, in: entries.list)
      if let found, !found.isRemoved { return found }
      let group = new ?? Group(key, hash, parts)
      new = group
      var next = entries.list
      if found != nil { _ = next.remove(at: offset) }
      next.insert(Entry(hash: hash, group: group), at: offset)
      if replace(entries, next) { return group }
    }
  }

  /// Replaces the entries, unless another thread has done so. Removes unused groups if there are many.
  private func replace(_ old: Entries, _ list: PersistentArray<Entry>) -> Bool {
    var next = Entries(list: list, version: old.version + 1, limit: old.limit)
    if list.count >= old.limit {
      let used = list.flattened().filter { !$0.group.removeIfUnused() }
      next.list = PersistentArray(used)
      next.limit = max(64, 2 * used.count)
    }
    return entries.withLock { entries -> Entries? in
      guard entries.version == old.version else { return nil }
      defer { entries = next }
      return entries
    } != nil
  }

  /// Searches a key. Keys that are not equal to themselves, such as NaN, count as equal to each other.
  private static func find(
    _ key: Key, _ hash: Int, in list: PersistentArray<Entry>
  ) -> (offset: Int, group: Group?) {
    var offset = (0..<list.count).partitioningIndex { list[$0].hash >= hash }
    while offset < list.count, list[offset].hash == hash {
      let group = list[offset].group
      if group.key.isSameIdentity(as: key) { return (offset, group) }
      offset += 1
    }
    return (offset, nil)
  }
}
