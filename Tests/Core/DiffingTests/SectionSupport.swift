import DataSourceTesting
import Diffing

typealias Section = ArraySection<Item, Item>

/// A section written as `0': 1 2'`.
func section(_ model: String, _ elements: String = "") -> Section {
  Section(model: items(model)[0], elements: items(elements))
}

/// Elements written as `1 2' 3`.
func items(_ text: String) -> [Item] {
  text.split(separator: " ").map { word in
    Item(
      id: UInt8(word.prefix { $0 != "'" }) ?? 0, content: UInt8(word.filter { $0 == "'" }.count))
  }
}

/// Takes the difference of two lists of sections and finds what is wrong with it or its stages, if
/// anything.
func sectionedViolation<S: DifferentiableSection & Equatable>(
  from old: [S], to new: [S], headingsShowElements: Bool = false
) -> String? {
  let change = SectionedChangeset(from: old, to: new)
  Coverage.note(change)
  let violation =
    violation(of: change, from: old, to: new)
    ?? pairingViolation(of: change, from: old, to: new)
    ?? stageViolation(of: change, from: old, to: new, headingsShowElements: headingsShowElements)
  return violation.map { "\(old) to \(new) by \(change): \($0)" }
}

/// Returns a description of the first error in a change alone, or `nil`.
private func violation<S: DifferentiableSection & Equatable>(
  of change: SectionedChangeset, from old: [S], to new: [S]
) -> String? {
  let (oldCounts, newCounts) = (old.map(\.elements.count), new.map(\.elements.count))
  if let violation = change.invariantViolation(oldCounts: oldCounts, newCounts: newCounts) {
    return violation
  }
  if change.applying(to: old, with: new) != new { return "applied, it does not lead to the new" }
  let inverse = change.inverse
  if let violation = inverse.invariantViolation(oldCounts: newCounts, newCounts: oldCounts) {
    return "inverse: \(violation)"
  }
  if inverse.applying(to: new, with: old) != old { return "the inverse does not lead back" }
  if inverse.inverse != change { return "the inverse's inverse is another" }
  if change.isEmpty != (change.changeCount == 0) { return "it is empty, or not" }
  if change.isEmpty && old != new { return "it is empty, but not the difference" }
  return nil
}

/// Returns a description of the first error in the kept elements of a change, or `nil`.
private func pairingViolation<S: DifferentiableSection & Equatable>(
  of change: SectionedChangeset, from old: [S], to new: [S]
) -> String? {
  let pairing = SectionedPairing(change, oldCount: old.count)
  let keptSections = pairing.origins.filter { $0 >= 0 }
  if keptSections.count
    != commonCount(old.map(\.differenceIdentifier), new.map(\.differenceIdentifier))
  {
    return "C8: \(keptSections.count) sections are kept"
  }
  if change.sections.moves.count != keptSections.count - longestIncreasing(keptSections) {
    return "C3: \(change.sections.moves.count) sections move"
  }
  let updatedSections = Set(change.sections.updates.map(\.to))
  let updated = Set(change.elementUpdates.map(\.to))
  var kept = 0
  var keptAtHome = 0
  var mostAtHome = 0
  var moveCount = 0
  for (target, origin) in pairing.origins.enumerated() where origin >= 0 {
    if old[origin].differenceIdentifier != new[target].differenceIdentifier {
      return "sections \(origin)->\(target) are not of one identity"
    }
    if updatedSections.contains(target) == new[target].isContentEqual(to: old[origin]) {
      return "C4: section \(origin)->\(target)"
    }
    let (before, after) = (Array(old[origin].elements), Array(new[target].elements))
    let origins = pairing.elementOrigins(of: target, oldCount: before.count)
    for (element, path) in origins.enumerated() {
      guard let path else { continue }
      let source = Array(old[path.section].elements)[path.element]
      if source.differenceIdentifier != after[element].differenceIdentifier {
        return "\(path)->\(target).\(element) are not of one identity"
      }
      let isUpdated = updated.contains(SectionedChangeset.Path(section: target, element: element))
      if isUpdated == after[element].isContentEqual(to: source) {
        return "C4: element \(path)->\(target).\(element)"
      }
    }
    let atHome = origins.compactMap { $0?.section == origin ? $0?.element : nil }
    let all = origins.count { $0 != nil }
    kept += all
    keptAtHome += atHome.count
    mostAtHome += commonCount(
      before.map(\.differenceIdentifier), after.map(\.differenceIdentifier))
    moveCount += all - longestIncreasing(atHome)
  }
  if keptAtHome != mostAtHome { return "C8: \(keptAtHome) elements stay, not \(mostAtHome)" }
  let oldIdentifiers = old.indices.filter { pairing.targets[$0] >= 0 }
    .flatMap { old[$0].elements.map(\.differenceIdentifier) }
  let newIdentifiers = new.indices.filter { pairing.origins[$0] >= 0 }
    .flatMap { new[$0].elements.map(\.differenceIdentifier) }
  let most = commonCount(oldIdentifiers, newIdentifiers)
  if kept != most { return "C8: \(kept) elements are kept, not \(most)" }
  if change.elementMoves.count != moveCount { return "C3: elements move, and \(moveCount) must" }
  if change.elementDeletions.count != oldIdentifiers.count - kept { return "C1: too many go" }
  if change.elementInsertions.count != newIdentifiers.count - kept { return "C2: too many come" }
  // The first with the first, the second with the second.
  let crossings = change.elementMoves.filter { pairing.targets[$0.from.section] != $0.to.section }
  for (position, crossing) in crossings.enumerated() {
    func identity(_ crossing: SectionedChangeset.Move) -> AnyHashable {
      Array(new[crossing.to.section].elements)[crossing.to.element].differenceIdentifier
    }
    for earlier in crossings[..<position]
    where earlier.from > crossing.from && identity(earlier) == identity(crossing) {
      return "C8: \(earlier.from) and \(crossing.from) pass each other"
    }
  }
  return nil
}

/// Returns a description of the first error in the stages of a change, or `nil`.
private func stageViolation<S: DifferentiableSection & Equatable>(
  of change: SectionedChangeset, from old: [S], to new: [S], headingsShowElements: Bool
) -> String? {
  let stages = StagedChangeset(change, from: old, to: new)
  if stages.isEmpty != change.isEmpty { return "\(stages.count) stages" }
  if stages.reduce(0, { $0 + $1.changeset.changeCount }) != change.changeCount {
    return "the stages have another number of operations: \(stages)"
  }
  var view = BatchUpdateModel(old, headingsShowElements: headingsShowElements)
  var before = old
  var last = 0
  for stage in stages {
    let number = stageNumber(of: stage.changeset)
    if number <= last { return "stage \(number) follows \(last)" }
    last = number
    if let violation = stage.changeset.invariantViolation(
      oldCounts: before.map(\.elements.count), newCounts: stage.data.map(\.elements.count))
    {
      return "stage \(number): \(violation)"
    }
    if let violation = view.perform(stage.changeset, data: stage.data) {
      return "stage \(number), \(stage): \(violation)"
    }
    if !headingsShowElements && stage.changeset.applying(to: before, with: stage.data) != stage.data
    {
      return "stage \(number), \(stage): applied, it does not lead to its data"
    }
    before = stage.data
  }
  if let violation = view.violation(showing: new, isComplete: true) {
    return "at the end: \(violation)"
  }
  if let last = stages.last, last.data != new { return "the last stage is not the new version" }
  return nil
}

/// Which row of the table of stages a change belongs to, 0 if to none.
private func stageNumber(of change: SectionedChangeset) -> Int {
  let sections = change.sections
  let parts = [
    change.elementUpdates.count,
    sections.deletions.count + change.elementDeletions.count,
    sections.insertions.count + sections.moves.count,
    change.elementInsertions.count + change.elementMoves.count,
    sections.updates.count,
  ]
  guard let stage = parts.firstIndex(where: { $0 > 0 }) else { return 0 }
  return parts[stage] == change.changeCount ? stage + 1 : 0
}

func longestIncreasing(_ values: [Int]) -> Int {
  values.count < 8 ? longestIncreasingLength(of: values) : longestIncreasingLengthOfMany(of: values)
}

/// Returns a description of the first error in the stages of a linear change, or `nil`.
func stageViolation<Element: Differentiable & Equatable>(
  from old: [Element], to new: [Element]
) -> String? {
  let change = Changeset(from: old, to: new)
  Coverage.note(change)
  let stages = StagedChangeset(change, from: old, to: new)
  if stages.isEmpty != change.isEmpty { return "\(stages.count) stages" }
  if stages.reduce(0, { $0 + $1.changeset.changeCount }) != change.changeCount {
    return "the stages have another number of operations: \(stages)"
  }
  func data(_ elements: [Element]) -> [ArraySection<Int, Element>] {
    [ArraySection(model: 0, elements: elements)]
  }
  var view = BatchUpdateModel(data(old))
  var before = old
  for stage in stages {
    if let violation = stage.changeset.invariantViolation(
      oldCount: before.count, newCount: stage.data.count)
    {
      return "\(stage): \(violation)"
    }
    if let violation = view.perform(
      SectionedChangeset(elements: stage.changeset), data: data(stage.data))
    {
      return "\(stage): \(violation)"
    }
    if stage.changeset.applying(to: before, with: stage.data) != stage.data {
      return "\(stage): applied, it does not lead to its data"
    }
    before = stage.data
  }
  return before == new || change.isEmpty ? nil : "the last stage is not the new version"
}
