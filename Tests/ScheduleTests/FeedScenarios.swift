import DataSourceTesting
import Diffing
import FileSources
import ObservableCollections
import ReactiveSignals
@testable import RemoteSources
import SwappablePrimitives
import Testing

/// Sources that publish through a feed, and feeds for readers.
///
/// The server's loop with its sockets and the client's queue are threads that no scheduler controls, so they take no part.
@Suite struct FeedScenarios {
  // MARK: Source feeds

  @Test func `a source publishes beside its start`() {
    explore(preemptions: 2) { scenario in
      let source = FedSource()
      let (early, late) = (Follower<TestElement>(scenario), Follower<TestElement>(scenario))
      scenario.thread { early.follow(source) }
      scenario.thread { late.follow(source) }
      scenario.thread { source.feed.publish(.whole([1, 2])) }
      scenario.finally {
        scenario.expect(source.startCount == 1, "the source has started \(source.startCount) times")
        scenario.expect([1, 2].contains(source.snapshot.count), "\(Array(source.snapshot))")
        scenario.expect(source.status == .loaded, "E6: the status is \(source.status)")
        try early.check(against: source)
        try late.check(against: source)
      }
    }
  }

  @Test func `a failure is shown beside a publication`() {
    explore(preemptions: 2) { scenario in
      let source = FedSource()
      let follower = Follower<TestElement>(scenario)
      let statuses = ValueFollower<SourceStatus.State>(scenario)
      follower.follow(source)
      statuses.follow(of: source) { state in
        scenario.expect(
          state != .loaded || statuses.seen.count == 1 || follower.seen.last == [1, 2],
          "E6: a status step comes before its change")
      }
      scenario.thread { source.feed.publish(.whole([1, 2])) }
      scenario.thread { source.feed.show(.failed(Self.error)) }
      scenario.thread {
        let state = source.state
        scenario.expect(
          state.revision == 1 || Array(state.snapshot) == [1, 2],
          "E6: revision \(state.revision) has \(Array(state.snapshot))")
      }
      scenario.finally {
        scenario.expect(Array(source.snapshot) == [1, 2], "T3: a publication is lost")
        scenario.expect(
          statuses.seen.last == source.status.state,
          "E6: an observer has \(statuses.seen), and the source \(source.status)")
        try follower.check(against: source)
      }
    }
  }

  @Test func `a source that has not loaded fails beside its first publication`() {
    explore(preemptions: 2) { scenario in
      let source = FedSource()
      let derived = source.filter { $0.id != 2 }
      let (early, late) = (Follower<TestElement>(scenario), Follower<TestElement>(scenario))
      let statuses = ValueFollower<SourceStatus.State>(scenario)
      source.startCount = 1
      early.follow(derived)
      statuses.follow(of: derived)
      scenario.thread { source.feed.publish(.whole([1, 2])) }
      scenario.thread { source.feed.show(.failed(Self.error)) }
      scenario.thread {
        late.follow(derived)
        late.dispose()
      }
      scenario.finally {
        scenario.expect(Array(derived.snapshot) == [1], "T3: \(Array(derived.snapshot))")
        scenario.expect(derived.state.hasLoaded, "E7: the list has not loaded")
        scenario.expect(
          statuses.seen.last == source.status.state,
          "O5: an observer has \(statuses.seen), and the source \(source.status)")
        try early.check(against: derived)
        try late.check(against: derived)
      }
    }
  }

  @Test func `two threads append to the list of a feed`() {
    explore(preemptions: 2) { scenario in
      let source = FedSource()
      let follower = Follower<TestElement>(scenario)
      follower.follow(source)
      scenario.thread { source.feed.publish(.appended([2])) }
      scenario.thread { source.feed.publish(.appended([2, 3])) }
      scenario.thread { source.feed.show(.loading) }
      scenario.finally {
        scenario.expect(
          source.snapshot.map(\.id).sorted() == [1, 2, 2, 3], "T3: \(Array(source.snapshot))")
        scenario.expect(
          source.status.diagnostics.count == 1, "the diagnostics are \(source.status.diagnostics)")
        try follower.check(against: source)
      }
    }
  }

  @Test func `a source is released beside a publication and a failure`() {
    explore(preemptions: 2) { scenario in
      final class Held: @unchecked Sendable { var source: FedSource? = FedSource() }
      let held = Held()
      weak let released = held.source
      let follower = Follower<TestElement>(scenario)
      if let source = held.source { follower.follow(source) }
      weak let feed = held.source?.feed
      scenario.thread { feed?.publish(.whole([1, 2])) }
      scenario.thread { feed?.show(.failed(Self.error)) }
      scenario.thread {
        held.source = nil
        follower.release()
      }
      scenario.finally {
        scenario.expect(released == nil, "L2: a released source is still held")
        scenario.expect(feed == nil, "L2: the feed of a released source is still held")
      }
    }
  }

  // MARK: Feeds for readers

  @Test func `a reader that waits for news receives each commit`() {
    explore(preemptions: 1) { scenario in
      let list = ArrayDataSource([Self.item(1)])
      let feed = Feed(list, key: "id")
      scenario.thread { list.append(Self.item(2)) }
      scenario.thread { list.append(Self.item(3)) }
      scenario.thread {
        let reader = FeedReader(scenario, feed)
        try reader.read { $0.count == 3 }
      }
      scenario.finally {}
    }
  }

  @Test func `readers share lines while two threads commit`() {
    explore(preemptions: 1) { scenario in
      let list = ArrayDataSource([Self.item(1)])
      let feed = Feed(list, key: "id")
      let readers = [FeedReader(scenario, feed), FeedReader(scenario, feed)]
      try? readers[0].readAll()
      scenario.thread { list.append(Self.item(2)) }
      scenario.thread { list.remove(at: 0) }
      for reader in readers { scenario.thread { try reader.readAll() } }
      scenario.finally {
        for reader in readers {
          try reader.readAll()
          reader.check(against: list)
        }
      }
    }
  }

  @Test func `a slow reader comes back while revisions are forgotten`() {
    explore(preemptions: 1) { scenario in
      let list = ArrayDataSource([Self.item(1)])
      let feed = Feed(list, key: "id", retaining: .init(revisions: 1))
      let slow = FeedReader(scenario, feed)
      try? slow.readAll()
      scenario.thread {
        list.append(Self.item(2))
        list.append(Self.item(3))
      }
      scenario.thread { try slow.readAll() }
      scenario.thread {
        let other = FeedReader(scenario, feed)
        try other.readAll()
      }
      scenario.finally {
        try slow.readAll()
        slow.check(against: list)
      }
    }
  }

  @Test func `a reader resumes from a token beside commits`() {
    explore(preemptions: 1) { scenario in
      let list = ArrayDataSource([Self.item(1)])
      let feed = Feed(list, key: "id")
      let first = FeedReader(scenario, feed)
      try? first.readAll()
      scenario.thread { list.append(Self.item(2)) }
      scenario.thread { list.append(Self.item(3)) }
      scenario.thread {
        try first.readAll()
        first.resume()
        try first.readAll()
      }
      scenario.finally {
        try first.readAll()
        first.check(against: list)
        scenario.expect(first.initialCount == 1, "W2: a reader begins again")
        scenario.expect(first.token.map(feed.isCurrent) == true, "W5: the last token is not valid")
      }
    }
  }

  @Test func `the snapshot of a feed and its token agree beside commits`() {
    explore(preemptions: 1) { scenario in
      let list = ArrayDataSource([Self.item(1)])
      let feed = Feed(list, key: "id")
      let reader = FeedReader(scenario, feed)
      scenario.thread { list.append(Self.item(2)) }
      scenario.thread { list.remove(at: 0) }
      scenario.thread {
        if let line = feed.snapshot() { try reader.receive(line) }
      }
      scenario.finally {
        reader.resume()
        try reader.readAll()
        reader.check(against: list)
        scenario.expect(reader.initialCount == 1, "W2: a reader begins again")
      }
    }
  }

  @Test func `a reader receives the failure of a source beside a publication`() {
    explore(preemptions: 1) { scenario in
      let source = SourceWriter<JSONElement>(of: ArrayDataSource<JSONElement>.self)
      source.publish(.whole([Self.item(1)]))
      let feed = Feed(source.collection, key: "id")
      let reader = FeedReader(scenario, feed)
      scenario.thread { source.publish(.whole([Self.item(1), Self.item(2)])) }
      scenario.thread { source.show(.failed(Self.error)) }
      scenario.thread { try reader.readAll() }
      scenario.finally {
        try reader.readAll()
        reader.check(against: source.collection)
        let name = source.collection.status.state.name
        scenario.expect(reader.state == name, "W1: the state is \(reader.state), not \(name)")
      }
    }
  }

  @Test func `a feed is released beside a commit and a reader`() {
    explore(preemptions: 2) { scenario in
      let list = ArrayDataSource([Self.item(1)])
      final class Held: @unchecked Sendable { var feed: Feed? }
      let held = Held()
      held.feed = Feed(list, key: "id")
      weak let contents = held.feed?.contents
      scenario.thread { list.append(Self.item(2)) }
      scenario.thread {
        guard let feed = held.feed else { return }
        try FeedReader(scenario, feed).readAll()
      }
      scenario.thread { held.feed = nil }
      scenario.finally {
        scenario.expect(contents == nil, "L2: a released feed is still held")
        scenario.expect(!list.collection.node.hasLiveChildren, "L2: a released list is still held")
      }
    }
  }

  @Test func `a task that waits for news receives a commit`() {
    explore(preemptions: 2) { scenario in
      let list = ArrayDataSource([Self.item(1)])
      let feed = Feed(list, key: "id", clock: ScheduledClock())
      let reader = FeedReader(scenario, feed)
      ScheduledTasks.run(on: scenario.queue()) {
        reader.readAsync { $0.count == 2 }
      }
      scenario.thread { list.append(Self.item(2)) }
      scenario.finally {
        scenario.expect(reader.hasEnded, "W2: the reader has only \(reader.keys)")
        reader.check(against: list)
      }
    }
  }

  @Test func `a task that reads lines is canceled beside a commit and a timer`() {
    explore(preemptions: 1) { scenario in
      let list = ArrayDataSource([Self.item(1)])
      let clock = ScheduledClock()
      let feed = Feed(list, key: "id", clock: clock)
      let reader = FeedReader(scenario, feed)
      let task = ScheduledTasks.run(on: scenario.queue()) { reader.readAsync { _ in false } }
      scenario.thread { list.append(Self.item(2)) }
      scenario.thread { ScheduledTasks.cancel(task) }
      scenario.thread { clock.advance(by: .seconds(15)) }
      scenario.finally {
        scenario.expect(reader.hasEnded, "the lines do not end after the task is canceled")
      }
    }
  }

  private static let error = SourceError(code: "unreachable", message: "no answer")

  private static func item(_ id: Int) -> JSONElement {
    guard let item = try? JSONElement(parsing: "{\"id\":\(id)}", key: "id") else {
      preconditionFailure("an item is not valid JSON")
    }
    return item
  }
}

/// A source of a program, which publishes its first contents when it starts.
private final class FedSource: DataSource, @unchecked Sendable {
  // Sendable: of the threads of a scenario, one runs at a time.
  let feed = SourceWriter<TestElement>(of: FedSource.self)
  var startCount = 0
  var collection: LiveCollection<TestElement> { feed.collection }

  func start() {
    schedulePoint()
    if startCount > 0 { return }
    startCount += 1
    feed.publish(.whole([1]))
  }
}

extension ValueFollower<SourceStatus.State> {
  /// Begins to follow the status of a source.
  fileprivate func follow(
    of source: any DataSource<TestElement>,
    then body: @escaping @Sendable (Value) -> Void = { _ in }
  ) {
    follow(by: { handler in source.observeStatus { handler($0.state) } }, then: body)
  }
}

/// A reader of a feed that folds its lines, and checks that each follows the one before.
private final class FeedReader: @unchecked Sendable {
  // Sendable: of the threads of a scenario, one runs at a time.
  private let scenario: Scenario
  private let feed: Feed
  private var cursor: FeedCursor
  private var elements: [JSONElement] = []
  private var revision = -1
  private(set) var token: String?
  private(set) var initialCount = 0
  /// The name of the state of the source.
  private(set) var state = "loaded"
  /// A Boolean value that indicates whether the task has ended.
  private(set) var hasEnded = false

  init(_ scenario: Scenario, _ feed: Feed) {
    (self.scenario, self.feed) = (scenario, feed)
    cursor = FeedCursor(feed.contents, since: nil)
  }

  /// The elements as texts.
  var keys: [String] { elements.map(\.description) }

  /// Begins again with the token of the last line.
  func resume() { cursor = FeedCursor(feed.contents, since: token) }

  /// Reads all lines that are there.
  func readAll() throws {
    feed.contents.advance()
    while let line = cursor.next() { try receive(line) }
  }

  /// Reads lines, and waits for news, until the contents satisfy a condition.
  func read(until isOver: ([String]) -> Bool) throws {
    let news = Semaphore(value: 0)
    let observation = feed.contents.news.observe { news.signal() }
    defer { feed.contents.news.removeObserver(observation) }
    while true {
      try readAll()
      if isOver(keys) { return }
      news.wait()
    }
  }

  /// Starts a task that reads lines until the contents satisfy a condition, or until it is canceled.
  @discardableResult
  func readAsync(until isOver: @escaping @Sendable ([String]) -> Bool) -> Task<Void, Never> {
    Task { [self] in
      for await line in feed.lines() {
        do { try receive(line) } catch { scenario.fail("\(error)") }
        if isOver(keys) { break }
      }
      hasEnded = true
    }
  }

  func receive(_ line: Feed.Line) throws {
    schedulePoint()
    try withoutSteps {
      if let new = line.token { token = new }
      switch try InputEvent(Array(line.text.utf8)) {
      case .initial(let initial):
        scenario.expect(
          initial.revision >= revision, "W2: revision \(revision) is followed by \(line.text)")
        (elements, revision) = (initial.elements, initial.revision)
        initialCount += 1
        state = initial.failure?.state.name ?? "loaded"
      case .change(let change):
        try change.checkContinues(from: revision)
        let checked = try change.checked(against: elements)
        elements = checked.changeset.applying(
          to: elements, inserted: checked.inserted, updated: checked.updated)
        revision = change.revision
      case .alive(_, let revision, _, let failure):
        scenario.expect(
          revision == self.revision, "W2: revision \(self.revision) is followed by \(line.text)")
        state = failure?.state.name ?? "loaded"
      case .status(let name, _): state = name
      case .error(let message): scenario.fail("an error line: \(message)")
      }
    }
  }

  /// Checks that the lines lead to the contents of the source.
  func check(against source: any DataSource<JSONElement>) {
    scenario.expect(
      keys == source.snapshot.map(\.description),
      "W2: the lines lead to \(keys), not to \(source.snapshot.map(\.description))")
  }
}
