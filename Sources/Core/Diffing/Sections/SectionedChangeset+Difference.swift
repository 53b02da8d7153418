extension SectionedChangeset {
  /// Creates the difference between two versions of a collection of sections.
  ///
  /// Sections and elements are recognized by identity. An element is searched in its own section
  /// first, and then in the other kept sections. Rule C8 of this type covers duplicates.
  ///
  /// ```swift
  /// let change = SectionedChangeset(from: oldSections, to: newSections)
  /// ```
  ///
  /// - Parameters:
  ///   - old: The earlier version.
  ///   - new: The later version.
  /// - Complexity: O(*n*) in all sections and elements if the kept ones are in order, otherwise
  ///   O(*n* + *k* log *k*) for *k* segments of consecutive elements. If both versions of a
  ///   section share the storage of their elements, these are not compared. Only deletions and
  ///   insertions of a section's own difference are searched in other sections.
  @inlinable
  public init<Section: DifferentiableSection>(
    from old: some Collection<Section>, to new: some Collection<Section>
  ) {
    let old = Array(old)
    let new = Array(new)
    let sections = Changeset(
      from: old.map { SectionHeading($0) }, to: new.map { SectionHeading($0) })
    let inStep =
      sections.deletions.isEmpty && sections.insertions.isEmpty && sections.moves.isEmpty
    let origins = inStep ? nil : sections.origins(oldCount: old.count)
    var parts: [SectionDifference] = []
    for target in new.indices {
      let origin = origins?[target] ?? target
      guard origin >= 0 else { continue }
      let before = old[origin].elements
      let after = new[target].elements
      if before.sharesStorage(with: after) { continue }
      let elements = Changeset(from: before, to: after)
      if elements.isEmpty { continue }
      parts.append(SectionDifference(from: origin, to: target, elements: elements))
    }
    let unpaired = UnpairedElements(of: parts)
    let crossings =
      unpaired.mayCross ? unpaired.crossings(from: old, to: new) : []
    self.init(sections: sections, parts: parts, unpaired: unpaired, crossings: crossings)
  }

  /// Creates a changeset from the differences of kept sections and the moves between them.
  @usableFromInline
  init(
    sections: Changeset, parts: [SectionDifference], unpaired: UnpairedElements,
    crossings: [Crossing]
  ) {
    var moves: [Move] = []
    var updates: [Update] = []
    for part in parts {
      for move in part.elements.moves {
        moves.append(Move(from: part.oldPath(move.from), to: part.newPath(move.to)))
      }
      for update in part.elements.updates {
        updates.append(Update(from: part.oldPath(update.from), to: part.newPath(update.to)))
      }
    }
    var deletions = unpaired.deletions
    var insertions = unpaired.insertions
    if !crossings.isEmpty {
      var crossed: [Move] = []
      var crossedUpdates: [Update] = []
      let left = BitSet(count: deletions.count)
      let entered = BitSet(count: insertions.count)
      for crossing in crossings {
        let from = deletions[crossing.deletion]
        let to = insertions[crossing.insertion]
        left.insert(crossing.deletion)
        entered.insert(crossing.insertion)
        crossed.append(Move(from: from, to: to))
        if crossing.isUpdated { crossedUpdates.append(Update(from: from, to: to)) }
      }
      moves = moves.merged(with: crossed) { $0.to < $1.to }
      updates = updates.merged(with: crossedUpdates) { $0.to < $1.to }
      deletions = left.missing(count: deletions.count - crossings.count).map { deletions[$0] }
      insertions = entered.missing(count: insertions.count - crossings.count).map { insertions[$0] }
    }
    self.init(
      sections: sections, elementDeletions: deletions, elementInsertions: insertions,
      elementMoves: moves, elementUpdates: updates)
  }
}

/// The difference of the elements of a kept section.
@usableFromInline
struct SectionDifference {
  let from: Int
  let to: Int
  let elements: Changeset

  @usableFromInline
  init(from: Int, to: Int, elements: Changeset) {
    self.from = from
    self.to = to
    self.elements = elements
  }

  func oldPath(_ element: Int) -> SectionedChangeset.Path {
    SectionedChangeset.Path(section: from, element: element)
  }
  func newPath(_ element: Int) -> SectionedChangeset.Path {
    SectionedChangeset.Path(section: to, element: element)
  }
}

/// An element that moved from one section to another, as positions in `UnpairedElements`.
@usableFromInline
struct Crossing {
  let deletion: Int
  let insertion: Int
  let isUpdated: Bool

  @usableFromInline
  init(deletion: Int, insertion: Int, isUpdated: Bool) {
    self.deletion = deletion
    self.insertion = insertion
    self.isUpdated = isUpdated
  }
}

/// The deletions and insertions in the differences of all sections.
@usableFromInline
struct UnpairedElements {
  /// The deletions, by ascending path in the old version.
  @usableFromInline let deletions: [SectionedChangeset.Path]
  /// The insertions, by ascending path in the new version.
  @usableFromInline let insertions: [SectionedChangeset.Path]
  /// A Boolean value that indicates whether one section has a deletion and another section has an
  /// insertion.
  ///
  /// Inside one section, no deletion has the identity of an insertion.
  @usableFromInline let mayCross: Bool

  /// Collects the deletions and insertions of sections.
  ///
  /// - Parameter parts: The changed sections, by ascending offset in the new version.
  @usableFromInline
  init(of parts: [SectionDifference]) {
    let byOrigin =
      zip(parts, parts.dropFirst()).allSatisfy { $0.from < $1.from }
      ? parts : parts.sorted { $0.from < $1.from }
    deletions = byOrigin.flatMap { part in part.elements.deletions.map { part.oldPath($0) } }
    insertions = parts.flatMap { part in part.elements.insertions.map { part.newPath($0) } }
    let from = parts.filter { !$0.elements.deletions.isEmpty }
    let to = parts.filter { !$0.elements.insertions.isEmpty }
    mayCross =
      !from.isEmpty && !to.isEmpty
      && (from.count > 1 || to.count > 1 || from[0].to != to[0].to)
  }

  /// Returns the elements that moved from one section to another, by ascending path in the new
  /// version.
  @inlinable
  func crossings<Section: DifferentiableSection>(
    from old: [Section], to new: [Section]
  ) -> [Crossing] {
    let before = Self.elements(of: old, at: deletions)
    let after = Self.elements(of: new, at: insertions)
    var crossings: [Crossing] = []
    IdentityTable.pair(
      oldCount: before.count, newCount: after.count,
      old: { before[$0].differenceIdentifier }, new: { after[$0].differenceIdentifier }
    ) { deletion, insertion in
      crossings.append(
        Crossing(
          deletion: deletion, insertion: insertion,
          isUpdated: !after[insertion].hasSameContent(as: before[deletion])))
    }
    return crossings
  }

  /// Returns the elements at ascending paths.
  @inlinable
  static func elements<Section: DifferentiableSection>(
    of sections: [Section], at paths: [SectionedChangeset.Path]
  ) -> [Section.Elements.Element] {
    var result: [Section.Elements.Element] = []
    result.reserveCapacity(paths.count)
    var next = 0
    while next < paths.count {
      let section = paths[next].section
      let elements = sections[section].elements
      var index = elements.startIndex
      var position = 0
      while next < paths.count && paths[next].section == section {
        elements.formIndex(&index, offsetBy: paths[next].element - position)
        position = paths[next].element
        result.append(elements[index])
        next += 1
      }
    }
    return result
  }
}

extension Collection {
  /// Returns a Boolean value that indicates whether another collection has the same memory, and
  /// therefore the same elements.
  @inlinable
  func sharesStorage(with other: some Collection<Element>) -> Bool {
    let share = withContiguousStorageIfAvailable { mine in
      other.withContiguousStorageIfAvailable { other in
        mine.baseAddress == other.baseAddress && mine.count == other.count
      }
    }
    return (share ?? nil) ?? false
  }
}
