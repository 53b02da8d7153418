/// The difference between two versions of a collection of sections, as simultaneous offsets.
///
/// It contains neither sections nor elements, and has a meaning only together with its two
/// versions.
///
/// ```swift
/// let old = [ArraySection(model: "a", elements: [1, 2]), ArraySection(model: "b", elements: [3])]
/// let new = [ArraySection(model: "b", elements: [3, 1]), ArraySection(model: "a", elements: [2])]
/// let change = SectionedChangeset(from: old, to: new)
/// // sections.moves: [1->0], elementMoves: [0.0->0.1]
/// ```
///
/// A section or an element that occurs in both versions is *kept*. The property `sections` follows
/// the rules of a changeset. For elements, the rules are:
///
/// - **C1** `elementDeletions` has the paths in the old version, ascending, of elements that left a
///   kept section. It does not include the elements of deleted sections. An element that leaves a
///   kept section for an inserted one is a deletion.
/// - **C2** `elementInsertions` has the paths in the new version, ascending, of elements that
///   entered a kept section. It does not include the elements of inserted sections. An element that
///   enters a kept section from a deleted one is an insertion.
/// - **C3** `elementMoves` has the old and new paths of all elements that moved from one kept
///   section to another. It also has a minimal number of elements that moved inside their section.
///   An element that is carried along by its section does not move. No move is a deletion or an
///   insertion.
/// - **C4** `elementUpdates` has the old and new paths of kept elements in kept sections whose
///   content differs, moved or not.
/// - **C5** To apply the change, remove element deletions and origins of element moves, then
///   deleted sections and origins of section moves. Insert inserted sections and destinations of
///   section moves by ascending new offset. Then insert element insertions and destinations of
///   element moves by ascending new path. Finally, write the updates at their new offsets and
///   paths.
/// - **C8** Duplicates are allowed. Sections, and the elements of each pair of sections, are paired
///   like the elements of a changeset. The remaining elements of kept sections are paired across
///   sections. For each identity, the first is paired with the first, the second with the second.
///   No other pairing keeps more elements, or more elements in their section.
public struct SectionedChangeset: Sendable, Hashable {
  /// An element that moved from one path to another.
  public struct Move: Sendable, Hashable {
    /// The path in the old version.
    public let from: Path
    /// The path in the new version.
    public let to: Path

    /// Creates a move.
    @inlinable
    public init(from: Path, to: Path) {
      self.from = from
      self.to = to
    }
  }

  /// A kept element whose content differs.
  public struct Update: Sendable, Hashable {
    /// The path in the old version.
    public let from: Path
    /// The path in the new version.
    public let to: Path

    /// Creates an update.
    @inlinable
    public init(from: Path, to: Path) {
      self.from = from
      self.to = to
    }
  }

  /// The change of the sections themselves.
  public let sections: Changeset

  /// The paths in the old version of elements that left kept sections, ascending.
  public let elementDeletions: [Path]

  /// The paths in the new version of elements that entered kept sections, ascending.
  public let elementInsertions: [Path]

  /// The elements that left their section or its order, by ascending path in the new version.
  public let elementMoves: [Move]

  /// The kept elements whose content differs, moved or not, by ascending path in the new version.
  public let elementUpdates: [Update]

  /// The empty changeset.
  public static let empty = SectionedChangeset()

  /// Creates a changeset from offsets.
  ///
  /// Order and disjointness are checked in debug builds.
  ///
  /// - Parameters:
  ///   - sections: The change of the sections themselves.
  ///   - elementDeletions: Paths in the old version, ascending.
  ///   - elementInsertions: Paths in the new version, ascending.
  ///   - elementMoves: The moved elements, by ascending destination. No origin is a deletion, and
  ///     no destination is an insertion.
  ///   - elementUpdates: The updated elements, by ascending path in the new version.
  public init(
    sections: Changeset = .empty, elementDeletions: [Path] = [],
    elementInsertions: [Path] = [], elementMoves: [Move] = [],
    elementUpdates: [Update] = []
  ) {
    self.sections = sections
    self.elementDeletions = elementDeletions
    self.elementInsertions = elementInsertions
    self.elementMoves = elementMoves
    self.elementUpdates = elementUpdates
    assert(orderViolation == nil, "\(self) is not valid: \(orderViolation ?? "")")
  }

  /// Creates the change of the elements of a single section.
  ///
  /// - Parameters:
  ///   - elements: The change of the elements.
  ///   - section: The offset of the section in both versions.
  /// - Complexity: O(*k*) in the offsets.
  package init(elements: Changeset, inSection section: Int = 0) {
    func path(_ element: Int) -> Path { Path(section: section, element: element) }
    self.init(
      elementDeletions: elements.deletions.map(path),
      elementInsertions: elements.insertions.map(path),
      elementMoves: elements.moves.map { Move(from: path($0.from), to: path($0.to)) },
      elementUpdates: elements.updates.map { Update(from: path($0.from), to: path($0.to)) })
  }
}

extension SectionedChangeset {
  /// A Boolean value that indicates whether nothing has changed.
  public var isEmpty: Bool { sections.isEmpty && hasNoElements }

  /// The number of operations on sections and elements.
  public var changeCount: Int {
    sections.changeCount + elementDeletions.count + elementInsertions.count + elementMoves.count
      + elementUpdates.count
  }

  /// The change from the new version back to the old one.
  ///
  /// - Complexity: O(*k* log *k*) in the *k* offsets.
  public var inverse: SectionedChangeset {
    SectionedChangeset(
      sections: sections.inverse, elementDeletions: elementInsertions,
      elementInsertions: elementDeletions,
      elementMoves: elementMoves.map { Move(from: $0.to, to: $0.from) }.sorted { $0.to < $1.to },
      elementUpdates: elementUpdates.map { Update(from: $0.to, to: $0.from) }
        .sorted { $0.to < $1.to })
  }

  /// A Boolean value that indicates whether no element has changed.
  var hasNoElements: Bool {
    elementDeletions.isEmpty && elementInsertions.isEmpty && elementMoves.isEmpty
      && elementUpdates.isEmpty
  }
}

extension SectionedChangeset: CustomStringConvertible {
  /// The parts that are not empty, for example `SectionedChangeset(elementMoves: [0.1->2.0])`.
  public var description: String {
    var parts: [String] = []
    func list(_ values: [String]) -> String { "[\(values.joined(separator: ", "))]" }
    if !sections.isEmpty { parts.append("sections: \(sections)") }
    if !elementDeletions.isEmpty {
      parts.append("elementDeletions: \(elementDeletions)")
    }
    if !elementInsertions.isEmpty {
      parts.append("elementInsertions: \(elementInsertions)")
    }
    if !elementMoves.isEmpty {
      parts.append("elementMoves: \(list(elementMoves.map { "\($0.from)->\($0.to)" }))")
    }
    if !elementUpdates.isEmpty {
      parts.append("elementUpdates: \(list(elementUpdates.map { "\($0.from)->\($0.to)" }))")
    }
    return "SectionedChangeset(\(parts.joined(separator: ", ")))"
  }
}

extension SectionedChangeset {
  /// The position of an element in a collection of sections.
  ///
  /// ```swift
  /// let path = SectionedChangeset.Path(section: 2, element: 0)
  /// let row = sections[path.section].elements[path.element]
  /// ```
  public struct Path: Sendable, Hashable {
    /// The offset of the section.
    public var section: Int

    /// The offset of the element within its section.
    public var element: Int

    /// Creates a path.
    ///
    /// - Parameters:
    ///   - section: The offset of the section.
    ///   - element: The offset of the element within its section.
    @inlinable
    public init(section: Int, element: Int) {
      self.section = section
      self.element = element
    }
  }
}

extension SectionedChangeset.Path: Comparable {
  /// Returns whether one path comes before another, by section and then by element.
  @inlinable
  public static func < (lhs: Self, rhs: Self) -> Bool {
    lhs.section == rhs.section ? lhs.element < rhs.element : lhs.section < rhs.section
  }
}

extension SectionedChangeset.Path: CustomStringConvertible {
  /// The section and the element, for example `2.0`.
  public var description: String { "\(section).\(element)" }
}

extension SectionedChangeset {
  /// A violation of order or disjointness, which does not depend on the counts.
  package var orderViolation: String? {
    if let pair = elementDeletions.firstDescent {
      return "C1: the element deletions \(pair.0) and \(pair.1) are not in ascending order"
    }
    if let pair = elementInsertions.firstDescent {
      return "C2: the element insertions \(pair.0) and \(pair.1) are not in ascending order"
    }
    if !elementMoves.isEmpty {
      if let pair = elementMoves.map(\.to).firstDescent {
        return "C3: the element moves to \(pair.0) and \(pair.1) are not in ascending order"
      }
      if let pair = (elementDeletions + elementMoves.map(\.from)).sorted().firstDescent {
        return "C3: the element at \(pair.0) is removed twice"
      }
      if let pair = (elementInsertions + elementMoves.map(\.to)).sorted().firstDescent {
        return "C3: two elements are inserted at \(pair.0)"
      }
    }
    if let pair = elementUpdates.map(\.to).firstDescent {
      return "C4: the element updates to \(pair.0) and \(pair.1) are not in ascending order"
    }
    return nil
  }
}
