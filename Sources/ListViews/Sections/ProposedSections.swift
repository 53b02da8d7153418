public import Diffing

/// Other sections for a list, and how to get there from the ones that it was made from.
///
/// It changes nothing by itself, and stays right whatever becomes of the list meanwhile: see
/// ``SectionedListDataSource/commit(_:to:interrupt:completion:)``.
public struct ProposedSections<Section: DifferentiableSection> {
  /// The sections that it was made from.
  public let origin: [Section]

  /// The sections that it proposes.
  public let sections: [Section]

  /// What changes.
  public let changeset: SectionedChangeset

  /// The same change in stages, each of which a view may perform at once.
  public let stages: StagedChangeset<Section, SectionedChangeset>

  /// Whether nothing changes.
  public var isEmpty: Bool { changeset.isEmpty }

  /// Finds what changes.
  ///
  /// - Parameters:
  ///   - origin: The sections as they are.
  ///   - sections: The sections as they are to be.
  /// - Complexity: That of the difference, and O(*n*) for each stage.
  init(from origin: [Section], to sections: [Section]) {
    self.origin = origin
    self.sections = sections
    changeset = SectionedChangeset(from: origin, to: sections)
    stages = StagedChangeset(changeset, from: origin, to: sections)
  }

  /// Whether it begins with sections of these identities and contents.
  ///
  /// - Complexity: O(*n*), and O(1) where both share their storage.
  func begins(with present: [Section]) -> Bool {
    haveSameContents(origin, present)
      && zip(origin, present).allSatisfy { haveSameContents($0.elements, $1.elements) }
  }
}

extension ProposedSections: Sendable where Section: Sendable {}
