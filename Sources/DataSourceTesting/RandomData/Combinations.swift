import Diffing

/// Runs a test for each value. Nested calls run it for each combination of values.
///
///     try withEvery("size", in: 0...4) { size in
///       try withEvery("offset", in: 0..<size) { offset in … }
///     }
///
/// - Parameters:
///   - name: The name of the value in an error.
///   - values: The values.
///   - body: The test. If it throws, no further values are tested.
/// - Throws: A ``CombinationError`` with the values and the error of `body`.
package func withEvery<Value>(
  _ name: String, in values: some Sequence<Value>, _ body: (Value) throws -> Void
) throws {
  for value in values {
    do {
      try body(value)
    } catch {
      throw CombinationError(name, value, error)
    }
  }
}

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

/// An error of a test for a combination of values.
package struct CombinationError: Error, CustomStringConvertible {
  /// The names and the values, the outermost first.
  package let combination: [(name: String, value: String)]
  /// The error of the test.
  package let underlying: any Error

  package var description: String {
    let values = combination.map { "\($0.name) = \($0.value)" }.joined(separator: ", ")
    return "with \(values): \(underlying)"
  }

  init(_ name: String, _ value: some Any, _ error: any Error) {
    let outer = (name, String(describing: value))
    if let inner = error as? CombinationError {
      combination = [outer] + inner.combination
      underlying = inner.underlying
    } else {
      combination = [outer]
      underlying = error
    }
  }
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
