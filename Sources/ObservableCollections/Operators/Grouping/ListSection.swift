public import Diffing

/// A section of a list: a key, and the elements that have it.
///
/// Its identity is the key. Its content is the elements.
public struct ListSection<
  Key: Hashable & Sendable, Element: Differentiable & Sendable
>: Differentiable, Sendable {
  /// The key of the elements.
  public let key: Key
  /// The elements, in the order of the source.
  public let elements: Snapshot<Element>
  /// The change that led to these elements, if a grouping has made it.
  @usableFromInline let step: SectionStep?

  /// Creates a section.
  ///
  /// - Parameters:
  ///   - key: The key of the elements.
  ///   - elements: The elements.
  @inlinable
  public init(key: Key, elements: some Sequence<Element>) {
    self.init(key: key, elements: Snapshot(elements), step: nil)
  }

  @inlinable
  init(key: Key, elements: Snapshot<Element>, step: SectionStep?) {
    self.key = key
    self.elements = elements
    self.step = step
  }

  /// The key.
  @inlinable public var differenceIdentifier: Key { key }

  /// Returns whether the elements of both sections have the same identities and contents, in the same order.
  ///
  /// - Complexity: O(n) for n elements. O(1) for a section before and after one change.
  @inlinable
  public func isContentEqual(to source: ListSection) -> Bool {
    if let step, let other = source.step {
      if step === other { return true }
      if step.follows(other) || other.follows(step) { return false }
    }
    return elements.hasSameContents(as: source.elements)
  }

  /// Returns the difference from the elements of this section to those of a later one.
  func changeset(to later: ListSection) -> Changeset {
    if let step, let next = later.step, next.follows(step) { return next.changeset }
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

/// One change of a section. Its changeset leads from the elements of the step before it.
@usableFromInline
final class SectionStep: Sendable {
  /// The first step of the group, or `nil` if this is the first one.
  private let first: SectionStep?
  private let number: Int
  let changeset: Changeset

  /// Creates the first step of a group.
  @usableFromInline
  init() { (first, number, changeset) = (nil, 0, .empty) }

  @usableFromInline
  init(after step: SectionStep, _ changeset: Changeset) {
    (first, number) = (step.first ?? step, step.number + 1)
    self.changeset = changeset
  }

  /// Returns whether this is the step after another one. The contents are different then.
  @usableFromInline
  func follows(_ other: SectionStep) -> Bool {
    // The last reference to a group may be gone, so its address would not tell it from the next one with its key.
    first === (other.first ?? other) && number == other.number + 1
  }
}
