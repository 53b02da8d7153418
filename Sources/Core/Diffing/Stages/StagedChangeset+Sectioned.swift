import SwappablePrimitives

extension StagedChangeset where Change == SectionedChangeset, Item: DifferentiableSection {
  /// Creates the difference between two versions of a collection of sections, in stages.
  ///
  /// ```swift
  /// let old = [ArraySection(model: "a", elements: [1, 2])]
  /// let new = [ArraySection(model: "b", elements: [3]), ArraySection(model: "a", elements: [1])]
  /// let stages = StagedChangeset(from: old, to: new)
  /// // the element deletion 0.1, then the section insertion 0
  /// ```
  ///
  /// - Parameters:
  ///   - old: The earlier version.
  ///   - new: The later version.
  /// - Complexity: The complexity of the difference, and O(*n*) for each stage but the last.
  @inlinable
  public init(from old: some Collection<Item>, to new: some Collection<Item>) {
    self.init(SectionedChangeset(from: old, to: new), from: old, to: new)
  }

  /// Creates the stages of a change of a collection of sections.
  ///
  /// ```swift
  /// let change = SectionedChangeset(from: old, to: new)
  /// let stages = StagedChangeset(change, from: old, to: new)
  /// ```
  ///
  /// - Parameters:
  ///   - changeset: The change.
  ///   - old: The version before the change.
  ///   - new: The version after the change.
  /// - Precondition: The counts of the versions fit the changeset.
  /// - Complexity: O(*n*) for each stage but the last, O(*k* log *k*) for *k* operations.
  @inlinable
  public init(
    _ changeset: SectionedChangeset, from old: some Collection<Item>, to new: some Collection<Item>
  ) {
    let old = Array(old)
    let new = Array(new)
    precondition(
      old.count + changeset.sections.countChange == new.count,
      """
      the new version must have \(old.count + changeset.sections.countChange) sections, but has \
      \(new.count)
      """)
    let pairing = SectionedPairing(changeset, oldCount: old.count)
    var renewed: [[Item.Elements.Element]]?
    self.init(
      changes: changeset.stages(pairing), to: new, isEmpty: \.isEmpty
    ) { stage in
      let elements = renewed ?? pairing.renewedElements(from: old, to: new)
      renewed = elements
      func rest(of origin: Int) -> Item {
        Item(
          source: old[origin],
          elements: elements[origin].removing(at: pairing.deletedElements(of: origin)))
      }
      return switch stage {
      case 0:
        old.indices.map { origin in
          pairing.targets[origin] < 0
            ? old[origin] : Item(source: old[origin], elements: elements[origin])
        }
      case 1:
        old.indices.filter { pairing.targets[$0] >= 0 }.map(rest)
      case 2:
        new.indices.map { target in
          pairing.origins[target] < 0 ? new[target] : rest(of: pairing.origins[target])
        }
      default:
        new.indices.map { target in
          let origin = pairing.origins[target]
          return origin < 0
            ? new[target] : Item(source: old[origin], elements: new[target].elements)
        }
      }
    }
  }
}

extension SectionedPairing {
  /// Returns the elements of the old version, with kept elements replaced by their new values.
  @inlinable
  func renewedElements<Section: DifferentiableSection>(
    from old: [Section], to new: [Section]
  ) -> [[Section.Elements.Element]] {
    var result = old.map { Array($0.elements) }
    for target in new.indices where origins[target] >= 0 {
      let origin = origins[target]
      let elements = Array(new[target].elements)
      // Some elements are already replaced, but their number is still the old one.
      let oldCount = result[origin].count
      if isRearranged(target) {
        let origins = elementOrigins(of: target, oldCount: oldCount)
        precondition(
          origins.count == elements.count,
          """
          section \(target) must have \(origins.count) elements, but has \(elements.count)
          """)
        for case (let element, let origin?) in zip(elements, origins) {
          result[origin.section][origin.element] = element
        }
      } else {
        precondition(
          oldCount == elements.count,
          "section \(target) must have \(oldCount) elements, but has \(elements.count)")
        result[origin] = elements
      }
    }
    return result
  }
}

extension SectionedChangeset {
  /// Returns the changes of each stage: element updates, then deletions, section insertions and
  /// moves, element insertions and moves, and section updates.
  @usableFromInline
  func stages(_ pairing: SectionedPairing) -> [SectionedChangeset] {
    let deletions = sections.deletions
    let moves = sections.moves.map {
      Changeset.Move(from: $0.from - deletions.ascendingCount(below: $0.from), to: $0.to)
    }
    return [
      SectionedChangeset(
        elementUpdates: elementUpdates.map { Update(from: $0.from, to: $0.from) }
          .sorted { $0.to < $1.to }),
      SectionedChangeset(
        sections: Changeset(deletions: deletions), elementDeletions: elementDeletions),
      SectionedChangeset(sections: Changeset(insertions: sections.insertions, moves: moves)),
      SectionedChangeset(
        elementInsertions: elementInsertions,
        elementMoves: elementMoves.map { move in
          Move(
            from: SectionedChangeset.Path(
              section: pairing.targets[move.from.section],
              element: move.from.element - deletionCount(inFrontOf: move.from)),
            to: move.to)
        }),
      SectionedChangeset(
        sections: Changeset(
          updates: sections.updates.map { Changeset.Update(from: $0.to, to: $0.to) })),
    ]
  }

  /// Returns the number of elements of its section that are deleted before an element.
  private func deletionCount(inFrontOf path: SectionedChangeset.Path) -> Int {
    func count(before bound: SectionedChangeset.Path) -> Int {
      elementDeletions.partitioningIndex { $0 >= bound }
    }
    return count(before: path)
      - count(before: SectionedChangeset.Path(section: path.section, element: 0))
  }
}
