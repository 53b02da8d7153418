import DataSourceTesting
import Diffing
import ListViews
import ObservableCollections
import Observation
import ReactiveSignals
import SwappableSources
import TestSupport
import Testing

@Suite @MainActor struct BindingTests {
  private let source = ArrayDataSource<TestElement>([0, 1, 2])
  private let screen = Screen<TestElement>()
  private var view: StrictListView<ArraySection<Int, TestElement>> { screen.view }

  @Test func `the first contents are shown immediately without animation`() throws {
    let binding = source.bind(to: view) { screen.rows = $0 }
    try view.check()
    #expect(screen.shown == [0, 1, 2])
    #expect(view.batchCount == 0)
    #expect(view.reloadCount == 2)
    #expect(!binding.isDisposed)
  }

  @Test func `creating a binding does not track a read`() {
    let told = Shared(0)
    let binding = withObservationTracking {
      source.bind(to: view) { screen.rows = $0 }
    } onChange: {
      told.modify { $0 += 1 }
    }
    source.append(3)
    #expect(told.value == 0)
    binding.dispose()
  }

  @Test func `each change is performed in batches`() async throws {
    var told: [Bool] = []
    let binding = source.bind(to: view) {
      screen.rows = $0
    } completion: {
      told.append($0)
    }
    await source.flush()
    source.replace(with: [2, 4, TestElement(0, 1), 3])
    await source.flush()
    try view.check()
    #expect(screen.shown == source.snapshot.map(\.self))
    #expect(view.batchCount == 3)
    #expect(view.reloadCount == 2)
    #expect(told == [true])
    binding.dispose()
  }

  @Test func `pending changes become one change`() async throws {
    var count = 0
    let binding = source.bind(to: view) {
      screen.rows = $0
    } completion: { _ in
      count += 1
    }
    for id in 10..<20 { source.append(TestElement(id)) }
    await source.flush()
    try view.check()
    #expect(screen.shown.count == 13)
    #expect(count == 1)
    #expect(view.batchCount == 1)
    binding.dispose()
  }

  @Test func `the binding uses the changeset of the source`() async throws {
    source.replace(with: [5, 5, 5])
    var told: [Changeset] = []
    let binding = source.bind(
      to: view,
      interrupt: { change in
        told.append(change)
        return false
      }
    ) { screen.rows = $0 }
    await source.flush()
    // Compared anew, one could not tell which of the three is gone.
    source.remove(at: 1)
    await source.flush()
    #expect(told == [Changeset(deletions: [1])])
    binding.dispose()
  }

  @Test func `an interrupted change is shown immediately`() async throws {
    let binding = source.bind(to: view, interrupt: { $0.changeCount > 1 }) { screen.rows = $0 }
    await source.flush()
    source.append(3)
    await source.flush()
    #expect(view.reloadCount == 2)
    source.append(contentsOf: [4, 5])
    await source.flush()
    try view.check()
    #expect(view.batchCount == 1)
    #expect(view.reloadCount == 3)
    #expect(screen.shown == [0, 1, 2, 3, 4, 5])
    binding.dispose()
  }

  @Test func `a swap is a change like any other`() async throws {
    let container = SwappableContainer<TestElement>()
    container.swap(to: ArrayDataSource([1, 2, 3]))
    let binding = container.bind(to: view) { screen.rows = $0 }
    await container.flush()
    container.swap(to: ArrayDataSource([3, 1]))
    await container.flush()
    try view.check()
    #expect(screen.shown == [3, 1])
    #expect(view.reloadCount == 2)
    binding.dispose()
  }

  @Test func `changes arrive during batches`() async throws {
    view.holdsCompletions = true
    var told = 0
    let binding = source.bind(to: view) {
      screen.rows = $0
    } completion: { _ in
      told += 1
    }
    await source.flush()
    for step in 0..<5 {
      source.replace(with: [TestElement(step, step), 2, TestElement(7, step)])
      await source.flush()
      try view.check()
    }
    #expect(told == 0)
    view.completeBatches()
    #expect(told == 5)
    binding.dispose()
  }

  @Test func `edits from any thread are shown`() async throws {
    let binding = source.bind(to: view) { screen.rows = $0 }
    await withTaskGroup(of: Void.self) { group in
      for task in 0..<4 {
        group.addTask { [source] in
          for step in 0..<50 {
            source.append(TestElement(100 * task + step + 10))
            if step.isMultiple(of: 3) { source.remove(at: 0) }
          }
        }
      }
    }
    await source.flush()
    try view.check()
    #expect(screen.shown == source.snapshot.map(\.self))
    binding.dispose()
  }

  @Test func `setData may edit the source`() async throws {
    let binding = source.bind(to: view) { [source] in
      screen.rows = $0
      if $0.count < 6 { source.append(TestElement(10 + $0.count)) }
    }
    // Each round of delivery has at most one more in its train.
    for _ in 0..<6 { await source.flush() }
    try view.check()
    #expect(screen.shown == [0, 1, 2, 13, 14, 15])
    binding.dispose()
  }

  @Test func `a batch of another caller is not disturbed`() async throws {
    var binding: Disposable?
    let stages = StagedChangeset(from: [] as [TestElement], to: [8])
    view.reload(using: stages) {
      screen.rows = $0
      binding = source.bind(to: view) { screen.rows = $0 }
    } completion: { _ in
    }
    try view.check()
    #expect(screen.shown == [0, 1, 2])
    source.append(3)
    await source.flush()
    try view.check()
    #expect(screen.shown == [0, 1, 2, 3])
    binding?.dispose()
  }

  @Test func `contents that are already shown are not reloaded`() async throws {
    var binding: Disposable?
    let observation = source.observe { [self] event in
      guard case .change = event, source.count < 5 else { return }
      MainActor.assumeIsolated {
        // Committed, and delivered only when this returns.
        source.append(4)
        binding = source.bind(to: view) { screen.rows = $0 }
        #expect(screen.shown == [0, 1, 2, 3, 4])
      }
    }
    source.append(3)
    await source.flush()
    try view.check()
    #expect(view.batchCount == 0)
    #expect(screen.shown == [0, 1, 2, 3, 4])
    source.append(5)
    await source.flush()
    #expect(screen.shown == [0, 1, 2, 3, 4, 5])
    #expect(view.batchCount == 1)
    observation.dispose()
    binding?.dispose()
  }

  // MARK: Ending

  @Test func `nothing is called after disposal`() async {
    let binding = source.bind(to: view) {
      screen.rows = $0
    } completion: { _ in
      Issue.record("the completion is called")
    }
    await source.flush()
    view.holdsCompletions = true
    source.append(3)
    await source.flush()
    binding.dispose()
    view.completeBatches()
    source.append(4)
    await source.flush()
    #expect(screen.rows == [0, 1, 2, 3])
  }

  @Test func `a binding that is disposed by its own batch stops there`() async throws {
    var binding: Disposable?
    binding = source.bind(to: view) {
      screen.rows = $0
      if view.batchCount == 1 { binding?.dispose() }
    }
    await source.flush()
    source.replace(with: [2, 4, TestElement(0, 1), 3])
    await source.flush()
    // Two stages of three; what is shown is what was set.
    #expect(view.batchCount == 2)
    try view.check()
    #expect(screen.shown == [TestElement(0, 1), 2])
  }

  @Test func `releasing the binding ends it`() async {
    var binding: Disposable? = source.bind(to: view) { screen.rows = $0 }
    await source.flush()
    #expect(binding?.isDisposed == false)
    binding = nil
    source.append(3)
    await source.flush()
    #expect(screen.rows == [0, 1, 2])
  }

  @Test func `the view is not kept alive`() async {
    var rows: [TestElement] = []
    var view: StrictListView? = StrictListView(rows: { [] as [TestElement] })
    weak let weakView = view
    let binding = view.map { source.bind(to: $0) { rows = $0 } }
    await source.flush()
    view = nil
    #expect(weakView == nil)
    source.append(3)
    await source.flush()
    #expect(rows == [0, 1, 2])
    binding?.dispose()
  }

  // MARK: Sections

  @Test func `any source is shown in sections`() async throws {
    let screen = SectionedScreen<TestSection>([])
    let binding = source.bind(
      to: screen.view,
      sections: { contents in
        Dictionary(grouping: contents, by: \.content).sorted { $0.key < $1.key }
          .map { TestSection(model: TestElement($0.key), elements: $0.value) }
      },
      interrupt: { $0.changeCount > 5 }
    ) { screen.sections = $0 }
    #expect(screen.view.cells == [[0, 1, 2]])
    await source.flush()
    source.update(at: 1) { $0.content = 1 }
    await source.flush()
    try screen.view.check()
    #expect(screen.view.headings.map(\.model.id) == [0, 1])
    source.update(at: 2) { $0.content = 1 }
    await source.flush()
    try screen.view.check()
    #expect(screen.view.cells == [[0], [TestElement(1, 1), TestElement(2, 1)]])
    #expect(screen.view.reloadCount == 2)
    binding.dispose()
  }

  @Test func `a source of sections is shown`() async throws {
    let albums = ArrayDataSource([Album("a", [1, 2]), Album("b", [3])])
    let screen = SectionedScreen<Album>([])
    let binding = albums.bind(to: screen.view) { screen.sections = $0 }
    await albums.flush()
    #expect(screen.view.cells == [[1, 2], [3]])
    albums.replace(with: [Album("b", [3, 1]), Album("c", []), Album("a", [2])])
    await albums.flush()
    try screen.view.check()
    #expect(screen.view.cells == [[3, 1], [], [2]])
    #expect(screen.view.reloadCount == 2)
    binding.dispose()
  }

  @Test func `a sectioned view shows a plain list in its first section`() async throws {
    let binding = source.bind(to: view) { screen.rows = $0 }
    await source.flush()
    source.move(from: 0, to: 2)
    source.update(at: 0) { $0.content = 5 }
    source.remove(at: 1)
    source.append(9)
    await source.flush()
    try view.check()
    #expect(screen.shown == [TestElement(1, 5), 0, 9])
    binding.dispose()
  }
}

/// A section whose content is all of it.
private struct Album: DifferentiableSection, Identifiable, Equatable {
  let id: String
  let elements: [Int]

  init(_ id: String, _ elements: [Int]) {
    (self.id, self.elements) = (id, elements)
  }

  init(source: Album, elements: some Collection<Int>) {
    self.init(source.id, Array(elements))
  }
}
