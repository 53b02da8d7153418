extension SectionedChangeset {
  /// Finds what changed between two versions of a collection of sections.
  ///
  /// Sections are recognised by identity, and so are elements, in their own section first, then in the
  /// others that were kept. Rule C8 of this type says what becomes of duplicates.
  ///
  /// ```swift
  /// let change = SectionedChangeset(from: oldSections, to: newSections)
  /// ```
  ///
  /// - Parameters:
  ///   - old: The earlier version.
  ///   - new: The later version.
  /// - Complexity: O(*n*) in all sections and elements where those kept are in order, otherwise
  ///   O(*n* + *k* log *k*) for *k* stretches in step. Elements of two versions of a section that share
  ///   their storage are not looked at. Only what a section's own difference leaves deleted or inserted
  ///   is looked for in other sections.
  @inlinable
  public init<Section: DifferentiableSection>(
    from old: some Collection<Section>, to new: some Collection<Section>
  ) {
    let old = Array(old)
    let new = Array(new)
    let sections = Changeset(from: old, to: new)
    let inStep =
      sections.deletions.isEmpty && sections.insertions.isEmpty && sections.moves.isEmpty
    let origins = inStep ? nil : sections.origins(oldCount: old.count)
    var parts: [SectionDifference] = []
    for target in new.indices {
      let origin = origins?[target] ?? target
      guard origin >= 0 else { continue }
      let before = old[origin].elements
      let after = new[target].elements
      if shareStorage(before, after) { continue }
      let elements = Changeset(from: before, to: after)
      if elements.isEmpty { continue }
      parts.append(SectionDifference(from: origin, to: target, elements: elements))
    }
    let unpaired = UnpairedElements(of: parts)
    let crossings =
      unpaired.mayCross ? unpaired.crossings(from: old, to: new) : []
    self.init(sections: sections, parts: parts, unpaired: unpaired, crossings: crossings)
  }

  /// Joins the differences of kept sections, and those of their elements that were found to have gone
  /// from one to another.
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
      var hasLeft = [Bool](repeating: false, count: deletions.count)
      var hasCome = [Bool](repeating: false, count: insertions.count)
      for crossing in crossings {
        let from = deletions[crossing.deletion]
        let to = insertions[crossing.insertion]
        hasLeft[crossing.deletion] = true
        hasCome[crossing.insertion] = true
        crossed.append(Move(from: from, to: to))
        if crossing.isUpdated { crossedUpdates.append(Update(from: from, to: to)) }
      }
      moves = merged(moves, crossed) { $0.to < $1.to }
      updates = merged(updates, crossedUpdates) { $0.to < $1.to }
      deletions = deletions.indices.lazy.filter { !hasLeft[$0] }.map { unpaired.deletions[$0] }
      insertions = insertions.indices.lazy.filter { !hasCome[$0] }.map { unpaired.insertions[$0] }
    }
    self.init(
      sections: sections, elementDeletions: deletions, elementInsertions: insertions,
      elementMoves: moves, elementUpdates: updates)
  }
}

/// What changed in a section that was kept.
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

  func oldPath(_ element: Int) -> ElementPath { ElementPath(section: from, element: element) }
  func newPath(_ element: Int) -> ElementPath { ElementPath(section: to, element: element) }
}

/// What went from one section to another: positions in `UnpairedElements`.
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

/// What the differences of the sections themselves have left deleted and inserted.
@usableFromInline
struct UnpairedElements {
  /// By ascending path in the old version.
  @usableFromInline let deletions: [ElementPath]
  /// By ascending path in the new version.
  @usableFromInline let insertions: [ElementPath]
  /// Whether something was deleted in one section and something inserted in another.
  ///
  /// Within one section nothing that was deleted can have the identity of something inserted.
  @usableFromInline let mayCross: Bool

  /// Collects what some sections have left.
  ///
  /// - Parameter parts: The sections that changed, by ascending offset in the new version.
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

  /// Finds what went from one section to another, by ascending path in the new version.
  @inlinable
  func crossings<Section: DifferentiableSection>(
    from old: [Section], to new: [Section]
  ) -> [Crossing] {
    let before = elements(of: old, at: deletions)
    let after = elements(of: new, at: insertions)
    var crossings: [Crossing] = []
    pairByIdentity(
      oldCount: before.count, newCount: after.count,
      old: { before[$0].differenceIdentifier }, new: { after[$0].differenceIdentifier }
    ) { deletion, insertion in
      guard deletion >= 0 else { return }
      crossings.append(
        Crossing(
          deletion: deletion, insertion: insertion,
          isUpdated: !sameContent(before[deletion], after[insertion])))
    }
    return crossings
  }
}

/// The elements at some ascending paths.
@inlinable
func elements<Section: DifferentiableSection>(
  of sections: [Section], at paths: [ElementPath]
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

/// Tells whether two collections are the same memory, and so the same elements.
@inlinable
func shareStorage<Element>(_ a: some Collection<Element>, _ b: some Collection<Element>) -> Bool {
  let share = a.withContiguousStorageIfAvailable { a in
    b.withContiguousStorageIfAvailable { b in
      a.baseAddress == b.baseAddress && a.count == b.count
    }
  }
  return (share ?? nil) ?? false
}
