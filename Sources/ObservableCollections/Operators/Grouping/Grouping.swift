public import Diffing
public import ReactiveSignals
import SwappablePrimitives

/// The groups of a collection: its sections, if they are shown, and the live collection of each key.
@usableFromInline
final class Grouping<Key: Hashable & Sendable, Element: Differentiable & Sendable>: Sendable {
  @usableFromInline let sections: LiveCollection<ListSection<Key, Element>>
  @usableFromInline let directory: GroupDirectory<Key, Element>

  @inlinable
  init(
    _ makeOperator: (OperatorInputs, GroupDirectory<Key, Element>) -> GroupOperator<Key, Element>
  ) {
    let directory = GroupDirectory<Key, Element>()
    self.directory = directory
    sections = LiveCollection { inputs in
      inputs.parts = directory.parts
      return makeOperator(inputs, directory)
    }
  }

  /// The groups: the keys, and the numbers of elements.
  @inlinable var groups: LiveCollection<LiveIndex<Key, Element>.Group> {
    let index = LiveIndex(self)
    return sections.map { LiveIndex.Group(key: $0.key, count: $0.version.count, index: index) }
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
