import DataSourceTesting
import Diffing
import ListViews
import TestSupport
import TestTags
import Testing

private func path(_ section: Int, _ element: Int) -> SectionedChangeset.Path {
  SectionedChangeset.Path(section: section, element: element)
}

@Suite(.timeLimit(.minutes(10))) @MainActor struct SectionedListDataSourceTests {
  private let old = [
    TestSection(model: 0, elements: [1, 2]), TestSection(model: 1, elements: [3]),
  ]
  private let new = [
    TestSection(model: TestElement(1, 1), elements: [3, 1]), TestSection(model: 5, elements: [6]),
    TestSection(model: 0, elements: [TestElement(2, 1)]),
  ]
  private let list: SectionedListDataSource<TestSection>
  private let view: StrictListView<TestSection>

  init() {
    let list = SectionedListDataSource(old)
    self.list = list
    view = StrictListView(sections: { list.sections })
    view.reloadData()
  }

  @Test func `sections and items out of range are nil`() {
    #expect(list.sectionCount == 2)
    #expect(list.itemCount(inSection: 0) == 2)
    #expect(list.item(at: path(0, 1)) == 2)
    #expect(list.section(at: 1)?.model == 1)
    for section in [-1, 2, .max, .min] {
      #expect(list.section(at: section) == nil)
      #expect(list.itemCount(inSection: section) == 0)
      #expect(list.item(at: path(section, 0)) == nil)
    }
    for element in [-1, 2, .max, .min] { #expect(list.item(at: path(0, element)) == nil) }
  }

  @Test func `a proposal changes nothing`() {
    let proposal = list.makeProposal(for: new)
    #expect(list.sections == old)
    #expect(view.batchCount == 0)
    #expect(proposal.origin == old)
    #expect(proposal.sections == new)
    #expect(!proposal.isEmpty)
    #expect(proposal.changeset == SectionedChangeset(from: old, to: new))
    #expect(proposal.stages == StagedChangeset(from: old, to: new))
    #expect(list.makeProposal(for: old).isEmpty)
  }

  @Test func `a commit changes the sections inside the batches`() throws {
    var told: [Bool] = []
    list.commit(list.makeProposal(for: new), to: view, completion: { told.append($0) })
    try view.check()
    #expect(list.sections == new)
    #expect(view.cells == new.map(\.elements))
    #expect(view.reloadCount == 1)
    #expect(told == [true])
  }

  @Test func `a closure after a commit is its completion`() async throws {
    var told: [Bool] = []
    list.commit(list.makeProposal(for: new), to: view) { isFinished in told.append(isFinished) }
    list.commit(list.makeProposal(for: old), to: view) {
      told.append($0)
    } interrupt: {
      $0.changeCount > 0
    }
    try view.check()
    #expect(view.batchCount > 0)
    #expect(view.reloadCount == 2)
    #expect(list.sections == old)
    #expect(told == [true, true])
  }

  @Test func `a commit can be interrupted and awaited`() async throws {
    #expect(
      await list.commitAndFinish(list.makeProposal(for: new), to: view, interrupt: { _ in true }))
    try view.check()
    #expect(view.batchCount == 0)
    #expect(await list.commitAndFinish(list.makeProposal(for: old), to: view))
    try view.check()
    #expect(await list.commitAndFinish(list.makeProposal(for: old), to: view))
    #expect(list.sections == old)
  }

  @Test func `a canceled wait for a commit ends, and the commit goes on`() async {
    view.holdsCompletions = true
    let waiting = Task { await list.commitAndFinish(list.makeProposal(for: new), to: view) }
    waiting.cancel()
    #expect(await !waiting.value)
    while list.sections != new { view.completeBatches(isFinished: true) }
    #expect(view.violations.isEmpty)
  }

  @Test func `proposals go to the handler unless they are empty`() async {
    var proposals: [SectionedListDataSource<TestSection>.Proposal] = []
    list.proposalHandler = { proposals.append($0) }
    list.propose(new)
    await list.proposeConcurrently(new)
    list.propose(old)
    await list.proposeConcurrently(old)
    #expect(proposals.map(\.sections) == [new, new])
    #expect(list.sections == old)
    for proposal in proposals { list.commit(proposal, to: view) }
    #expect(list.sections == new)
    #expect(view.violations.isEmpty)
  }

  @Test func `a proposal is dropped if a later one is ready first`() async {
    let gate = Gate()
    let list = SectionedListDataSource<GatedSection>()
    var proposed: [Int] = []
    list.proposalHandler = { proposed += $0.sections.map(\.id) }
    list.commit(
      list.makeProposal(for: [GatedSection(id: 0)]),
      to: StrictListView(sections: { list.sections }))
    async let slow: Void = list.proposeConcurrently([GatedSection(id: 0, gate: gate)])
    await gate.waitUntilEntered()
    list.propose([GatedSection(id: 2)])
    gate.open()
    await slow
    #expect(proposed == [2])
  }

  @Test func `a proposal is computed off the main actor`() async throws {
    let proposal = await Task.detached { [old, new] in
      SectionedListDataSource.makeProposal(from: old, to: new)
    }.value
    await list.commitAndFinish(proposal, to: view)
    try view.check()
    #expect(list.sections == new)
  }

  // MARK: Stale proposals

  @Test func `an outdated proposal is compared again`() throws {
    let first = list.makeProposal(for: new)
    let second = list.makeProposal(for: [TestSection(model: 0, elements: [2])])
    list.commit(first, to: view)
    list.commit(second, to: view)
    try view.check()
    #expect(view.cells == [[2]])
    // Once more, and back.
    list.commit(second, to: view)
    list.commit(first, to: view)
    try view.check()
    #expect(list.sections == new)
    #expect(view.reloadCount == 1)
  }

  @Test func `a proposal of another list is compared again`() throws {
    let foreign = SectionedListDataSource.makeProposal(from: [], to: new)
    list.commit(foreign, to: view)
    try view.check()
    #expect(list.sections == new)
    let empty = SectionedListDataSource<TestSection>.makeProposal(from: [], to: [])
    list.commit(empty, to: view)
    try view.check()
    #expect(list.sections.isEmpty)
  }

  @Test(.reaches(.changes(of: ["section", "element"]), "outdated", "interrupted"))
  func `random outdated proposals never break a rule`() throws {
    for seed in 0..<20 as Range<UInt64> {
      var editor = RandomEditor(seed: seed, size: 20)
      var proposals: [SectionedListDataSource<TestSection>.Proposal] = []
      for _ in 0..<30 {
        var sections: [TestSection] = []
        for element in editor.makeElements() {
          if element.id.isMultiple(of: 5) || sections.isEmpty {
            sections.append(TestSection(model: element, elements: []))
          } else {
            sections[sections.count - 1].elements.append(element)
          }
        }
        proposals.append(list.makeProposal(for: sections))
        let index = editor.random.below(proposals.count)
        let proposal = proposals[index]
        let isInterrupted = editor.random.oneIn(5)
        Coverage.note(SectionedChangeset(from: list.sections, to: proposal.sections))
        if index < proposals.count - 1 { Coverage.note("outdated") }
        if isInterrupted { Coverage.note("interrupted") }
        list.commit(proposal, to: view, interrupt: { _ in isInterrupted })
        try view.check()
        #expect(list.sections == proposal.sections, "seed \(seed)")
      }
    }
  }

  // MARK: Re-entrance

  @Test func `a commit inside a commit begins after it`() throws {
    let other = [TestSection(model: 7, elements: [8])]
    let proposal = list.makeProposal(for: other)
    var told: [String] = []
    var isFirst = true
    let watched = WatchedView(view) {
      guard isFirst else { return }
      isFirst = false
      list.commit(proposal, to: $0, completion: { _ in told.append("inner") })
      #expect(list.sections != other)
    }
    list.commit(list.makeProposal(for: new), to: watched, completion: { _ in told.append("outer") })
    try view.check()
    #expect(list.sections == other)
    #expect(told == ["outer", "inner"])
    // In batches, too: it is known what it begins with.
    #expect(view.reloadCount == 1)
  }

  @Test func `a commit can begin inside a completion`() throws {
    list.commit(list.makeProposal(for: new), to: view) { _ in
      list.commit(list.makeProposal(for: old), to: view)
    }
    try view.check()
    #expect(list.sections == old)
  }
}

/// Does something inside of each batch.
@MainActor
private final class WatchedView: BatchUpdatingSectionedListView {
  private let view: StrictListView<TestSection>
  private let action: (WatchedView) -> Void

  init(_ view: StrictListView<TestSection>, action: @escaping (WatchedView) -> Void) {
    self.view = view
    self.action = action
  }

  func reloadData() { view.reloadData() }
  func performBatchUpdates(
    _ updates: () -> Void, completion: @escaping @MainActor (Bool) -> Void
  ) {
    view.performBatchUpdates(
      {
        updates()
        action(self)
      }, completion: completion)
  }
  func deleteSections(at sections: [Int]) { view.deleteSections(at: sections) }
  func insertSections(at sections: [Int]) { view.insertSections(at: sections) }
  func reloadSections(at sections: [Int]) { view.reloadSections(at: sections) }
  func moveSection(at source: Int, to destination: Int) {
    view.moveSection(at: source, to: destination)
  }
  func deleteItems(at paths: [SectionedChangeset.Path]) { view.deleteItems(at: paths) }
  func insertItems(at paths: [SectionedChangeset.Path]) { view.insertItems(at: paths) }
  func reloadItems(at paths: [SectionedChangeset.Path]) { view.reloadItems(at: paths) }
  func moveItem(at source: SectionedChangeset.Path, to destination: SectionedChangeset.Path) {
    view.moveItem(at: source, to: destination)
  }
}

/// A gate that blocks threads off the main actor until it is opened.
private final class Gate: Sendable {
  private let entered = AsyncStream<Void>.makeStream()
  private let opened = Signpost()

  func pass() {
    entered.continuation.yield()
    opened.pass()
  }

  func waitUntilEntered() async {
    for await _ in entered.stream { return }
  }

  func open() { opened.open() }
}

/// A section whose content takes its time to compare.
private struct GatedSection: DifferentiableSection, Identifiable, Sendable {
  let id: Int
  let elements: [Int] = []
  var gate: Gate?

  init(id: Int, gate: Gate? = nil) {
    (self.id, self.gate) = (id, gate)
  }

  init(source: GatedSection, elements: some Collection<Int>) {
    self.init(id: source.id, gate: source.gate)
  }

  func isContentEqual(to source: GatedSection) -> Bool {
    gate?.pass()
    return gate == nil
  }
}
