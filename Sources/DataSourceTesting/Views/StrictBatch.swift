import Diffing

/// What a view was told in one batch.
struct StrictBatch {
  typealias Fault = (rule: String, message: String)

  var sectionDeletions: [Int] = []
  var sectionInsertions: [Int] = []
  var sectionReloads: [Int] = []
  var sectionMoves: [Changeset.Move] = []
  var deletions: [ElementPath] = []
  var insertions: [ElementPath] = []
  var reloads: [ElementPath] = []
  var moves: [SectionedChangeset.Move] = []

  /// The sections before the batch that it names.
  private var namedBefore: [Int] { sectionDeletions + sectionMoves.map(\.from) + sectionReloads }
  /// The sections after the batch that it names.
  private var namedAfter: [Int] { sectionInsertions + sectionMoves.map(\.to) }

  /// For each section after the batch its offset before it; nil for one that was put in.
  ///
  /// - Parameters:
  ///   - oldCount: The number of sections before; all that is named is among them.
  ///   - newCount: The number of sections after; it fits.
  func sectionOrigins(from oldCount: Int, to newCount: Int) -> [Int?] {
    var arrivals: [Int: Int?] = [:]
    for section in sectionInsertions { arrivals.updateValue(nil, forKey: section) }
    for move in sectionMoves { arrivals[move.to] = move.from }
    let gone = Set(sectionDeletions + sectionMoves.map(\.from))
    var rest = (0..<oldCount).lazy.filter { !gone.contains($0) }.makeIterator()
    return (0..<newCount).map { arrivals[$0] ?? rest.next() }
  }

  /// What is wrong with the batch, if anything.
  ///
  /// - Parameters:
  ///   - old: The number of items in each section before it.
  ///   - new: The number of items in each section after it.
  func fault(from old: [Int], to new: [Int]) -> Fault? {
    sectionFault(from: old.count, to: new.count) ?? itemFault(from: old, to: new)
      ?? countFault(from: old, to: new)
  }

  // MARK: Sections

  private func sectionFault(from old: Int, to new: Int) -> Fault? {
    var before: Set<Int> = []
    for section in namedBefore {
      if !(0..<old).contains(section) {
        return ("B3", "section \(section) is named, and before the batch there are \(old)")
      }
      if !before.insert(section).inserted {
        return ("B4", "section \(section) of before the batch is named twice")
      }
    }
    var after: Set<Int> = []
    for section in namedAfter {
      if !(0..<new).contains(section) {
        return ("B3", "section \(section) comes, and after the batch there are \(new)")
      }
      if !after.insert(section).inserted {
        return ("B4", "two sections come to be section \(section)")
      }
    }
    for section in sectionReloads where after.contains(section) {
      return ("B4", "section \(section) is reloaded in the batch in which it comes")
    }
    let expected = old - sectionDeletions.count + sectionInsertions.count
    return expected == new
      ? nil
      : (
        "B6",
        """
        \(old) sections less \(sectionDeletions.count) and \(sectionInsertions.count) more make \
        \(expected), and the data has \(new)
        """
      )
  }

  // MARK: Items

  private func itemFault(from old: [Int], to new: [Int]) -> Fault? {
    let (sectionsBefore, sectionsAfter) = (Set(namedBefore), Set(namedAfter))
    var before: Set<ElementPath> = []
    for path in deletions + moves.map(\.from) + reloads {
      guard old.indices.contains(path.section), (0..<old[path.section]).contains(path.element)
      else { return ("B3", "item \(path) is named, and before the batch there is none") }
      if sectionsBefore.contains(path.section) {
        return ("B5", "item \(path) is named, and its section changes as a whole")
      }
      if !before.insert(path).inserted {
        return ("B4", "item \(path) of before the batch is named twice")
      }
    }
    let arrivals = insertions + moves.map(\.to)
    if arrivals.isEmpty { return nil }
    let origins = sectionOrigins(from: old.count, to: new.count)
    var after: Set<ElementPath> = []
    for path in arrivals {
      guard new.indices.contains(path.section), (0..<new[path.section]).contains(path.element)
      else { return ("B3", "item \(path) comes, and after the batch there is none") }
      if sectionsAfter.contains(path.section)
        || origins[path.section].map(sectionsBefore.contains) == true
      {
        return ("B5", "item \(path) comes, and its section changes as a whole")
      }
      if !after.insert(path).inserted { return ("B4", "two items come to \(path)") }
    }
    for path in reloads where after.contains(path) {
      return ("B4", "item \(path) is reloaded in the batch in which it comes")
    }
    return nil
  }

  private func countFault(from old: [Int], to new: [Int]) -> Fault? {
    var changes: [Int: Int] = [:]
    let origins = sectionOrigins(from: old.count, to: new.count)
    var targets: [Int: Int] = [:]
    for (target, origin) in origins.enumerated() { if let origin { targets[origin] = target } }
    for path in deletions + moves.map(\.from) {
      if let target = targets[path.section] { changes[target, default: 0] -= 1 }
    }
    for path in insertions + moves.map(\.to) { changes[path.section, default: 0] += 1 }
    for (target, origin) in origins.enumerated() {
      guard let origin, !sectionReloads.contains(origin) else { continue }
      let change = changes[target] ?? 0
      if old[origin] + change != new[target] {
        return (
          "B6",
          """
          section \(target) has \(old[origin]) items and \(change) more, and the data has \
          \(new[target])
          """
        )
      }
    }
    return nil
  }
}
