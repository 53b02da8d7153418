import Diffing

/// All lists of up to two sections of a few identities and contents, and what they can become.
///
/// Of pairs that are the same but for the names of identities and contents it gives one.
package struct SectionUniverse: Sendable {
  private let lists: [[TestSection]]

  /// Makes one of two identities of sections, and two of elements.
  ///
  /// - Parameters:
  ///   - contents: How many contents an element can have.
  ///   - headings: How many contents a section can have.
  ///   - elementCount: How many elements a section has at most.
  package init(contents: Int, headings: Int, elementCount: Int) {
    func elements(_ contents: Int) -> [TestElement] {
      (0..<2).flatMap { id in (0..<contents).map { TestElement(id, $0) } }
    }
    let all = everyList(upTo: elementCount, of: elements(contents))
    let sections = elements(headings).flatMap { model in
      all.map { TestSection(model: model, elements: $0) }
    }
    lists = everyList(upTo: 2, of: sections)
  }

  /// The lists to begin with, the shortest first.
  package func origins() -> [[TestSection]] {
    lists.filter { isNamedInOrder([$0]) }
  }

  /// What a list can become.
  package func targets(of origin: [TestSection]) -> [[TestSection]] {
    lists.filter { isNamedInOrder([origin, $0]) }
  }
}

/// Which identities, and which contents of each, have occurred; they occur first in order.
private struct ElementNames {
  private var contentCounts: [Int] = []

  mutating func accept(_ element: TestElement) -> Bool {
    if element.id > contentCounts.count { return false }
    if element.id == contentCounts.count { contentCounts.append(0) }
    if element.content > contentCounts[element.id] { return false }
    if element.content == contentCounts[element.id] { contentCounts[element.id] += 1 }
    return true
  }
}

private func isNamedInOrder(_ lists: [[TestSection]]) -> Bool {
  var models = ElementNames()
  var elements = ElementNames()
  for section in lists.joined() {
    guard models.accept(section.model) else { return false }
    for element in section.elements where !elements.accept(element) { return false }
  }
  return true
}
