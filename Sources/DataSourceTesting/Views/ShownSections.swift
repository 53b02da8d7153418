import Diffing

/// The headings and cells that a view has drawn.
///
/// Each is drawn from the data when it comes and when it is reloaded, at no other time, so that it tells
/// whether a reload was missing.
struct ShownSections<Section: DifferentiableSection> {
  typealias Item = Section.Elements.Element

  /// A section as it was drawn; what is nil is to be drawn.
  private struct Shown {
    var heading: Section?
    var cells: [Item?]

    /// One of which nothing is drawn.
    init(count: Int) {
      cells = Array(repeating: nil, count: count)
    }
  }

  private var sections: [Shown] = []

  /// Draws everything.
  init(_ data: [Section]) {
    sections = data.map { Shown(count: $0.elements.count) }
    draw(data)
  }

  /// The number of cells in each section.
  var counts: [Int] { sections.map(\.cells.count) }
  var headings: [Section] { sections.compactMap(\.heading) }
  var cells: [[Item]] { sections.map { $0.cells.compactMap(\.self) } }

  /// Performs a batch that has no fault.
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
      // What is reloaded may have another number of items by now.
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

  /// What is shown and is not what the data says, if anything.
  ///
  /// - Parameters:
  ///   - data: What is to be shown.
  ///   - isLast: Whether headings are right in what they show of elements, too: while these change
  ///     they may be late, since they are reloaded last.
  func fault(showing data: [Section], isLast: Bool) -> String? {
    if sections.count != data.count {
      return "\(sections.count) sections are shown, and the data has \(data.count)"
    }
    for (offset, (shown, section)) in zip(sections, data).enumerated() {
      guard let heading = shown.heading else { return "heading \(offset) is not shown" }
      if !sameIdentity(heading.differenceIdentifier, section.differenceIdentifier)
        || !sameContent(
          isLast ? heading : Section(source: heading, elements: section.elements), section)
      {
        return """
          heading \(offset) shows \(Contents.text(of: heading)), and the data has \
          \(Contents.text(of: section))
          """
      }
      if shown.cells.count != section.elements.count {
        return """
          section \(offset) shows \(shown.cells.count) cells, and the data has \
          \(section.elements.count)
          """
      }
      for (position, (cell, item)) in zip(shown.cells, section.elements).enumerated() {
        guard let cell, sameIdentity(cell.differenceIdentifier, item.differenceIdentifier),
          sameContent(cell, item)
        else {
          return """
            cell \(offset).\(position) shows \(cell.map { Contents.text(of: $0) } ?? "nothing"), \
            and the data has \(Contents.text(of: item))
            """
        }
      }
    }
    return nil
  }
}
