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
  /// The number of the group that this is a version of, or 0 if no grouping has made it.
  private let group: Int
  /// The number among the versions of the group.
  private let number: Int
  /// The change from the version before it.
  @usableFromInline let changeset: Changeset

  /// Creates a version that belongs to no group.
  @usableFromInline
  init(_ key: Key, _ elements: Snapshot<Element>) {
    (self.key, self.elements) = (key, elements)
    (group, number, changeset) = (0, 0, .empty)
  }

  /// Creates the first version of a group, without elements.
  init(ofGroupWith key: Key) {
    (self.key, elements) = (key, Snapshot())
    group = lastGroup.add(1, ordering: .relaxed).newValue
    (number, changeset) = (0, .empty)
  }

  @usableFromInline
  init(after version: SectionVersion, _ elements: Snapshot<Element>, _ changeset: Changeset) {
    (key, self.elements, self.changeset) = (version.key, elements, changeset)
    (group, number) = (version.group, version.number + 1)
  }

  /// Returns whether this is the version after another one. The contents are different then.
  @usableFromInline
  func follows(_ other: SectionVersion) -> Bool {
    group == other.group && number == other.number + 1
  }
}

/// The number of groups that were ever made.
private let lastGroup = Atomic(0)
