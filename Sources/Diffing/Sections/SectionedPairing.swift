import SwappablePrimitives

/// Which section and element of the new version each one of the old version is, by what a changeset says.
@usableFromInline
package struct SectionedPairing {
  /// For each section of the new version its offset in the old one, or -1 for what was inserted.
  @usableFromInline package let origins: [Int]

  /// For each section of the old version its offset in the new one, or -1 for what was deleted.
  @usableFromInline package let targets: [Int]

  private let changeset: SectionedChangeset

  /// The moves by ascending origin.
  private let departures: [ElementPath]

  /// Reads a changeset.
  ///
  /// - Parameters:
  ///   - changeset: The changeset; it breaks no rule.
  ///   - oldCount: The number of sections in the old version.
  /// - Complexity: O(*n* + *k* log *k*) for *n* sections and *k* moves.
  @usableFromInline
  package init(_ changeset: SectionedChangeset, oldCount: Int) {
    self.changeset = changeset
    origins = changeset.sections.origins(oldCount: oldCount)
    departures = changeset.elementMoves.map(\.from).sorted()
    var targets = [Int](repeating: -1, count: oldCount)
    for (target, origin) in origins.enumerated() where origin >= 0 { targets[origin] = target }
    self.targets = targets
  }

  /// Tells whether elements left or came to a section, or changed places in it.
  ///
  /// - Parameter target: The offset in the new version of a section that was kept.
  /// - Complexity: O(log *k*).
  @usableFromInline
  package func isRearranged(_ target: Int) -> Bool {
    let origin = origins[target]
    return !range(in: changeset.elementDeletions, section: origin).isEmpty
      || !range(in: departures, section: origin).isEmpty
      || !range(in: changeset.elementInsertions, section: target).isEmpty
      || !range(in: changeset.elementMoves, section: target, path: \.to).isEmpty
  }

  /// The offsets in the new version of the updated elements of a section, ascending.
  @usableFromInline
  package func updatedElements(of target: Int) -> [Int] {
    changeset.elementUpdates[
      range(in: changeset.elementUpdates, section: target, path: \.to)
    ].map(\.to.element)
  }

  /// The offsets in the old version of the elements that are no more in a section or not in order,
  /// ascending.
  package func removedElements(of origin: Int) -> [Int] {
    let deletions = deletedElements(of: origin)
    let departures = departures[range(in: departures, section: origin)].map(\.element)
    return departures.isEmpty ? deletions : (deletions + departures).sorted()
  }

  /// The offsets in the old version of the deleted elements of a section, ascending.
  @usableFromInline
  package func deletedElements(of origin: Int) -> [Int] {
    changeset.elementDeletions[range(in: changeset.elementDeletions, section: origin)]
      .map(\.element)
  }

  /// For each element of a kept section in the new version its path in the old one.
  ///
  /// - Parameters:
  ///   - target: The offset of the section in the new version.
  ///   - oldCount: The number of elements that the section had in the old version.
  /// - Returns: The paths; `nil` stands for an element that was inserted.
  /// - Complexity: O(*n*) in the elements of the section.
  @usableFromInline
  package func elementOrigins(of target: Int, oldCount: Int) -> [ElementPath?] {
    let origin = origins[target]
    let removals = removedElements(of: origin)
    let insertions = changeset.elementInsertions[
      range(in: changeset.elementInsertions, section: target)]
    let moves = changeset.elementMoves[
      range(in: changeset.elementMoves, section: target, path: \.to)]
    let count = oldCount - removals.count + insertions.count + moves.count
    var result: [ElementPath?] = []
    result.reserveCapacity(max(0, count))
    var insertion = insertions.startIndex
    var move = moves.startIndex
    var removal = 0
    var stayed = 0
    while result.count < count {
      if insertion < insertions.endIndex && insertions[insertion].element == result.count {
        result.append(nil)
        insertion += 1
      } else if move < moves.endIndex && moves[move].to.element == result.count {
        result.append(moves[move].from)
        move += 1
      } else {
        while removal < removals.count && removals[removal] == stayed {
          removal += 1
          stayed += 1
        }
        result.append(ElementPath(section: origin, element: stayed))
        stayed += 1
      }
    }
    return result
  }
}

/// Returns the positions of the paths that lead into one section. The paths must ascend.
private func range(in paths: [ElementPath], section: Int) -> Range<Int> {
  range(in: paths, section: section, path: \.self)
}

/// Returns the positions of the values whose paths lead into one section. The paths must ascend.
private func range<Value>(
  in values: [Value], section: Int, path: (Value) -> ElementPath
) -> Range<Int> {
  func firstPosition(notBefore bound: Int) -> Int {
    values.partitioningIndex { path($0).section >= bound }
  }
  if values.isEmpty { return 0..<0 }
  let start = firstPosition(notBefore: section)
  // Most sections have nothing in them.
  if start == values.count || path(values[start]).section != section { return start..<start }
  return start..<firstPosition(notBefore: section + 1)
}
