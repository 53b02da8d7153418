public import Diffing
public import ListViews
import ObservableCollections

/// Checks that a list view of your own shows the result of batches.
///
///     try await checkSink(
///       makeView: { TextView() },
///       setData: { view, rows in view.rows = rows.map(\.description) },
///       shown: { $0.lines },
///       cell: { $0.description })
///
/// The view performs the changes between all pairs of some small lists, some of them interrupted.
/// It is then bound to sources with random edits. The view must run the block of each batch exactly
/// once, before it returns, and call its completion once (B8). After each change it must show the
/// contents (B7).
///
/// - Parameters:
///   - seeds: The seeds of the random edits. Each seed is one run.
///   - steps: The number of changes of each run.
///   - timeout: The maximum time until the completion of a batch is called.
///   - makeView: A closure that creates an empty view.
///   - setData: A closure that sets the data of a view, without any further call.
///   - shown: A closure that returns the cells that a view shows after its animations.
///   - cell: A closure that returns the expected cell of an element.
/// - Throws: A ``ContractError`` with the rule, the seed and the step, and the errors of
///   `makeView`. If the random edits of 200 or more transactions never delete, insert, update or
///   move an element, the rule is `coverage`.
@MainActor
public func checkSink<View: BatchUpdatingListView, Cell: Equatable>(
  seeds: some Sequence<UInt64> = 0..<10, steps: Int = 40, timeout: Duration = .seconds(60),
  makeView: @escaping @MainActor () throws -> View,
  setData: @escaping @MainActor (_ view: View, _ rows: [TestElement]) -> Void,
  shown: @escaping @MainActor (_ view: View) -> [Cell],
  cell: @escaping @MainActor (_ element: TestElement) -> Cell
) async throws {
  let check = SinkCheck<View, TestElement, Changeset, [Cell]>(
    timeout: timeout, makeView: makeView, setData: setData, shown: shown,
    expected: { $0.map(cell) }, items: { Array($0) },
    stages: { StagedChangeset(from: $0, to: $1) },
    reload: { probe, stages, interrupt in
      probe.reload(using: stages, interrupt: interrupt) { setData(probe.view, $0) }
    },
    bind: { source, probe, interrupt in
      source.bind(to: probe, interrupt: interrupt) { [unowned probe] in setData(probe.view, $0) }
    })
  let elements = (0..<3).flatMap { id in (0..<2).map { TestElement(id, $0) } }
  let lists = everyList(upTo: 2, of: elements)
  try await check.check(pairs: lists.flatMap { old in lists.map { (old, $0) } })
  let editors = seeds.map { RandomEditor(seed: $0, allowsDuplicates: $0.isMultiple(of: 2)) }
  try await check.check(editors, steps: steps)
}

/// Checks that a sectioned list view of your own shows the result of batches.
///
/// The view performs the changes between all pairs of some small lists of sections, some of them
/// interrupted. It is then bound to sources with random edits. The view must run the block of each
/// batch exactly once, before it returns, and call its completion once (B8). After each change it
/// must show the contents (B7).
///
/// - Parameters:
///   - seeds: The seeds of the random edits. Each seed is one run.
///   - steps: The number of changes of each run.
///   - timeout: The maximum time until the completion of a batch is called.
///   - makeView: A closure that creates an empty view.
///   - setData: A closure that sets the data of a view, without any further call.
///   - shown: A closure that returns what a view shows after its animations: a list for each
///     section, which begins with the heading.
///   - heading: A closure that returns the expected heading of a section.
///   - cell: A closure that returns the expected cell of an element.
/// - Throws: A ``ContractError`` with the rule, the seed and the step, and the errors of
///   `makeView`. If the random edits of 200 or more transactions never delete, insert, update or
///   move an element, the rule is `coverage`.
@MainActor
public func checkSectionedSink<View: BatchUpdatingSectionedListView, Cell: Equatable>(
  seeds: some Sequence<UInt64> = 0..<10, steps: Int = 40, timeout: Duration = .seconds(60),
  makeView: @escaping @MainActor () throws -> View,
  setData: @escaping @MainActor (_ view: View, _ sections: [TestSection]) -> Void,
  shown: @escaping @MainActor (_ view: View) -> [[Cell]],
  heading: @escaping @MainActor (_ model: TestElement) -> Cell,
  cell: @escaping @MainActor (_ element: TestElement) -> Cell
) async throws {
  let check = SinkCheck<View, TestSection, SectionedChangeset, [[Cell]]>(
    timeout: timeout, makeView: makeView, setData: setData, shown: shown,
    expected: { $0.map { [heading($0.model)] + $0.elements.map(cell) } },
    items: { TestSection.sections(of: $0) }, stages: { StagedChangeset(from: $0, to: $1) },
    reload: { probe, stages, interrupt in
      probe.reload(using: stages, interrupt: interrupt) { setData(probe.view, $0) }
    },
    bind: { source, probe, interrupt in
      source.bind(to: probe, sections: { TestSection.sections(of: $0) }, interrupt: interrupt) {
        [unowned probe] in setData(probe.view, $0)
      }
    })
  for universe in [
    SectionUniverse(contents: 2, headings: 2, elementCount: 1),
    SectionUniverse(contents: 1, headings: 1, elementCount: 2),
  ] {
    for old in universe.origins() {
      try await check.check(pairs: universe.targets(of: old).map { (old, $0) })
    }
  }
  let editors = seeds.map {
    RandomEditor(seed: $0, size: 24, allowsDuplicates: $0.isMultiple(of: 2))
  }
  try await check.check(editors, steps: steps)
}

extension TestSection {
  /// Returns sections of some elements. Each element whose identity is a multiple of four begins a
  /// section.
  static func sections(of elements: some Sequence<TestElement>) -> [TestSection] {
    var sections: [TestSection] = []
    for element in elements {
      if element.id.isMultiple(of: 4) || sections.isEmpty {
        sections.append(TestSection(model: element, elements: []))
      } else {
        sections[sections.count - 1].elements.append(element)
      }
    }
    return sections
  }
}
