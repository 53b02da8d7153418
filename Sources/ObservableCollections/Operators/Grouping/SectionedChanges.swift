public import Diffing

extension CollectionChange {
  /// The change of sections and of their elements.
  ///
  ///     let observation = todos.sections(by: \.project).observe { event in
  ///       if case .change(let change) = event { print(change.sectionedChangeset()) }
  ///     }
  ///
  /// An element whose key changes moves from one section to another. A section that becomes empty is deleted by the
  /// same change, with its elements, and a new section is inserted with its elements.
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
