public import Diffing

/// The sections of items that a view shows, which are proposed first, and then committed.
///
/// They change inside of the view's batch.
///
///     let albums = SectionedListDataSource<Album>()
///     albums.proposalHandler = { [unowned albums, unowned tableView] proposal in
///       albums.commit(proposal, to: tableView)
///     }
///     albums.propose(newAlbums)
///
/// A view asks it for counts, sections and items; what is out of range is nil. Only a commit changes
/// what it says, and only where the view's batch expects it.
@MainActor
public final class SectionedListDataSource<Section: DifferentiableSection> {
  /// What a section holds.
  public typealias Item = Section.Elements.Element

  /// The sections that are shown.
  public private(set) var sections: [Section]

  /// Called with what is proposed: shows it, if it is to be shown.
  public var proposalHandler: (@MainActor (ProposedSections<Section>) -> Void)?

  /// How many proposals were begun.
  private var proposalCount = 0

  /// Makes a list.
  ///
  /// - Parameter sections: What it holds at first; a view shows that by `reloadData()`.
  public init(_ sections: [Section] = []) {
    self.sections = sections
  }
}

extension SectionedListDataSource {
  /// The number of sections.
  public var sectionCount: Int { sections.count }

  /// The number of items in a section.
  ///
  /// - Parameter section: The section's offset.
  /// - Returns: The number; zero where there is no such section.
  public func itemCount(inSection section: Int) -> Int {
    self.section(at: section)?.elements.count ?? 0
  }

  /// A section.
  ///
  /// - Parameter offset: The section's offset.
  /// - Returns: The section; nil where there is none.
  public func section(at offset: Int) -> Section? {
    sections.indices.contains(offset) ? sections[offset] : nil
  }

  /// An item.
  ///
  /// - Parameter path: Where it stands.
  /// - Returns: The item; nil where there is none.
  /// - Complexity: O(1) where the section's elements are an array.
  public func item(at path: ElementPath) -> Item? {
    guard let elements = section(at: path.section)?.elements,
      path.element >= 0, path.element < elements.count
    else { return nil }
    return elements[elements.index(elements.startIndex, offsetBy: path.element)]
  }
}

extension SectionedListDataSource {
  /// Finds what would change, without changing anything.
  ///
  /// - Parameter sections: The sections as they are to be.
  /// - Returns: The proposal, to be committed or dropped.
  public func makeChanges(to sections: [Section]) -> ProposedSections<Section> {
    Self.makeChanges(from: self.sections, to: sections)
  }

  /// Finds what would change between any two versions, on any thread.
  ///
  /// - Parameters:
  ///   - old: The sections as they are.
  ///   - new: The sections as they are to be.
  /// - Returns: The proposal, to be committed or dropped.
  public nonisolated static func makeChanges(
    from old: [Section], to new: [Section]
  ) -> ProposedSections<Section> {
    ProposedSections(from: old, to: new)
  }

  /// Proposes other sections to the ``proposalHandler``, unless nothing would change.
  ///
  /// - Parameter sections: The sections as they are to be.
  public func propose(_ sections: [Section]) {
    proposalCount += 1
    let proposal = makeChanges(to: sections)
    if !proposal.isEmpty { proposalHandler?(proposal) }
  }
}

extension SectionedListDataSource where Section: Sendable {
  /// Proposes other sections to the ``proposalHandler``, compared off the main actor.
  ///
  /// Nothing is proposed where nothing would change. The proposal is dropped if others are proposed before it is ready, so that the latest come last.
  ///
  /// - Parameter sections: The sections as they are to be.
  public func proposeConcurrently(_ sections: [Section]) async {
    proposalCount += 1
    let count = proposalCount
    let proposal = await Self.changes(from: self.sections, to: sections)
    if count == proposalCount, !proposal.isEmpty { proposalHandler?(proposal) }
  }

  @concurrent
  private nonisolated static func changes(
    from old: [Section], to new: [Section]
  ) async -> ProposedSections<Section> {
    makeChanges(from: old, to: new)
  }
}

extension SectionedListDataSource {
  /// Shows what was proposed: the sections change inside the view's batches.
  ///
  /// A proposal that was made from other contents than those shown by now is compared with these anew,
  /// so that what it proposes is shown in any case. A commit during another one to the same view is done
  /// behind it.
  ///
  /// - Parameters:
  ///   - proposal: The sections as they are to be.
  ///   - view: What shows this list: always the same view.
  ///   - interrupt: Asked before each batch: true shows the sections at once, without animation.
  ///   - completion: Called once when the last batch is done, or at once where there is none or where
  ///     `interrupt` says so; with false where a batch was cut short, or the view was let go of.
  public func commit(
    _ proposal: ProposedSections<Section>, to view: some BatchUpdatingSectionedListView,
    interrupt: @escaping @MainActor (SectionedChangeset) -> Bool = { _ in false },
    completion: @escaping @MainActor (_ isFinished: Bool) -> Void = { _ in }
  ) {
    StagedReload(
      stages: { [self] in
        proposal.begins(with: sections)
          ? proposal.stages : StagedChangeset(from: sections, to: proposal.sections)
      },
      perform: { view.perform($0) }, interrupt: { change, _ in interrupt(change) },
      setData: { [self] in sections = $0 }, completion: completion
    ).start(on: view)
  }

  /// Shows what was proposed, and waits until the last batch is done.
  ///
  /// - Parameters:
  ///   - proposal: The sections as they are to be.
  ///   - view: What shows this list: always the same view.
  ///   - interrupt: Asked before each batch: true shows the sections at once, without animation.
  /// - Returns: False where a batch was cut short, or the view was let go of.
  @discardableResult
  public func commit(
    _ proposal: ProposedSections<Section>, to view: some BatchUpdatingSectionedListView,
    interrupt: @escaping @MainActor (SectionedChangeset) -> Bool = { _ in false }
  ) async -> Bool {
    await withCheckedContinuation { continuation in
      commit(proposal, to: view, interrupt: interrupt) { continuation.resume(returning: $0) }
    }
  }
}
