/// What changed between two versions of a collection of sections, as simultaneous offsets.
///
/// It carries neither sections nor elements, and means nothing without the two versions that it was
/// made from.
///
/// ```swift
/// let old = [ArraySection(model: "a", elements: [1, 2]), ArraySection(model: "b", elements: [3])]
/// let new = [ArraySection(model: "b", elements: [3, 1]), ArraySection(model: "a", elements: [2])]
/// let change = SectionedChangeset(from: old, to: new)
/// // sections.moves: [1->0], elementMoves: [0.0->0.1]
/// ```
///
/// A section or an element is *kept* where it is found in both versions. The rules of a changeset hold
/// for `sections` as they stand, and for elements thus:
///
/// - **C1** `elementDeletions`: paths in the OLD version, ascending, of elements that left a section
///   that was kept. What went with a deleted section is not listed. What left a kept section for an
///   inserted one is a deletion.
/// - **C2** `elementInsertions`: paths in the NEW version, ascending, of elements that came to a section
///   that was kept. What came with an inserted section is not listed. What came to a kept section out
///   of a deleted one is an insertion.
/// - **C3** `elementMoves`: (path in OLD, path in NEW) of elements that came from one kept section to
///   another, all of them, and of those that left the order of the rest in their own, no more than
///   must. What a section carries along when it moves itself does not move. Disjoint from deletions and
///   insertions.
/// - **C4** `elementUpdates`: (path in OLD, path in NEW) of elements of which C1 to C3 leave one in each
///   version, in kept sections both, and whose content differs; moved or not.
/// - **C5** Applying: take element deletions and origins of element moves out, then deleted sections and
///   origins of section moves; put inserted sections and destinations of section moves in by ascending
///   NEW offset, then element insertions and destinations by ascending NEW path; write updates at their
///   NEW offset or path.
/// - **C8** Duplicates are legal. Sections are paired as the elements of a changeset are. The elements of
///   each pair of sections are paired as those of a changeset are; what that leaves in kept sections is
///   paired across sections, of each identity the first with the first, the second with the second. No
///   other pairing keeps more elements, or more of them in their section.
public struct SectionedChangeset: Sendable, Hashable {
  /// An element that came from one path to another.
  public struct Move: Sendable, Hashable {
    /// The path in the old version.
    public let from: ElementPath
    /// The path in the new version.
    public let to: ElementPath

    /// Creates a move.
    @inlinable
    public init(from: ElementPath, to: ElementPath) {
      self.from = from
      self.to = to
    }
  }

  /// An element that was kept, whose content differs.
  public struct Update: Sendable, Hashable {
    /// The path in the old version.
    public let from: ElementPath
    /// The path in the new version.
    public let to: ElementPath

    /// Creates an update.
    @inlinable
    public init(from: ElementPath, to: ElementPath) {
      self.from = from
      self.to = to
    }
  }

  /// What happened to the sections themselves.
  public let sections: Changeset

  /// Paths in the old version of what is gone from sections that were kept, ascending.
  public let elementDeletions: [ElementPath]

  /// Paths in the new version of what came to sections that were kept, ascending.
  public let elementInsertions: [ElementPath]

  /// What left its section or the order of the rest in it, by ascending path in the new version.
  public let elementMoves: [Move]

  /// What was kept and whose content differs, moved or not, by ascending path in the new version.
  public let elementUpdates: [Update]

  /// The changeset that changes nothing.
  public static let empty = SectionedChangeset()

  /// Creates a changeset from offsets.
  ///
  /// Order and disjointness are checked in debug builds.
  ///
  /// - Parameters:
  ///   - sections: What happened to the sections themselves.
  ///   - elementDeletions: Paths in the old version, ascending.
  ///   - elementInsertions: Paths in the new version, ascending.
  ///   - elementMoves: Kept elements, by ascending destination; no origin is a deletion, no destination
  ///     an insertion.
  ///   - elementUpdates: Kept elements, by ascending path in the new version.
  public init(
    sections: Changeset = .empty, elementDeletions: [ElementPath] = [],
    elementInsertions: [ElementPath] = [], elementMoves: [Move] = [],
    elementUpdates: [Update] = []
  ) {
    self.sections = sections
    self.elementDeletions = elementDeletions
    self.elementInsertions = elementInsertions
    self.elementMoves = elementMoves
    self.elementUpdates = elementUpdates
    assert(orderViolation == nil, "\(self) is no changeset: \(orderViolation ?? "")")
  }

  /// Creates the change of a single section's elements.
  ///
  /// - Parameters:
  ///   - elements: What happened to the elements.
  ///   - section: The offset of the section, in both versions.
  /// - Complexity: O(*k*) in the offsets.
  public init(elements: Changeset, inSection section: Int = 0) {
    func path(_ element: Int) -> ElementPath { ElementPath(section: section, element: element) }
    self.init(
      elementDeletions: elements.deletions.map(path),
      elementInsertions: elements.insertions.map(path),
      elementMoves: elements.moves.map { Move(from: path($0.from), to: path($0.to)) },
      elementUpdates: elements.updates.map { Update(from: path($0.from), to: path($0.to)) })
  }
}

extension SectionedChangeset {
  /// Tells whether nothing changed.
  public var isEmpty: Bool { sections.isEmpty && hasNoElements }

  /// How many operations there are, of sections and of elements.
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

  /// Tells whether nothing happened to an element.
  var hasNoElements: Bool {
    elementDeletions.isEmpty && elementInsertions.isEmpty && elementMoves.isEmpty
      && elementUpdates.isEmpty
  }
}

extension SectionedChangeset: CustomStringConvertible {
  /// The parts that are not empty.
  ///
  /// For example `SectionedChangeset(sections: Changeset(deletions: [1]), elementMoves: [0.1->2.0])`.
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
