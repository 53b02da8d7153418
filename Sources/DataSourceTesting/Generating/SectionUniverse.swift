import Diffing

/// All lists of sections of a few identities and contents.
package struct SectionUniverse: Sendable {
  /// How many contents an element can have, and a section; of each there are two identities.
  private let contents: Int
  private let headings: Int
  /// How many elements a section has at most.
  private let elementCount: Int

  package init(contents: Int, headings: Int, elementCount: Int) {
    self.contents = contents
    self.headings = headings
    self.elementCount = elementCount
  }

  /// The lists of up to two sections, the shortest first.
  package func lists() -> [[TestSection]] {
    func elements(_ contents: Int) -> [TestElement] {
      (0..<2).flatMap { id in (0..<contents).map { TestElement(id, $0) } }
    }
    let all = everyList(upTo: elementCount, of: elements(contents))
    let sections = elements(headings).flatMap { model in
      all.map { TestSection(model: model, elements: $0) }
    }
    return everyList(upTo: 2, of: sections)
  }

  /// Calls a closure with each list, and all that it can become; of pairs that are the same but for the
  /// names of identities and contents, with one.
  package func forEachPair(
    _ body: (_ old: [TestSection], _ new: [TestSection]) throws -> Void
  ) rethrows {
    let lists = lists()
    for old in lists {
      var names = SectionNames()
      guard names.accept(old) else { continue }
      for new in lists {
        var names = names
        if names.accept(new) { try body(old, new) }
      }
    }
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

private struct SectionNames {
  private var models = ElementNames()
  private var elements = ElementNames()

  mutating func accept(_ sections: [TestSection]) -> Bool {
    for section in sections {
      guard models.accept(section.model) else { return false }
      for element in section.elements where !elements.accept(element) { return false }
    }
    return true
  }
}
