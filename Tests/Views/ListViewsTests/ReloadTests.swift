import DataSourceTesting
import Diffing
import ListViews
import Testing

@Suite(.timeLimit(.minutes(10))) @MainActor struct ReloadTests {
  /// From 0 1 2 to 2 4 0' 3: an update, a deletion, and two insertions with a move.
  private let old: [TestElement] = [0, 1, 2]
  private let new: [TestElement] = [2, 4, TestElement(0, 1), 3]
  private let screen = Screen<TestElement>([0, 1, 2])
  private var view: StrictListView<ArraySection<Int, TestElement>> { screen.view }

  @Test func `a list is reloaded in a batch for each stage`() throws {
    var told: [Bool] = []
    view.reload(using: StagedChangeset(from: old, to: new)) {
      screen.rows = $0
    } completion: {
      told.append($0)
    }
    try view.check()
    #expect(screen.shown == new)
    #expect(view.batchCount == 3)
    #expect(view.reloadCount == 1)
    #expect(told == [true])
  }

  @Test func `without a difference only the completion is called`() {
    var told: [Bool] = []
    view.reload(using: StagedChangeset(from: old, to: old)) { _ in
      Issue.record("data is set")
    } completion: {
      told.append($0)
    }
    #expect(told == [true])
    #expect(view.batchCount == 0)
  }

  // MARK: Interrupting

  @Test func `an interrupted reload shows the new data without a batch`() throws {
    var asked: [Changeset] = []
    var told: [Bool] = []
    var set: [[TestElement]] = []
    view.holdsCompletions = true
    view.reload(
      using: StagedChangeset(from: old, to: new),
      interrupt: {
        asked.append($0)
        return true
      },
      setData: {
        set.append($0)
        screen.rows = $0
      },
      completion: { told.append($0) })
    try view.check()
    #expect(asked.count == 1)
    #expect(set == [new])
    #expect(view.batchCount == 0)
    #expect(view.reloadCount == 2)
    #expect(told == [true])
  }

  @Test func `a reload can be interrupted at any stage`() throws {
    for stage in 0..<3 {
      let screen = Screen(old)
      screen.view.holdsCompletions = true
      var asked = 0
      var told: [Bool] = []
      screen.view.reload(
        using: StagedChangeset(from: old, to: new),
        interrupt: { _ in
          asked += 1
          return asked > stage
        },
        setData: { screen.rows = $0 }, completion: { told.append($0) })
      try screen.view.check()
      #expect(screen.shown == new)
      #expect(screen.view.batchCount == stage)
      #expect(asked == stage + 1)
      // At once, though batches before are still under way; and not again when they rest.
      #expect(told == [true])
      screen.view.completeBatches()
      #expect(told == [true])
    }
  }

  // MARK: Completing

  @Test func `the completion is called once after the last batch`() {
    var told: [Bool] = []
    view.holdsCompletions = true
    view.reload(using: StagedChangeset(from: old, to: new)) {
      screen.rows = $0
    } completion: {
      told.append($0)
    }
    #expect(told.isEmpty)
    view.completeBatches()
    #expect(told == [true])
  }

  @Test func `a batch that is cut short is reported`() {
    var told: [Bool] = []
    view.holdsCompletions = true
    view.reload(using: StagedChangeset(from: old, to: new)) {
      screen.rows = $0
    } completion: {
      told.append($0)
    }
    view.completeBatches(isFinished: false)
    #expect(told == [false])
  }

  @Test func `a canceled wait for the last batch ends, and the reload goes on`() async throws {
    view.holdsCompletions = true
    let waiting = Task {
      await view.reloadAndFinish(using: StagedChangeset(from: old, to: new)) { screen.rows = $0 }
    }
    waiting.cancel()
    #expect(await !waiting.value)
    view.completeBatches(isFinished: true)
    #expect(screen.shown == new)
  }

  @Test func `a caller can wait for the last batch`() async throws {
    #expect(
      await view.reloadAndFinish(using: StagedChangeset(from: old, to: new)) { screen.rows = $0 })
    try view.check()
    #expect(
      await view.reloadAndFinish(using: StagedChangeset(from: new, to: new)) { screen.rows = $0 })
    view.holdsCompletions = true
    let isFinished = await view.reloadAndFinish(using: StagedChangeset(from: new, to: old)) {
      screen.rows = $0
      // Runs when the reload has begun to wait.
      if $0 == old { Task { view.completeBatches(isFinished: false) } }
    }
    #expect(!isFinished)
    #expect(screen.shown == old)
  }

  @Test func `an async function can reload without waiting`() async throws {
    view.holdsCompletions = true
    view.reload(using: StagedChangeset(from: old, to: new)) { screen.rows = $0 }
    #expect(screen.shown == new)
    view.completeBatches()
    try view.check()
  }

  @Test func `a released view completes its reload`() async {
    var view: StrictListView? = StrictListView(rows: { [] as [TestElement] })
    view?.holdsCompletions = true
    let isFinished = await withCheckedContinuation { continuation in
      view?.reload(using: StagedChangeset(from: [] as [TestElement], to: [])) { _ in
      } completion: { _ in
      }
      view?.reload(using: StagedChangeset(stages: [.init(data: old, changeset: .empty)])) { _ in
      } completion: {
        continuation.resume(returning: $0)
      }
      view = nil
    }
    #expect(!isFinished)
  }

  // MARK: Re-entrance

  @Test func `a reload inside a batch begins after the current reload`() throws {
    var told: [String] = []
    var isFirst = true
    view.reload(using: StagedChangeset(from: old, to: new)) { rows in
      screen.rows = rows
      guard isFirst else { return }
      isFirst = false
      // Its offsets fit the data that is shown now, not the data at the end of the reload.
      view.reload(using: StagedChangeset(from: rows, to: [7, 8])) {
        screen.rows = $0
      } completion: {
        told.append("inner \($0)")
      }
    } completion: {
      told.append("outer \($0)")
    }
    try view.check()
    #expect(screen.shown == [7, 8])
    #expect(told == ["outer true", "inner true"])
  }

  @Test func `reloads inside a batch follow each other`() throws {
    var depth = 0
    func reload(to rows: [TestElement]) {
      view.reload(using: StagedChangeset(from: screen.rows, to: rows)) { rows in
        screen.rows = rows
        depth += 1
        if depth <= 5 { reload(to: [TestElement(depth, depth)]) }
      }
    }
    reload(to: new)
    try view.check()
    #expect(screen.shown == screen.rows)
    #expect(depth > 5)
  }

  @Test func `a reload inside interrupt begins after the current reload`() throws {
    var asked = 0
    view.reload(
      using: StagedChangeset(from: old, to: new),
      interrupt: { _ in
        asked += 1
        if asked == 2 {
          view.reload(using: StagedChangeset(from: old, to: [9])) { screen.rows = $0 }
        }
        return false
      }, setData: { screen.rows = $0 })
    try view.check()
    #expect(screen.shown == [9])
  }

  @Test func `a reload can begin inside a completion`() throws {
    var told = 0
    view.reload(using: StagedChangeset(from: old, to: new)) {
      screen.rows = $0
    } completion: { _ in
      view.reload(using: StagedChangeset(from: screen.rows, to: old)) {
        screen.rows = $0
      } completion: { _ in
        told += 1
      }
    }
    try view.check()
    #expect(screen.shown == old)
    #expect(told == 1)
    // Animated, too: there and back.
    #expect(view.batchCount == 6)
    #expect(view.reloadCount == 1)
  }

  @Test func `reloads of other views do not wait`() throws {
    let other = Screen<TestElement>([1])
    view.reload(using: StagedChangeset(from: old, to: new)) { rows in
      screen.rows = rows
      other.view.reload(using: StagedChangeset(from: other.rows, to: rows)) { other.rows = $0 }
      #expect(other.shown == rows)
    }
    try view.check()
    try other.view.check()
    #expect(other.view.reloadCount == 1)
  }

  // MARK: Sections

  @Test func `sections are reloaded in a batch for each stage`() async throws {
    let old = [
      TestSection(model: 0, elements: [1, 2]), TestSection(model: 1, elements: [3]),
      TestSection(model: 2, elements: [4]),
    ]
    let new = [
      TestSection(model: TestElement(2, 1), elements: [TestElement(4, 1), 5]),
      TestSection(model: 9, elements: [8]), TestSection(model: 0, elements: [2]),
    ]
    let screen = SectionedScreen(old)
    #expect(
      await screen.view.reloadAndFinish(using: StagedChangeset(from: old, to: new)) {
        screen.sections = $0
      })
    try screen.view.check()
    #expect(screen.view.batchCount == 5)
    #expect(screen.view.cells == new.map(\.elements))
    #expect(
      await screen.view.reloadAndFinish(
        using: StagedChangeset(from: new, to: old), interrupt: { $0.changeCount > 0 }
      ) { screen.sections = $0 })
    try screen.view.check()
    #expect(screen.view.batchCount == 5)
  }
}
