import DataSourceTesting
import Diffing
import ObservableCollections
import Observation
import ReactiveSignals
import SwappableSources
import TerminalViews
import TestSupport
import Testing

@MainActor @Suite(.timeLimit(.minutes(10))) struct TerminalListViewTests {
  private static let size = TerminalSize(rows: 10, columns: 40)
  private let clock = ManualClock()

  /// A screen that records the frames that a list draws, and the number of its events.
  @MainActor private final class Screen {
    var frames: [TerminalFrame] = []
    var eventCount = 0
    /// The last line of the latest frame, without the spaces at its end.
    var status: String? {
      (frames.last?.lines.last?.text.split(separator: " ")).map { $0.joined(separator: " ") }
    }
    private var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

    func show(_ frame: TerminalFrame) {
      frames.append(frame)
      let ready = waiters.filter { $0.count <= frames.count }
      waiters.removeAll { $0.count <= frames.count }
      for waiter in ready { waiter.continuation.resume() }
    }

    func wait(forFrames count: Int) async {
      guard frames.count < count else { return }
      await withCheckedContinuation { waiters.append((count, $0)) }
    }
  }

  private func makeList(
    _ source: some DataSource<TestElement>, on screen: Screen, framesPerSecond: Int = 10,
    status: @escaping @MainActor () -> String = { "" }
  ) -> TerminalListView<TestElement> {
    let list = TerminalListView(
      source, columns: [TerminalColumn("Key") { "\($0.id)" }], framesPerSecond: framesPerSecond,
      clock: clock
    ) { list in screen.show(list.frame(for: Self.size, status: TerminalLine(status()))) }
    list.onEvent = { _ in screen.eventCount += 1 }
    return list
  }

  @Test func `a change is shown immediately and the next ones together`() async throws {
    let source = ArrayDataSource((0..<3).map { TestElement($0) })
    let screen = Screen()
    let list = makeList(source, on: screen)
    await screen.wait(forFrames: 1)
    #expect(screen.eventCount == 1 && list.state.contents.count == 3)
    for id in 10..<1010 { source.insert(TestElement(id), at: 0) }
    // The first frame has just been drawn: the change is drawn with the next one.
    try await clock.waitForSleepers(1)
    #expect(screen.frames.count == 1)
    clock.advance(by: .milliseconds(100))
    await screen.wait(forFrames: 2)
    #expect(screen.eventCount == 2)
    #expect(list.state.contents.hasSameContents(as: source.snapshot))
    // Nobody has chosen a row, so the list has stayed at its top.
    #expect(list.state.selectedElement?.id == 1009)
  }

  @Test func `commands act on the changes that have arrived`() async {
    let source = ArrayDataSource((0..<30).map { TestElement($0) })
    let text = Property("")
    let screen = Screen()
    let list = makeList(source.filter(by: text) { "\($0.id)".hasPrefix($1) }, on: screen)
    #expect(list.selectedElement?.id == 0)
    list.select(7)
    text.value = "2"
    #expect(list.selectedElement?.id == 20)
    list.press(.down)
    #expect(list.state.selectedElement?.id == 21 && list.state.contents.count == 11)
    text.value = "zzzz"
    list.press(.down)
    #expect(list.selectedElement == nil && list.position == "no rows")
    // Each event was applied once, and the next frame shows the result.
    await screen.wait(forFrames: 1)
    #expect(screen.eventCount == 3)
    #expect(screen.frames.last?.lines[1].text.contains("0") == false)
  }

  @Test func `while the list is drawn, its state remains as it is`() async {
    let source = ArrayDataSource((0..<3).map { TestElement($0) })
    let counts = Shared<[Int]>([])
    let screen = Screen()
    let list = TerminalListView(
      source, columns: [TerminalColumn("Key") { "\($0.id)" }], framesPerSecond: 10, clock: clock
    ) { list in
      if screen.frames.isEmpty { source.removeAll() }
      list.press(.down)
      #expect(list.selectedElement?.id == 1)
      counts.append(list.state.contents.count)
      screen.show(list.frame(for: Self.size))
    }
    list.onEvent = { _ in
      screen.eventCount += 1
      if screen.eventCount == 1 { source.append(TestElement(3)) }
      list.perform(.home)
      counts.append(list.state.contents.count)
    }
    await screen.wait(forFrames: 1)
    #expect(counts.value == [3, 3])
    #expect(list.selectedElement == nil)
    #expect(counts.value == [3, 3, 0])
  }

  @Test func `creating a list does not track its source`() {
    let source = ArrayDataSource([TestElement(0)])
    let screen = Screen()
    let changes = Shared(0)
    let list = withObservationTracking {
      makeList(source, on: screen)
    } onChange: {
      changes.modify { $0 += 1 }
    }
    source.setStatus(.loading)
    #expect(changes.value == 0)
    withExtendedLifetime(list) {}
  }

  /// In an ordinary run, there are fewer.
  @Test func `a million changes between two frames are one event`() async throws {
    let count = TestRun.isLong ? 1_000_000 : 100_000
    let source = ArrayDataSource((0..<1000).map { TestElement($0) })
    let screen = Screen()
    let list = makeList(source, on: screen)
    await screen.wait(forFrames: 1)
    await Task.detached {
      for step in 0..<count { source.update(at: step % 1000) { $0.content = step } }
    }.value
    try await clock.waitForSleepers(1)
    clock.advance(by: .seconds(1))
    await screen.wait(forFrames: 2)
    #expect(screen.eventCount == 2)
    #expect(list.state.contents.hasSameContents(as: source.snapshot))
    #expect(list.state.contents[999].content == count - 1)
  }

  @Test func `nothing is drawn while nothing changes`() async throws {
    let source = ArrayDataSource((0..<3).map { TestElement($0) })
    let screen = Screen()
    let list = makeList(source, on: screen)
    await screen.wait(forFrames: 1)
    clock.advance(by: .seconds(100))
    #expect(clock.sleeperCount == 0)
    source.update(at: 0) { $0.content = 1 }
    await screen.wait(forFrames: 2)
    // The mark is removed later. Afterwards, no timer runs.
    try await clock.waitForSleepers(1)
    #expect(list.state.mark(ofRow: 0) == .updated)
    clock.advance(by: .seconds(2))
    await screen.wait(forFrames: 3)
    #expect(list.state.mark(ofRow: 0) == nil)
    #expect(clock.sleeperCount == 0)
    #expect(screen.frames.count == 3)
  }

  @Test func `the list follows the status of its source`() async throws {
    let source = ArrayDataSource<TestElement>(status: .loading)
    let screen = Screen()
    let list = makeList(source, on: screen)
    await screen.wait(forFrames: 1)
    #expect(list.status == .loading)
    clock.advance(by: .seconds(1))
    source.setStatus(.failed(SourceError(code: "test", message: "no")))
    await screen.wait(forFrames: 2)
    #expect(list.status.error?.message == "no")
  }

  // MARK: What the closure reads

  /// Lets the main actor run the tasks that are ready.
  private func settle() async {
    for _ in 0..<10 { await Task.yield() }
  }

  @Test func `a change of a property that the closure reads is drawn once`() async throws {
    let (message, unread) = (Property("first"), Property(0))
    let screen = Screen()
    let list = makeList(ArrayDataSource([TestElement(0)]), on: screen) { message.value }
    await screen.wait(forFrames: 1)
    #expect(screen.status == "first")
    clock.advance(by: .seconds(1))
    unread.value = 1
    await settle()
    #expect(screen.frames.count == 1 && clock.sleeperCount == 0)
    for text in ["second", "third"] { message.value = text }
    try await clock.waitForSleepers(1)
    clock.advance(by: .milliseconds(100))
    await screen.wait(forFrames: 2)
    #expect(screen.status == "third")
    await settle()
    #expect(screen.frames.count == 2 && clock.sleeperCount == 0)
    // Each frame tracks what it reads.
    message.value = "fourth"
    try await clock.waitForSleepers(1)
    clock.advance(by: .milliseconds(100))
    await screen.wait(forFrames: 3)
    #expect(screen.status == "fourth")
    withExtendedLifetime(list) {}
  }

  @Test func `a change of another list that the closure reads is drawn`() async throws {
    let other = ArrayDataSource<TestElement>()
    let screen = Screen()
    let list = makeList(ArrayDataSource([TestElement(0)]), on: screen) { "\(other.count)" }
    await screen.wait(forFrames: 1)
    #expect(screen.status == "0")
    other.append(TestElement(1))
    try await clock.waitForSleepers(1)
    clock.advance(by: .milliseconds(100))
    await screen.wait(forFrames: 2)
    #expect(screen.status == "1" && screen.eventCount == 1)
    withExtendedLifetime(list) {}
  }

  @Test func `a change of the shown list is drawn once if the closure reads the list`() async {
    let source = ArrayDataSource([TestElement(0)])
    let (screen, events) = (Screen(), Property(0))
    let list = makeList(source, on: screen) { "\(source.count) \(events.value)" }
    list.markDuration = .zero
    list.onEvent = { _ in events.value += 1 }
    await screen.wait(forFrames: 1)
    clock.advance(by: .seconds(1))
    source.append(TestElement(1))
    await screen.wait(forFrames: 2)
    #expect(screen.status == "2 2" && list.state.contents.count == 2)
    await settle()
    #expect(screen.frames.count == 2 && clock.sleeperCount == 0)
  }

  @Test func `an event is drawn together with an earlier change of a property`() async throws {
    let (source, message) = (ArrayDataSource([TestElement(0)]), Property("first"))
    let screen = Screen()
    let list = makeList(source, on: screen) { message.value }
    list.markDuration = .zero
    await screen.wait(forFrames: 1)
    clock.advance(by: .seconds(1))
    message.value = "second"
    try await clock.waitForSleepers(1)
    source.append(TestElement(1))
    await screen.wait(forFrames: 2)
    #expect(screen.status == "second" && list.state.contents.count == 2)
    await settle()
    #expect(screen.frames.count == 2 && clock.sleeperCount == 0)
  }

  @Test func `a released list is not drawn when a property changes`() async {
    let message = Property("first")
    let screen = Screen()
    weak var released: TerminalListView<TestElement>?
    do {
      let list = makeList(ArrayDataSource([TestElement(0)]), on: screen) { message.value }
      released = list
      await screen.wait(forFrames: 1)
      withExtendedLifetime(list) {}
    }
    #expect(released == nil)
    message.value = "second"
    await settle()
    #expect(screen.frames.count == 1 && clock.sleeperCount == 0)
  }

  @Test func `a list draws a part of the screen and handles keys`() async {
    let screen = Screen()
    let list = makeList(ArrayDataSource((0..<3).map { TestElement($0) }), on: screen)
    await screen.wait(forFrames: 1)
    #expect(list.press(.down))
    #expect(!list.press(.character("x")))
    let lines = list.lines(for: TerminalSize(rows: 3, columns: 10))
    #expect(lines.map { $0.text.filter { $0 != " " } } == ["Key", "0", ">1"])
    #expect(list.state.visibleRows == 0..<2)
  }

  @Test func `a released list releases its source`() async {
    let screen = Screen()
    weak var source: ArrayDataSource<TestElement>?
    do {
      let strong = ArrayDataSource([TestElement(1)])
      source = strong
      let list = makeList(strong, on: screen)
      await screen.wait(forFrames: 1)
      withExtendedLifetime(list) {}
    }
    #expect(source == nil)
  }
}
