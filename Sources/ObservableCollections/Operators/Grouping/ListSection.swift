public import Diffing
import SwappablePrimitives

/// A section of a list: a key, and the elements that have it.
///
/// Its identity is the key. Its content is the elements.
public struct ListSection<
  Key: Hashable & Sendable, Element: Differentiable & Sendable
>: Differentiable, Sendable {
  @usableFromInline let version: SectionVersion<Key, Element>

  /// Creates a section.
  ///
  /// - Parameters:
  ///   - key: The key of the elements.
  ///   - elements: The elements.
  @inlinable
  public init(key: Key, elements: some Sequence<Element>) {
    version = SectionVersion(key, Snapshot(elements))
  }

  @inlinable
  init(_ version: SectionVersion<Key, Element>) {
    self.version = version
  }

  /// The key of the elements.
  @inlinable public var key: Key { version.key }

  /// The elements, in the order of the source.
  @inlinable public var elements: Snapshot<Element> { version.elements }

  /// The key.
  @inlinable public var differenceIdentifier: Key { key }

  /// Returns whether the elements of both sections have the same identities and contents, in the same order.
  ///
  /// - Complexity: O(n) for n elements. O(1) for a section before and after one change.
  @inlinable
  public func isContentEqual(to source: ListSection) -> Bool {
    if version === source.version { return true }
    if version.follows(source.version) || source.version.follows(version) { return false }
    return elements.hasSameContents(as: source.elements)
  }

  /// Returns the difference from the elements of this section to those of a later one.
  @inlinable
  func changeset(to later: ListSection) -> Changeset {
    if later.version === version { return .empty }
    if later.version.follows(version) { return later.version.changeset }
    return elements.changeset(to: later.elements)
  }
}

extension ListSection: Equatable where Element: Equatable {
  public static func == (one: ListSection, other: ListSection) -> Bool {
    one.key == other.key && one.elements.elementsEqual(other.elements)
  }
}

extension ListSection: CustomStringConvertible {
  /// The key and the elements, for example `fruit: [apple, pear]`.
  public var description: String { "\(key): \(elements)" }
}

/// The key and the elements of a section, which never change.
///
/// A section is one reference, because a changed list copies its neighbors.
@usableFromInline
final class SectionVersion<Key: Hashable & Sendable, Element: Differentiable & Sendable>:
  SharedList<Element>, @unchecked Sendable
{
  // Sendable: everything of its own is constant.

  @usableFromInline let key: Key
  /// The number of elements. Reading it from them would take the lock.
  @usableFromInline let count: Int
  /// The numbers of this version and of the one before it among the versions of all groups of a grouping. Groups share
  /// locks. A section that no grouping has made has no lock.
  private let number: Int
  private let previousNumber: Int
  private let change: SectionChange

  /// Creates a version that belongs to no group.
  @usableFromInline
  init(_ key: Key, _ elements: Snapshot<Element>) {
    (self.key, count, number, previousNumber) = (key, elements.count, 0, -1)
    change = .changeset(.empty)
    super.init(elements.storage, nil)
  }

  /// Creates the first version of a group, without elements.
  init(ofGroupWith key: Key, _ lock: ListLock) {
    (self.key, count, number, previousNumber) = (key, 0, 0, -1)
    change = .changeset(.empty)
    super.init(.flat([]), lock)
  }

  /// Creates a version.
  ///
  /// - Parameters:
  ///   - version: The version before it.
  ///   - number: A number that no version of the grouping has.
  ///   - elements: The elements.
  ///   - change: Their difference from those of the version before.
  @usableFromInline
  init(
    after version: SectionVersion, _ number: Int, _ elements: Snapshot<Element>,
    _ change: SectionChange
  ) {
    (key, count, self.number) = (version.key, elements.count, number)
    previousNumber = version.number
    self.change = change
    super.init(elements.storage, version.lock)
  }

  @inlinable var elements: Snapshot<Element> { Snapshot(contents) }

  /// The change from the version before it.
  @usableFromInline var changeset: Changeset { change.changeset }

  /// Returns whether this is the version after another one. The contents are different then.
  @usableFromInline
  func follows(_ other: SectionVersion) -> Bool {
    lock != nil && lock === other.lock && previousNumber == other.number
  }
}

/// The change from one version of a section to the next.
// A changeset is three objects. If each version had one, the next edit of the group, long afterwards, would have to fetch
// them from the memory to release them.
@usableFromInline
enum SectionChange: Sendable {
  case edit(ElementEdit)
  case changeset(Changeset)

  /// The change as a changeset.
  @usableFromInline var changeset: Changeset {
    switch self {
    case .edit(let edit): edit.changeset
    case .changeset(let changeset): changeset
    }
  }
}

/// A list that several threads read while its owner may edit the tree in place.
@usableFromInline
class SharedList<Element: Sendable>: @unchecked Sendable {
  // Sendable: `list` is accessed under the lock. Only the delivering thread writes it, so this thread may read it without
  // the lock. If there is no lock, it never changes.

  @exclusivity(unchecked) @usableFromInline final var list: PersistentArray<Element>
  @usableFromInline final let lock: ListLock?

  /// Creates a list.
  ///
  /// - Parameter lock: The lock, or `nil` if the tree is never edited in place.
  @usableFromInline
  init(_ list: PersistentArray<Element>, _ lock: ListLock?) {
    (self.list, self.lock) = (list, lock)
  }

  /// The contents, which never change.
  @inlinable final var contents: PersistentArray<Element> {
    guard let lock else { return list }
    var contents = PersistentArray<Element>.flat([])
    lock.hold { contents = list }
    return contents
  }

  /// Edits an equal list, a long tree, if no third list has the tree.
  ///
  /// - Returns: The removed element, or the inserted one if there is none; `nil` if the edit did not take place.
  @inlinable
  final func editInPlace(
    _ other: inout PersistentArray<Element>, _ edit: ElementEdit, _ new: Element?
  ) -> Element? {
    var element: Element?
    lock?.holdToEdit { element = list.editInPlace(&other, edit, new) }
    return element
  }

  /// Returns the list after an edit of one element. A long tree is edited in place if nothing else has it.
  ///
  /// - Parameters:
  ///   - edit: The offsets.
  ///   - new: The inserted element, or `nil` to insert the removed one.
  @inlinable
  final func edited(_ edit: ElementEdit, _ new: Element?) -> PersistentArray<Element> {
    var nothing = PersistentArray<Element>.flat([])
    if let edited = editedInPlace(edit, new, sharedWith: &nothing) { return edited }
    var edited = contents.restored
    _ = edited.edit(edit, new)
    return edited
  }

  /// Returns the list after an edit of one element, if it is a long tree that at most one other list has.
  ///
  /// - Parameters:
  ///   - edit: The offsets.
  ///   - new: The inserted element, or `nil` to insert the removed one.
  ///   - other: The other list, or an empty one.
  @inlinable
  final func editedInPlace(
    _ edit: ElementEdit, _ new: Element?, sharedWith other: inout PersistentArray<Element>
  ) -> PersistentArray<Element>? {
    var edited: PersistentArray<Element>?
    lock?.holdToEdit {
      if !list.isLongTree { return }
      let isShared = other.isIdentical(to: list)
      if isShared { other = .flat([]) }
      var next = list
      if list.editInPlace(&next, edit, new) != nil { edited = next }
      if isShared { other = list }
    }
    return edited
  }

  /// Restores the tree after an edit that is discarded. Otherwise, the list would keep the element that it has added.
  ///
  /// - Returns: The replaced list. The caller releases it.
  @inlinable
  final func restore() -> PersistentArray<Element>? {
    let edited = contents
    guard case .earlier = edited, let lock else { return nil }
    let restored = edited.restored
    lock.hold { list = restored }
    return edited
  }
}

/// The lock of all versions of a list, or of several lists.
@usableFromInline
final class ListLock: Sendable {
  private let lock = Locked(())

  /// Calls a closure while the lock is held.
  @usableFromInline
  func hold(_ body: () -> Void) { lock.withLock { _ in body() } }

  /// Calls a closure that may edit a tree in place, unless the sanitizer runs. It does not see the counts of references
  /// that order the reads before the edit.
  @usableFromInline
  func holdToEdit(_ body: () -> Void) { if !isThreadSanitized { hold(body) } }
}

extension CollectionChange {
  /// The change of sections and of their elements.
  ///
  ///     let observation = todos.sections(by: \.project).observe { event in
  ///       if case .change(let change) = event { print(change.sectionedChangeset()) }
  ///     }
  ///
  /// An element whose key changes moves from one section to another if the change keeps both. A section that becomes
  /// empty is deleted by the same change, with its elements, and a new section is inserted with its elements. So an
  /// element that leaves a deleted section is inserted, and an element that enters an inserted section is deleted.
  ///
  /// - Complexity: O(k log k) for k changed elements. If several changes were merged, the elements of each changed
  ///   section are compared. Parts that are shared in memory are not read.
  public func sectionedChangeset<Key, Item>() -> SectionedChangeset
  where Element == ListSection<Key, Item> {
    SectionedChangeset(changeset, from: before, to: after)
  }
}

extension SectionedChangeset {
  /// Creates the changeset of sections and elements from that of sections whose elements are their content.
  ///
  /// - Parameters:
  ///   - sections: The changeset of the sections.
  ///   - before: The sections before the change.
  ///   - after: The sections after the change.
  package init<Key, Element>(
    _ sections: Changeset, from before: Snapshot<ListSection<Key, Element>>,
    to after: Snapshot<ListSection<Key, Element>>
  ) {
    var (deletions, insertions) = ([ElementPath](), [ElementPath]())
    var (moves, updates) = ([Move](), [Update]())
    for section in sections.updates {
      let change = before[section.from].changeset(to: after[section.to])
      func old(_ offset: Int) -> ElementPath {
        ElementPath(section: section.from, element: offset)
      }
      func new(_ offset: Int) -> ElementPath { ElementPath(section: section.to, element: offset) }
      deletions += change.deletions.map(old)
      insertions += change.insertions.map(new)
      moves += change.moves.map { Move(from: old($0.from), to: new($0.to)) }
      updates += change.updates.map { Update(from: old($0.from), to: new($0.to)) }
    }
    // An element that left one section and entered another has moved. The first one with an identity is paired with
    // the first.
    if !deletions.isEmpty && !insertions.isEmpty {
      deletions.sort()
      insertions.sort()
      var left: [Element.DifferenceIdentifier: [ElementPath]] = [:]
      for path in deletions.reversed() {
        left[before.element(at: path).differenceIdentifier, default: []].append(path)
      }
      var moved: Set<ElementPath> = []
      insertions.removeAll { path in
        let element = after.element(at: path)
        guard let from = left[element.differenceIdentifier]?.popLast() else { return false }
        moved.insert(from)
        moves.append(Move(from: from, to: path))
        if !sameContent(before.element(at: from), element) {
          updates.append(Update(from: from, to: path))
        }
        return true
      }
      deletions.removeAll { moved.contains($0) }
    }
    self.init(
      sections: Changeset(
        deletions: sections.deletions, insertions: sections.insertions, moves: sections.moves),
      elementDeletions: deletions.sorted(), elementInsertions: insertions.sorted(),
      elementMoves: moves.sorted { $0.to < $1.to }, elementUpdates: updates.sorted { $0.to < $1.to }
    )
  }
}

extension Snapshot {
  /// The element at a path.
  fileprivate func element<Key, Item>(at path: ElementPath) -> Item
  where Element == ListSection<Key, Item> {
    self[path.section].elements[path.element]
  }
}
