import Diffing

/// The operations of one batch.
struct StrictBatch {
  typealias Fault = (rule: String, message: String)

  var sectionDeletions: [Int] = []
  var sectionInsertions: [Int] = []
  var sectionReloads: [Int] = []
  var sectionMoves: [Changeset.Move] = []
  var deletions: [SectionedChangeset.Path] = []
  var insertions: [SectionedChangeset.Path] = []
  var reloads: [SectionedChangeset.Path] = []
  var moves: [SectionedChangeset.Move] = []

  /// The sections before the batch that an operation refers to.
  private var namedBefore: [Int] { sectionDeletions + sectionMoves.map(\.from) + sectionReloads }
  /// The sections after the batch that an operation refers to.
  private var namedAfter: [Int] { sectionInsertions + sectionMoves.map(\.to) }

  /// Returns the offset before the batch of each section after it, or `nil` for an inserted
  /// section.
  ///
  /// - Parameters:
  ///   - oldCount: The number of sections before the batch. All offsets must be in range.
  ///   - newCount: The number of sections after the batch, which must fit the operations.
  func sectionOrigins(from oldCount: Int, to newCount: Int) -> [Int?] {
    var arrivals: [Int: Int?] = [:]
    for section in sectionInsertions { arrivals.updateValue(nil, forKey: section) }
    for move in sectionMoves { arrivals[move.to] = move.from }
    let gone = Set(sectionDeletions + sectionMoves.map(\.from))
    var rest = (0..<oldCount).lazy.filter { !gone.contains($0) }.makeIterator()
    return (0..<newCount).map { arrivals[$0] ?? rest.next() }
  }

  /// Returns a rule that the batch breaks, with a message, or `nil` if it breaks none.
  ///
  /// - Parameters:
  ///   - old: The number of items in each section before the batch.
  ///   - new: The number of items in each section after the batch.
  func fault(from old: [Int], to new: [Int]) -> Fault? {
    sectionFault(from: old.count, to: new.count) ?? itemFault(from: old, to: new)
      ?? countFault(from: old, to: new)
  }

  // MARK: Sections

  private func sectionFault(from old: Int, to new: Int) -> Fault? {
    var before: Set<Int> = []
    for section in namedBefore {
      if !(0..<old).contains(section) {
        return ("B3", "section \(section) is out of range 0..<\(old) before the batch")
      }
      if !before.insert(section).inserted {
        return ("B4", "section \(section) before the batch has two operations")
      }
    }
    var after: Set<Int> = []
    for section in namedAfter {
      if !(0..<new).contains(section) {
        return ("B3", "section \(section) is out of range 0..<\(new) after the batch")
      }
      if !after.insert(section).inserted {
        return ("B4", "two sections are inserted at or moved to offset \(section)")
      }
    }
    for section in sectionReloads where after.contains(section) {
      return (
        "B4",
        """
        one batch reloads section \(section) and inserts or moves a section to this offset; \
        reload it in a batch of its own
        """
      )
    }
    let expected = old - sectionDeletions.count + sectionInsertions.count
    return expected == new
      ? nil
      : (
        "B6",
        """
        \(old) sections minus \(sectionDeletions.count) plus \(sectionInsertions.count) make \
        \(expected), but the data has \(new)
        """
      )
  }

  // MARK: Items

  private func itemFault(from old: [Int], to new: [Int]) -> Fault? {
    let (sectionsBefore, sectionsAfter) = (Set(namedBefore), Set(namedAfter))
    var before: Set<SectionedChangeset.Path> = []
    for path in deletions + moves.map(\.from) + reloads {
      guard old.indices.contains(path.section), (0..<old[path.section]).contains(path.element)
      else { return ("B3", "item \(path) does not exist before the batch") }
      if sectionsBefore.contains(path.section) {
        return (
          "B5",
          """
          item \(path) has an operation, but section \(path.section) is deleted, moved or reloaded \
          in the same batch; change the item in another batch
          """
        )
      }
      if !before.insert(path).inserted {
        return ("B4", "item \(path) before the batch has two operations")
      }
    }
    let arrivals = insertions + moves.map(\.to)
    if arrivals.isEmpty { return nil }
    let origins = sectionOrigins(from: old.count, to: new.count)
    var after: Set<SectionedChangeset.Path> = []
    for path in arrivals {
      guard new.indices.contains(path.section), (0..<new[path.section]).contains(path.element)
      else { return ("B3", "item \(path) does not exist after the batch") }
      if sectionsAfter.contains(path.section)
        || origins[path.section].map(sectionsBefore.contains) == true
      {
        return (
          "B5",
          """
          an item is inserted at or moved to \(path), but section \(path.section) is inserted, \
          moved or reloaded in the same batch; insert or move the item in another batch
          """
        )
      }
      if !after.insert(path).inserted {
        return ("B4", "two items are inserted at or moved to \(path)")
      }
    }
    for path in reloads where after.contains(path) {
      return (
        "B4",
        """
        one batch reloads item \(path) and inserts or moves an item to this path; reload it in a \
        batch of its own
        """
      )
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
          section \(target) had \(old[origin]) items, and the batch changes their number by \
          \(change), but the data has \(new[target])
          """
        )
      }
    }
    return nil
  }
}

/// The headings and cells that a view shows.
///
/// Each one is drawn from the data only when it is inserted or reloaded. A missing reload is
/// therefore visible.
struct ShownSections<Section: DifferentiableSection> {
  typealias Item = Section.Elements.Element

  /// A section as the view shows it. Values that are `nil` are not drawn yet.
  private struct Shown {
    var heading: Section?
    var cells: [Item?]

    /// Creates a section that is not drawn yet.
    init(count: Int) {
      cells = Array(repeating: nil, count: count)
    }
  }

  private var sections: [Shown] = []

  /// Draws all sections.
  init(_ data: [Section]) {
    sections = data.map { Shown(count: $0.elements.count) }
    draw(data)
  }

  var counts: [Int] { sections.map(\.cells.count) }
  var headings: [Section] { sections.compactMap(\.heading) }
  var cells: [[Item]] { sections.map { $0.cells.compactMap(\.self) } }

  /// Performs a valid batch.
  mutating func perform(_ batch: StrictBatch, data: [Section]) {
    for section in batch.sectionReloads {
      sections[section] = Shown(count: sections[section].cells.count)
    }
    for path in batch.reloads { sections[path.section].cells[path.element] = nil }
    var arrivals: [Int: [(offset: Int, cell: Item?)]] = [:]
    for path in batch.insertions { arrivals[path.section, default: []].append((path.element, nil)) }
    for move in batch.moves {
      let cell = sections[move.from.section].cells[move.from.element]
      arrivals[move.to.section, default: []].append((move.to.element, cell))
    }
    for path in (batch.deletions + batch.moves.map(\.from)).sorted(by: >) {
      sections[path.section].cells.remove(at: path.element)
    }
    let origins = batch.sectionOrigins(from: sections.count, to: data.count)
    sections = origins.enumerated().map { target, origin in
      // The number of items in a reloaded section may have changed.
      guard let origin, sections[origin].heading != nil else {
        return Shown(count: data[target].elements.count)
      }
      return sections[origin]
    }
    for (section, arrivals) in arrivals {
      for arrival in arrivals.sorted(by: { $0.offset < $1.offset }) {
        sections[section].cells.insert(arrival.cell, at: arrival.offset)
      }
    }
    draw(data)
  }

  private mutating func draw(_ data: [Section]) {
    for (section, content) in data.enumerated() {
      if sections[section].heading == nil { sections[section].heading = content }
      guard sections[section].cells.contains(where: { $0 == nil }) else { continue }
      for (element, item) in content.elements.enumerated()
      where sections[section].cells[element] == nil {
        sections[section].cells[element] = item
      }
    }
  }

  /// Returns a difference between the view and the data, or `nil` if there is none.
  ///
  /// - Parameters:
  ///   - data: The data that the view must show.
  ///   - isLast: A Boolean value that indicates whether the batch is the last one, after which
  ///     headings must also show the current elements. Sections are reloaded last, so headings may be
  ///     out of date before that.
  func fault(showing data: [Section], isLast: Bool) -> String? {
    if sections.count != data.count {
      return "\(sections.count) sections are shown, but the data has \(data.count)"
    }
    for (offset, (shown, section)) in zip(sections, data).enumerated() {
      guard let heading = shown.heading else { return "heading \(offset) is not shown" }
      if !heading.hasSameIdentity(as: section)
        || !section.hasSameOwnContent(
          as: isLast ? heading : Section(source: heading, elements: section.elements))
      {
        return """
          heading \(offset) shows \(Contents.text(of: heading)), but the data has \
          \(Contents.text(of: section))
          """
      }
      if shown.cells.count != section.elements.count {
        return """
          section \(offset) shows \(shown.cells.count) cells, but the data has \
          \(section.elements.count)
          """
      }
      for (position, (cell, item)) in zip(shown.cells, section.elements).enumerated() {
        guard let cell, cell.hasSameIdentity(as: item),
          item.hasSameContent(as: cell)
        else {
          return """
            cell \(offset).\(position) shows \(cell.map { Contents.text(of: $0) } ?? "nothing"), \
            but the data has \(Contents.text(of: item))
            """
        }
      }
    }
    return nil
  }
}
