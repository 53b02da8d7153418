public import Diffing
public import ReactiveSignals

/// A source of a list in sections.
public typealias SectionedDataSource<
  Key: Hashable & Sendable, Item: Differentiable & Sendable
> = DataSource<ListSection<Key, Item>>

/// An event that an observer of sections receives: `initial` once and first, then only `change`.
public enum SectionedEvent<
  Key: Hashable & Sendable, Element: Differentiable & Sendable
>: Sendable {
  /// The sections when the observation begins, even if there are none.
  case initial(Snapshot<ListSection<Key, Element>>, revision: Int)
  /// The change since the previous event.
  case change(SectionedChange<Key, Element>)

  /// The sections after this event.
  public var sections: Snapshot<ListSection<Key, Element>> {
    switch self {
    case .initial(let sections, _): sections
    case .change(let change): change.after
    }
  }

  /// Creates the event of sections from that of a collection of sections.
  init(_ event: CollectionEvent<ListSection<Key, Element>>) {
    switch event {
    case .initial(let sections, let revision): self = .initial(sections, revision: revision)
    case .change(let change): self = .change(SectionedChange(change))
    }
  }
}

/// A change of sections and of their elements, with the sections before and after it.
public struct SectionedChange<
  Key: Hashable & Sendable, Element: Differentiable & Sendable
>: Sendable {
  /// The sections before the change, which the previous event delivered.
  public let before: Snapshot<ListSection<Key, Element>>
  /// The sections after the change.
  public let after: Snapshot<ListSection<Key, Element>>
  /// The revision of the previous event.
  public let revisionBefore: Int
  /// The revision after the change.
  public let revision: Int
  /// The change of the sections and the elements, as offsets before and after it.
  public let changeset: SectionedChangeset

  /// Creates the change of sections from that of a collection of sections.
  ///
  /// - Complexity: O(k log k) for k changed elements. If several changes were merged, the elements of each changed
  ///   section are compared. Parts that are shared in memory are not read.
  public init(_ change: CollectionChange<ListSection<Key, Element>>) {
    (before, after) = (change.before, change.after)
    (revisionBefore, revision) = (change.revisionBefore, change.revision)
    changeset = SectionedChangeset(change.changeset, from: change.before, to: change.after)
  }
}

extension SectionedChangeset {
  /// Creates the changeset of sections and elements from that of sections whose elements are their content.
  init<Key, Element>(
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

extension DataSource {
  /// Observes sections: first all of them, and then each change of sections and elements.
  ///
  ///     let observation = todos.sections(by: \.project).observeSections { event in … }
  ///
  /// An element whose key changes moves from one section to another. A section that becomes empty disappears in the
  /// same change.
  ///
  /// - Parameters:
  ///   - scheduler: Where to call the observer. The default, `.immediate`, calls it on the thread that edits.
  ///   - policy: How to buffer changes for an observer that is not called immediately. By default, all
  ///     changes that wait become one.
  ///   - handler: The observer. It is never called concurrently with itself.
  /// - Returns: A handle that keeps the observation and everything upstream alive. Releasing it ends the
  ///   observation.
  public func observeSections<Key, Item>(
    on scheduler: Scheduler = .immediate, policy: DeliveryPolicy = .coalesce,
    _ handler: @escaping @Sendable (SectionedEvent<Key, Item>) -> Void
  ) -> Disposable where Element == ListSection<Key, Item> {
    observe(on: scheduler, policy: policy) { handler(SectionedEvent($0)) }
  }
}
