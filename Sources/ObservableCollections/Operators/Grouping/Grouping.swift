public import Diffing
public import ReactiveSignals
import SwappablePrimitives

/// Divides a collection into groups, and finds the live collection of each group.
///
/// Each group that a collection shows has its grouping, which therefore does not keep that collection alive.
@usableFromInline
final class Grouping<Key: Hashable & Sendable, Element: Differentiable & Sendable>: Sendable {
  @usableFromInline typealias Group = LiveIndex<Key, Element>.Group
  @usableFromInline typealias Directory = GroupDirectory<Key, Element>
  @usableFromInline typealias MakeOperator =
    @Sendable (
      OperatorInputs, Directory, _ show: (@Sendable (ListSection<Key, Element>) -> Group)?
    ) -> GroupOperator<Key, Element, Group>

  @usableFromInline let makeOperator: MakeOperator
  private let newest = Locked<WeakIndex?>(nil)

  /// The groups of an index, and the directory of the groups.
  private struct WeakIndex: Sendable {
    weak var groups: LiveCollection<Group>?
    let directory: Directory
  }

  @inlinable
  init(_ makeOperator: @escaping MakeOperator) {
    self.makeOperator = makeOperator
  }

  /// The newest index, or a new one if nobody holds it any more.
  @inlinable var index: LiveIndex<Key, Element> { heldIndex ?? makeIndex(showsGroups: false) }

  /// The newest index, if somebody holds it.
  @usableFromInline var heldIndex: LiveIndex<Key, Element>? {
    newest.withLock { index -> LiveIndex<Key, Element>? in
      guard let index, let groups = index.groups else { return nil }
      return LiveIndex(groups, index.directory)
    }
  }

  /// Creates an index.
  ///
  /// - Parameter showsGroups: A Boolean value that indicates whether the collection of the groups shows them. Otherwise,
  ///   it is empty.
  @inlinable
  func makeIndex(showsGroups: Bool) -> LiveIndex<Key, Element> {
    let directory = Directory()
    let show: @Sendable (ListSection<Key, Element>) -> Group = { Group($0, of: self) }
    let groups = LiveCollection<Group> { inputs in
      inputs.parts = directory.parts
      return makeOperator(inputs, directory, showsGroups ? show : nil)
    }
    hold(groups, directory)
    return LiveIndex(groups, directory)
  }

  @usableFromInline
  func hold(_ groups: LiveCollection<Group>, _ directory: Directory) {
    // Released outside the lock.
    var replaced: WeakIndex? = WeakIndex(groups: groups, directory: directory)
    newest.withLock { swap(&$0, &replaced) }
  }
}

/// The groups of a grouping, by key. Every thread can search it.
@usableFromInline
final class GroupDirectory<Key: Hashable & Sendable, Element: Differentiable & Sendable>: Sendable {
  @usableFromInline typealias Group = KeyedGroup<Key, Element>

  /// A group with the hash value of its key.
  private struct Entry: Sendable {
    let hash: Int
    let group: Group
  }

  @usableFromInline let parts = NodeParts()
  /// The locks of the groups. A few locks stay in the cache of the processor, and one would make readers wait for each
  /// other.
  private let locks = (0..<16).map { _ in ListLock() }
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
      let group = new ?? Group(key, hash, parts, locks[hash & 15])
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
      if sameIdentity(group.key, key) { return (offset, group) }
      offset += 1
    }
    return (offset, nil)
  }
}
