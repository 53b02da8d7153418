public import Diffing
import Synchronization

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
final class SectionVersion<Key: Hashable & Sendable, Element: Differentiable & Sendable>: Sendable {
  @usableFromInline let key: Key
  @usableFromInline let elements: Snapshot<Element>
  /// A number that no other version in the process has.
  private let number = versionCount.add(1, ordering: .relaxed).newValue
  /// The number of the version before this one, or 0 if there is none.
  private let previousNumber: Int
  /// The change from the version before it.
  @usableFromInline let changeset: Changeset

  /// Creates the first version of a section.
  @usableFromInline
  init(_ key: Key, _ elements: Snapshot<Element>) {
    (self.key, self.elements, previousNumber) = (key, elements, 0)
    changeset = .empty
  }

  /// Creates a version.
  ///
  /// - Parameters:
  ///   - version: The version before it.
  ///   - elements: The elements.
  ///   - changeset: Their difference from those of the version before.
  @usableFromInline
  init(after version: SectionVersion, _ elements: Snapshot<Element>, _ changeset: Changeset) {
    (key, self.elements, previousNumber) = (version.key, elements, version.number)
    self.changeset = changeset
  }

  /// Returns whether this is the version after another one. The contents are different then.
  @usableFromInline
  func follows(_ other: SectionVersion) -> Bool {
    previousNumber == other.number
  }
}

private let versionCount = Atomic(0)

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
  /// - Complexity: O(k log k) for k changed elements. If several changes were merged, and for chunks, the elements of each
  ///   changed section are compared. Parts that are shared in memory are not read.
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
    var (deletions, insertions) = ([SectionedChangeset.Path](), [SectionedChangeset.Path]())
    var (moves, updates) = ([Move](), [Update]())
    for section in sections.updates {
      let change = before[section.from].changeset(to: after[section.to])
      func old(_ offset: Int) -> SectionedChangeset.Path {
        SectionedChangeset.Path(section: section.from, element: offset)
      }
      func new(_ offset: Int) -> SectionedChangeset.Path {
        SectionedChangeset.Path(section: section.to, element: offset)
      }
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
      var left: [Element.DifferenceIdentifier: [SectionedChangeset.Path]] = [:]
      for path in deletions.reversed() {
        left[before.element(at: path).differenceIdentifier, default: []].append(path)
      }
      var moved: Set<SectionedChangeset.Path> = []
      insertions.removeAll { path in
        let element = after.element(at: path)
        guard let from = left[element.differenceIdentifier]?.popLast() else { return false }
        moved.insert(from)
        moves.append(Move(from: from, to: path))
        if !element.hasSameContent(as: before.element(at: from)) {
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
  fileprivate func element<Key, Item>(at path: SectionedChangeset.Path) -> Item
  where Element == ListSection<Key, Item> {
    self[path.section].elements[path.element]
  }
}
