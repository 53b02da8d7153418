public import Diffing
import SwappablePrimitives

/// A list of sections for a view. Changes of the list are proposed first, and then committed.
///
///     let albums = SectionedListDataSource<Album>()
///     albums.proposalHandler = { [unowned albums, unowned tableView] proposal in
///       albums.commit(proposal, to: tableView)
///     }
///     albums.propose(newAlbums)
///
/// The view reads counts, sections and items from the list. Only a commit changes the list, inside
/// the batches of the view.
@MainActor
public final class SectionedListDataSource<Section: DifferentiableSection> {
  /// The type of the items in a section.
  public typealias Item = Section.Elements.Element

  /// The sections that the view shows.
  public private(set) var sections: [Section]

  /// A closure that is called with each proposal. It can commit the proposal.
  public var proposalHandler: (@MainActor (Proposal) -> Void)?

  private var proposalCount = 0

  /// Creates a list.
  ///
  /// - Parameter sections: The first sections. The view shows them after `reloadData()`.
  public init(_ sections: [Section] = []) {
    self.sections = sections
  }
}

extension SectionedListDataSource {
  /// The number of sections.
  public var sectionCount: Int { sections.count }

  /// Returns the number of items in a section.
  ///
  /// - Parameter section: The offset of the section.
  /// - Returns: The number of items, or 0 if the offset is out of range.
  public func itemCount(inSection section: Int) -> Int {
    self.section(at: section)?.elements.count ?? 0
  }

  /// Returns a section.
  ///
  /// - Parameter offset: The offset of the section.
  /// - Returns: The section, or `nil` if the offset is out of range.
  public func section(at offset: Int) -> Section? {
    sections.indices.contains(offset) ? sections[offset] : nil
  }

  /// Returns an item.
  ///
  /// - Parameter path: The path of the item.
  /// - Returns: The item, or `nil` if the path is out of range.
  /// - Complexity: O(1) if the elements of the section are an array.
  public func item(at path: SectionedChangeset.Path) -> Item? {
    guard let elements = section(at: path.section)?.elements,
      path.element >= 0, path.element < elements.count
    else { return nil }
    return elements[elements.index(elements.startIndex, offsetBy: path.element)]
  }
}

extension SectionedListDataSource {
  /// Returns a proposal without changing anything.
  ///
  /// - Parameter sections: The proposed sections.
  /// - Returns: A proposal that you can commit or drop.
  public func makeProposal(for sections: [Section]) -> Proposal {
    Self.makeProposal(from: self.sections, to: sections)
  }

  /// Returns a proposal for any two versions. You can call this method on any thread.
  ///
  /// - Parameters:
  ///   - old: The current sections.
  ///   - new: The proposed sections.
  /// - Returns: A proposal that you can commit or drop.
  public nonisolated static func makeProposal(
    from old: [Section], to new: [Section]
  ) -> Proposal {
    Proposal(from: old, to: new)
  }

  /// Calls the ``proposalHandler`` with a proposal, unless nothing would change.
  ///
  /// - Parameter sections: The proposed sections.
  public func propose(_ sections: [Section]) {
    proposalCount += 1
    let proposal = makeProposal(for: sections)
    if !proposal.isEmpty { proposalHandler?(proposal) }
  }
}

extension SectionedListDataSource where Section: Sendable {
  /// Calls the ``proposalHandler`` with a proposal that is computed off the main actor.
  ///
  /// The handler is not called if nothing would change. If there is a later proposal before this
  /// one is ready, this one is dropped.
  ///
  /// - Parameter sections: The proposed sections.
  public func proposeConcurrently(_ sections: [Section]) async {
    proposalCount += 1
    let count = proposalCount
    let proposal = await Self.proposal(from: self.sections, to: sections)
    if count == proposalCount, !proposal.isEmpty { proposalHandler?(proposal) }
  }

  @concurrent
  private nonisolated static func proposal(
    from old: [Section], to new: [Section]
  ) async -> Proposal {
    makeProposal(from: old, to: new)
  }
}

extension SectionedListDataSource {
  /// Commits a proposal: changes the sections inside the batches of the view.
  ///
  /// If the sections have changed since the proposal was made, they are compared with the proposed
  /// sections again. The view always shows the proposed sections. A commit inside another commit to
  /// the same view begins after it.
  ///
  /// - Parameters:
  ///   - proposal: The proposal.
  ///   - view: The view of this list, which must always be the same.
  ///   - completion: A closure that is called once: after the last batch, or immediately if there
  ///     is no batch or if `interrupt` returns `true`. It receives `false` if a batch was cut short
  ///     or the view was released.
  ///   - interrupt: A closure that is called before each batch. If it returns `true`, the view
  ///     shows the new sections immediately, without animation.
  public func commit(
    _ proposal: Proposal, to view: some BatchUpdatingSectionedListView,
    completion: @escaping @MainActor (_ isFinished: Bool) -> Void = { _ in },
    interrupt: @escaping @MainActor (SectionedChangeset) -> Bool = { _ in false }
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

  /// Commits a proposal, and waits for the last batch.
  ///
  /// - Parameters:
  ///   - proposal: The proposal.
  ///   - view: The view of this list, which must always be the same.
  ///   - interrupt: A closure that is called before each batch. If it returns `true`, the view
  ///     shows the new sections immediately, without animation.
  /// - Returns: `false` if a batch was cut short or the view was released, or at once if the calling task is
  ///   canceled. In that case, the commit continues.
  @discardableResult
  public func commitAndFinish(
    _ proposal: Proposal, to view: some BatchUpdatingSectionedListView,
    interrupt: @escaping @MainActor (SectionedChangeset) -> Bool = { _ in false }
  ) async -> Bool {
    await awaitCallback { callback in
      commit(proposal, to: view, completion: { callback($0) }, interrupt: interrupt)
    } ?? false
  }
}

extension SectionedListDataSource {
  /// Proposed sections for a list, and the change that leads to them.
  ///
  /// A proposal changes nothing. You can commit it even if the list has changed in the meantime; see
  /// ``SectionedListDataSource/commit(_:to:completion:interrupt:)``.
  public struct Proposal {
    /// The sections of the list when the proposal was made.
    package let origin: [Section]

    /// The proposed sections.
    public let sections: [Section]

    /// The change from the sections of the list to the proposed ones.
    public let changeset: SectionedChangeset

    /// The change in stages, each of which a view can perform as one batch.
    package let stages: StagedChangeset<Section, SectionedChangeset>

    /// A Boolean value that indicates whether nothing changes.
    public var isEmpty: Bool { changeset.isEmpty }

    /// Creates a proposal.
    ///
    /// - Parameters:
    ///   - origin: The current sections.
    ///   - sections: The proposed sections.
    /// - Complexity: The complexity of the difference, and O(*n*) for each stage.
    init(from origin: [Section], to sections: [Section]) {
      self.origin = origin
      self.sections = sections
      changeset = SectionedChangeset(from: origin, to: sections)
      stages = StagedChangeset(changeset, from: origin, to: sections)
    }

    /// Returns a Boolean value that indicates whether the proposal was made from equal sections.
    ///
    /// - Complexity: O(*n*), or O(1) if both share their storage.
    func begins(with present: [Section]) -> Bool {
      origin.hasSameContents(as: present)
        && zip(origin, present).allSatisfy { $0.elements.hasSameContents(as: $1.elements) }
    }
  }
}

extension SectionedListDataSource.Proposal: Sendable where Section: Sendable {}
