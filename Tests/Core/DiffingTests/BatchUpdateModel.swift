import Diffing

/// A model of a view that performs batches, and rejects all batches that a strict view would reject.
///
/// It has a heading for each section and a cell for each element. Both are drawn only when they are
/// inserted or updated, so a missing update is detected.
struct BatchUpdateModel<Section: DifferentiableSection> {
  typealias Element = Section.Elements.Element

  /// A section as the view shows it.
  struct Shown {
    var heading: Section
    var cells: [Element]

    init(_ section: Section) {
      heading = section
      cells = Array(section.elements)
    }
  }

  private(set) var shown: [Shown]

  /// A Boolean value that indicates whether a heading depends on the elements, and may be late.
  let headingsShowElements: Bool

  init(_ data: [Section], headingsShowElements: Bool = false) {
    shown = data.map { Shown($0) }
    self.headingsShowElements = headingsShowElements
  }

  /// Performs a batch.
  ///
  /// - Parameters:
  ///   - change: The operations.
  ///   - data: The expected data after the batch.
  /// - Returns: A description of the first error, or `nil`.
  mutating func perform(_ change: SectionedChangeset, data: [Section]) -> String? {
    if let violation = kindViolation(of: change) ?? nameViolation(of: change, data: data) {
      return violation
    }
    if let violation = draw(updatesOf: change, data: data) { return violation }
    let before = shown

    let gone = Set(change.sections.deletions + change.sections.moves.map(\.from))
    let leaving = Set(change.elementDeletions + change.elementMoves.map(\.from))
    var rest: [Shown] = []
    for (section, var stays) in before.enumerated() where !gone.contains(section) {
      stays.cells = stays.cells.indices
        .filter { !leaving.contains(SectionedChangeset.Path(section: section, element: $0)) }
        .map { stays.cells[$0] }
      rest.append(stays)
    }

    var after = rest
    var arrivals: [(to: Int, shown: Shown)] = []
    for insertion in change.sections.insertions {
      arrivals.append((insertion, Shown(data[insertion])))
    }
    for move in change.sections.moves { arrivals.append((move.to, before[move.from])) }
    for arrival in arrivals.sorted(by: { $0.to < $1.to }) {
      if arrival.to > after.count { return "nothing is in front of section \(arrival.to)" }
      after.insert(arrival.shown, at: arrival.to)
    }
    if after.count != data.count { return "\(after.count) sections are shown, not \(data.count)" }

    var cells: [(to: SectionedChangeset.Path, cell: Element)] = []
    for path in change.elementInsertions {
      cells.append((path, Array(data[path.section].elements)[path.element]))
    }
    for move in change.elementMoves {
      cells.append((move.to, before[move.from.section].cells[move.from.element]))
    }
    for (to, cell) in cells.sorted(by: { $0.to < $1.to }) {
      if to.element > after[to.section].cells.count { return "nothing is in front of cell \(to)" }
      after[to.section].cells.insert(cell, at: to.element)
    }
    shown = after
    return violation(showing: data)
  }

  /// Returns a difference between the shown and the expected data, or `nil`.
  func violation(showing data: [Section], isComplete: Bool = false) -> String? {
    if shown.count != data.count { return "\(shown.count) sections are shown, not \(data.count)" }
    for (offset, (shown, section)) in zip(shown, data).enumerated() {
      if shown.heading.differenceIdentifier != section.differenceIdentifier {
        return "section \(offset) is \(shown.heading), not \(section)"
      }
      if (isComplete || !headingsShowElements) && !section.isContentEqual(to: shown.heading) {
        return "heading \(offset) shows \(shown.heading), not \(section)"
      }
      let elements = Array(section.elements)
      if shown.cells.count != elements.count {
        return "section \(offset) shows \(shown.cells.count) cells, not \(elements.count)"
      }
      for (position, (cell, element)) in zip(shown.cells, elements).enumerated()
      where cell.differenceIdentifier != element.differenceIdentifier
        || !element.isContentEqual(to: cell)
      {
        return "cell \(offset).\(position) shows \(cell), not \(element)"
      }
    }
    return nil
  }

  /// Operations that must not be in one batch.
  private func kindViolation(of change: SectionedChangeset) -> String? {
    let updates = change.sections.updates.count + change.elementUpdates.count
    if change.changeCount == 0 { return "the batch is empty" }
    if updates > 0 && change.changeCount > updates { return "updates are not alone" }
    if !change.sections.updates.isEmpty && !change.elementUpdates.isEmpty {
      return "sections and elements are updated at once"
    }
    let elements = change.elementInsertions.count + change.elementMoves.count
    if !change.sections.insertions.isEmpty || !change.sections.moves.isEmpty {
      if elements + change.elementDeletions.count > 0 {
        return "elements change while sections come or move"
      }
    }
    if elements > 0 && change.elementDeletions.count + change.sections.deletions.count > 0 {
      return "elements come or move while something is deleted"
    }
    return nil
  }

  /// Returns an operation with an invalid offset, or two operations with the same offset.
  private func nameViolation(of change: SectionedChangeset, data: [Section]) -> String? {
    let sections = change.sections
    var names = Set<Int>()
    for offset in sections.deletions + sections.moves.map(\.from) + sections.updates.map(\.from) {
      if !shown.indices.contains(offset) { return "there is no section \(offset) before" }
      if !names.insert(offset).inserted { return "section \(offset) is named twice before" }
    }
    names = []
    for offset in sections.insertions + sections.moves.map(\.to) + sections.updates.map(\.to) {
      if !data.indices.contains(offset) { return "there is no section \(offset) after" }
      if !names.insert(offset).inserted { return "section \(offset) is named twice after" }
    }
    var paths = Set<SectionedChangeset.Path>()
    for path in change.elementDeletions + change.elementMoves.map(\.from)
      + change.elementUpdates.map(\.from)
    {
      guard shown.indices.contains(path.section) else { return "there is no section of \(path)" }
      if !shown[path.section].cells.indices.contains(path.element) {
        return "there is no element \(path) before"
      }
      if sections.deletions.contains(path.section) { return "\(path) goes with its section" }
      if !paths.insert(path).inserted { return "element \(path) is named twice before" }
    }
    paths = []
    for path in change.elementInsertions + change.elementMoves.map(\.to)
      + change.elementUpdates.map(\.to)
    {
      guard data.indices.contains(path.section) else { return "there is no section of \(path)" }
      if !(0..<data[path.section].elements.count).contains(path.element) {
        return "there is no element \(path) after"
      }
      if !paths.insert(path).inserted { return "element \(path) is named twice after" }
    }
    return nil
  }

  /// Draws what is updated anew.
  private mutating func draw(updatesOf change: SectionedChangeset, data: [Section]) -> String? {
    for update in change.sections.updates {
      if update.from != update.to { return "section \(update.from) moves by an update" }
      if data[update.to].isContentEqual(to: shown[update.from].heading) {
        return "the update of section \(update.to) is idle"
      }
      shown[update.from].heading = data[update.to]
    }
    for update in change.elementUpdates {
      if update.from != update.to { return "element \(update.from) moves by an update" }
      let element = Array(data[update.to.section].elements)[update.to.element]
      if element.isContentEqual(to: shown[update.from.section].cells[update.from.element]) {
        return "the update of element \(update.to) is idle"
      }
      shown[update.from.section].cells[update.from.element] = element
    }
    return nil
  }
}
