import Diffing

/// Returns all lists with at most a number of elements, the shortest first.
///
/// - Parameters:
///   - count: The maximum length.
///   - elements: The possible elements.
/// - Complexity: O(*e* to the power of `count`) for *e* possible elements.
package func everyList<Element>(upTo count: Int, of elements: [Element]) -> [[Element]] {
  var lists: [[Element]] = [[]]
  var longest = lists
  for _ in 0..<count {
    longest = longest.flatMap { list in elements.map { list + [$0] } }
    lists += longest
  }
  return lists
}

/// All lists of up to two sections with few identities and contents, and all possible targets of
/// each list.
///
/// Pairs that differ only in the names of identities and contents occur once.
package struct SectionUniverse: Sendable {
  private let lists: [[TestSection]]

  /// Creates a universe with two identities of sections and two identities of elements.
  ///
  /// - Parameters:
  ///   - contents: The number of contents of an element.
  ///   - headings: The number of contents of a section.
  ///   - elementCount: The maximum number of elements in a section.
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

  /// Returns the lists before a change, the shortest first.
  package func origins() -> [[TestSection]] {
    lists.filter { isNamedInOrder([$0]) }
  }

  /// Returns the possible lists after a change.
  package func targets(of origin: [TestSection]) -> [[TestSection]] {
    lists.filter { isNamedInOrder([origin, $0]) }
  }
}

/// The identities and contents that have occurred. New ones must occur in ascending order.
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
