import DataSourceTesting
import Diffing
import ObservableCollections
import SwappableSources
import Testing

/// Lists whose elements are sections. The elements of a section are not its own content.
@Suite struct SectionElementsTests {
  private typealias Section = ArraySection<String, String>

  private let old = [
    Section(model: "fruit", elements: ["apple"]), Section(model: "nuts", elements: ["hazel"]),
  ]
  private let new = [
    Section(model: "fruit", elements: ["apple", "pear"]),
    Section(model: "nuts", elements: ["hazel"]),
  ]
  private let update = Changeset(updates: [.init(from: 0, to: 0)])

  /// Checks that an edit is one update of the first section.
  private func expectUpdate(
    _ source: some DataSource<Section>, _ edit: () throws -> Void
  ) throws {
    let observer = RecordingObserver(source)
    try edit()
    #expect(observer.changes.map(\.changeset) == [update])
    #expect(Array(source.snapshot) == new)
    try observer.check(against: source)
  }

  @Test func `a write that changes only the elements of a section is an update`() throws {
    let source = ArrayDataSource(old)
    try expectUpdate(source) { source[0] = new[0] }
    let appended = ArrayDataSource(old)
    try expectUpdate(appended) { appended.update(at: 0) { $0.elements.append("pear") } }
  }

  @Test func `a replacement of the whole contents is an update`() throws {
    let source = ArrayDataSource(old)
    try expectUpdate(source) { source.replace(with: new) }
  }

  @Test func `a swap is an update`() throws {
    let container = SwappableContainer(ArrayDataSource(old))
    try expectUpdate(container) { container.swap(to: ArrayDataSource(new)) }
  }

  @Test func `a derived list has the update`() throws {
    let source = ArrayDataSource(old)
    let mapped = source.map { Section(model: $0.model, elements: $0.elements) }
    try expectUpdate(mapped) { source[0] = new[0] }
  }

  @Test func `the edits of a transaction are no change if they cancel out, or else an update`()
    throws
  {
    let source = ArrayDataSource(old)
    let observer = RecordingObserver(source)
    source.transaction { sections in
      sections[0] = new[0]
      sections[0] = old[0]
      let first = sections.remove(at: 0)
      sections.insert(first, at: 0)
    }
    #expect(observer.changes.isEmpty)
    try expectUpdate(source) {
      source.transaction { sections in
        sections.remove(at: 0)
        sections.insert(new[0], at: 0)
      }
    }
  }

  @Test func `a difference of sections still compares only their own content`() {
    let change = SectionedChangeset(from: old, to: new)
    #expect(change.sections.isEmpty)
    #expect(change.elementInsertions == [SectionedChangeset.Path(section: 0, element: 1)])
    #expect(Changeset(from: old, to: new) == update)
    #expect(
      Changeset(from: old.map { AnyDifferentiable($0) }, to: new.map { AnyDifferentiable($0) })
        == update)
  }
}
