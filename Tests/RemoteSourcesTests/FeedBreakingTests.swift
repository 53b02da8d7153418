import DataSourceTesting
import Diffing
import FileSources
import ObservableCollections
import ReactiveSignals
@testable import RemoteSources
import TestSupport
import TestTags
import Testing

/// Feeds in hard circumstances.
@Suite(.tags(.concurrency), .timeLimit(.minutes(10))) struct FeedBreakingTests {
  /// An element whose identity and encoding run code of a test.
  struct Meddling: Differentiable, Sendable, Encodable {
    let id: Int
    var n = 0
    var meddle: @Sendable () -> Void = {}
    var encodingError: Unable?

    var differenceIdentifier: Int {
      meddle()
      return id
    }
    func isContentEqual(to source: Meddling) -> Bool { n == source.n }

    func encode(to encoder: any Encoder) throws {
      meddle()
      if let encodingError { throw encodingError }
      var container = encoder.singleValueContainer()
      try container.encode(["id": id, "n": n])
    }
  }

  struct Unable: Error {}

  @Test func `a token of the first contents is valid although the source loaded late`() async throws
  {
    let items = [Item(1), Item(2)]
    let token = try #require(Feed(ArrayDataSource(items)).snapshot()?.token)
    let source = ArrayDataSource<Item>(status: .loading)
    let feed = Feed(source)
    source.publish(items, status: .loaded)
    source.append(Item(3))
    var lines = feed.lines(since: token).makeAsyncIterator()
    #expect(await lines.next()?.text.hasPrefix(#"{"event":"alive","revision":1,"#) == true)
    #expect(await lines.next()?.text.contains(#""since":1,"revision":2,"#) == true)
  }

  @Test func `a list that changes all the time can be sent`() throws {
    let (isMeddling, count) = (Shared(false), Shared(10))
    let source = ArrayDataSource<Meddling>([])
    @Sendable func element(_ id: Int) -> Meddling {
      Meddling(id: id) { [weak source] in
        guard isMeddling.exchange(false) else { return }
        let next = count.modify {
          $0 += 1
          return $0
        }
        source?.replace(with: [element(next)])
        isMeddling.modify { $0 = next < 1_000 }
      }
    }
    source.append(element(0))
    let feed = Feed(source)
    #expect(feed.snapshot() != nil)
    source.replace(with: [element(1)])
    isMeddling.modify { $0 = true }
    #expect(feed.snapshot() != nil)
    #expect(count.value < 100)
    isMeddling.modify { $0 = false }
  }

  @Test func `a snapshot is there although revisions are forgotten at once`() throws {
    let source = ArrayDataSource([Item(1)])
    let feed = Feed(source, retaining: .init(revisions: 0))
    let isOver = Shared(false)
    let thread = Worker {
      var n = 0
      while !isOver.value {
        n += 1
        source.update(at: 0) { $0.n = n }
      }
    }
    var missing = 0
    for _ in 0..<3_000 where feed.snapshot() == nil { missing += 1 }
    isOver.modify { $0 = true }
    try thread.join()
    #expect(missing == 0)
  }

  @Test func `a status never arrives before the change of its commit`() async throws {
    let source = ArrayDataSource([Item(0)])
    let feed = Feed(source)
    let error = SourceError(code: "x", message: "x")
    let rounds = 2_000
    let writer = Task.detached {
      for n in 1...rounds {
        // Even contents are good, and odd contents are bad.
        source.publish([Item(n)], status: n % 2 == 0 ? .loaded : .failed(error))
        if n % 50 == 0 { await Task.yield() }
      }
    }
    var held = 0
    var statuses: [(Int, String)] = []
    var changes: [Int] = []
    for await line in feed.lines() {
      switch try InputEvent(Array(line.text.utf8)) {
      case .initial(let initial):
        held = initial.revision
        changes.append(held)
      case .change(let change):
        held = change.revision
        changes.append(held)
      case .status(let state, _): statuses.append((held, state))
      default: break
      }
      // After an initial line, the state is loaded until a status line says something else.
      if held == rounds, statuses.last?.1 ?? "loaded" == "loaded" { break }
    }
    await writer.value
    for (revision, state) in statuses {
      #expect(state == (revision % 2 == 0 ? "loaded" : "failed"), "revision \(revision)")
    }
  }

  @Test func `an element that cannot be encoded is not taken for null`() async throws {
    let nulls = ArrayDataSource([try JSONElement(parsing: "null")])
    let token = try #require(Feed(nulls).snapshot()?.token)
    let source = ArrayDataSource([Meddling(id: 1, encodingError: Unable())])
    var lines = Feed(source).lines(since: token).makeAsyncIterator()
    #expect(await lines.next()?.text.contains(#""state":"failed""#) == true)
  }

  @Test func `an element without the key of the feed holds the list back`() async throws {
    let source = ArrayDataSource([try JSONElement(parsing: #"{"id":1}"#)])
    let feed = Feed(source, key: "id")
    var lines = feed.lines().makeAsyncIterator()
    #expect(await lines.next()?.text.contains(#""elements":[{"id":1}]"#) == true)
    source.append(try JSONElement(parsing: #"{"name":1}"#, key: "name"))
    let status = try #require(await lines.next()?.text)
    #expect(status.contains(#"the element 1 cannot be encoded"#))
    #expect(status.contains(#"no member \"id\""#))
    source.replace(with: [try JSONElement(parsing: #"{"name":1,"id":2}"#, key: "name")])
    #expect(await lines.next()?.text.contains(#""inserts":[{"at":0,"element":{"name":1"#) == true)
    #expect(await lines.next()?.text == #"{"event":"status","state":"loaded"}"#)
  }

  @Test func `a failed encoding is repeated as the sign of life before the first contents`()
    async throws
  {
    let clock = ManualClock()
    let source = ArrayDataSource([Meddling(id: 1, encodingError: Unable())])
    let received = Shared<[String]>([])
    let feed = Feed(source, clock: clock)
    let task = Task {
      for await line in feed.lines() { received.append(line.text) }
    }
    for _ in 0..<2 {
      try await clock.waitForSleepers(1)
      clock.advance(by: .seconds(15))
    }
    try await clock.waitForSleepers(1)
    #expect(received.value.count == 3)
    #expect(received.value.allSatisfy { $0.contains("the element 0 cannot be encoded") })
    source.publish([Meddling(id: 2)], status: .loaded)
    try await clock.waitForSleepers(1)
    while received.value.count < 4 { await Task.yield() }
    #expect(received.value[3].contains(#""event":"initial""#))
    task.cancel()
    await task.value
  }

  @Test func `lines for clients that come back are not kept without limit`() async throws {
    // The lines have 11 KB, and 2 MB in all.
    let source = ArrayDataSource((0..<150).map { Item($0) })
    let feed = Feed(source)
    var tokens: [String] = []
    for n in 1...400 {
      tokens.append(try #require(feed.snapshot()?.token))
      source.update(at: n % 150) { $0.n = n }
    }
    weak var first: Feed.Line.Storage?
    for token in tokens {
      var lines = feed.lines(since: token).makeAsyncIterator()
      _ = await lines.next()
      let line = await lines.next()
      #expect(line?.text.contains(#""event":"change""#) == true)
      if first == nil, token == tokens[0] { first = line?.storage }
    }
    #expect(first == nil)
  }

  @Test func `the feed can be asked anywhere`() async throws {
    let source = ArrayDataSource([Item(1), Item(2)])
    let feed = Feed(source, key: "id", retaining: .init(revisions: 2))
    let texts = Shared<[String]>([])
    @Sendable func ask() {
      if let line = feed.snapshot() { texts.append(line.text) }
      var cursor = FeedCursor(feed.contents, since: feed.snapshot()?.token)
      for _ in 0..<3 { if let line = cursor.next() { texts.append(line.text) } }
    }
    let observation = source.observe { event in
      ask()
      if event.revision < 10 {
        source.transaction { draft in
          ask()
          draft.append(Item(event.revision + 100))
          ask()
        }
      }
      ask()
    }
    ask()
    #expect(texts.value.last { $0.contains("initial") }?.contains(#""revision":10"#) == true)
    observation.dispose()
  }

  @Test func `encoding may edit the source, ask the feed and fail`() async throws {
    let source = ArrayDataSource<Meddling>([])
    let feed = Shared<Feed?>(nil)
    let depth = Shared(0)
    @Sendable func meddle() {
      guard
        depth.modify({
          $0 += 1; return $0
        }) < 50
      else { return }
      _ = feed.value?.snapshot()
      source.append(Meddling(id: 1_000 + depth.value, meddle: meddle))
    }
    feed.modify { $0 = Feed(source, key: "id") }
    source.append(Meddling(id: 1, meddle: meddle))
    source.append(Meddling(id: 2, meddle: meddle, encodingError: Unable()))
    source.transaction { draft in
      draft.append(Meddling(id: 3, meddle: meddle))
      draft.remove(at: 0)
    }
    #expect(feed.value?.snapshot() == nil)
    source.removeAll { $0.encodingError != nil }
    let line = try #require(feed.value?.snapshot())
    guard case .initial(let initial) = try InputEvent(Array(line.text.utf8)) else {
      Issue.record("no initial line")
      return
    }
    #expect(initial.elements.count == source.snapshot.count)
    feed.modify { $0 = nil }
  }

  @Test func `identities may wait for the thread that commits`() async throws {
    let lock = Shared(0)
    let source = ArrayDataSource<Meddling>([])
    let feed = Feed(source, retaining: .init(revisions: 5))
    // Each identity takes a lock that the committing thread holds.
    @Sendable func meddle() { lock.modify { $0 += 1 } }
    let isOver = Shared(false)
    let reader = Worker {
      var token: String?
      while !isOver.value {
        token = feed.snapshot()?.token ?? token
        var cursor = FeedCursor(feed.contents, since: token)
        for _ in 0..<3 { _ = cursor.next() }
      }
    }
    for n in 0..<500 {
      source.replace(with: (0..<5).map { Meddling(id: n + $0, meddle: meddle) })
    }
    isOver.modify { $0 = true }
    try reader.join()
    #expect(lock.value > 0)
  }

  @Test func `odd elements and keys travel unchanged`() async throws {
    let odd = [
      #"{"k":"\u2028\u0000\r\n\ud800","x":1}"#, #"{"k":"\ud801","x":2}"#,
      #"{"k":\#(String(repeating: "9", count: 400))}"#, #"{"k":1}"#, #"{"k":1.0}"#, #"{"k":1e999}"#,
      #"{"k":null,"k":true}"#, #"{"k":"é"}"#, #"{"k":"e\u0301"}"#, "{ \n\"k\" :\r\n -0 }",
      #"{"k":"\/","":"","\n":[\#(String(repeating: "[", count: 300))\#(String(repeating: "]", count: 300))]}"#,
    ]
    let elements = try odd.map { try JSONElement(parsing: $0, key: "k") }
    let source = ArrayDataSource(elements)
    let proxy = FaultProxy(Feed(source, key: "k"), seed: 1, faults: [.none, .parts])
    let recorder = SourceRecorder(RemoteDataSource<JSONElement>(proxy))
    try await recorder.wait(for: elements)
    source.transaction { draft in
      draft.move(from: 0, to: 5)
      draft.remove(at: 2)
      draft.append(contentsOf: elements)
    }
    let record = try await recorder.wait(for: Array(source.snapshot))
    #expect(record.violations.isEmpty)
    #expect(
      record.contents.map(\.differenceIdentifier) == source.snapshot.map(\.differenceIdentifier))
  }

  @Test(arguments: [0, 1, 2, 50])
  func `readers on several threads follow a list that several threads edit`(window: Int) throws {
    let source = ArrayDataSource((0..<20).map { Item($0) })
    let feed = Feed(source, key: "id", retaining: .init(revisions: window, age: .seconds(1)))
    let (isOver, faults) = (Shared(false), Shared<[String]>([]))
    let readers = (0..<3).map { number in
      Worker {
        var (contents, token): ([JSONElement], String?) = ([], nil)
        var (cursor, revision) = (FeedCursor(feed.contents, since: nil), -1)
        func receive(_ line: Feed.Line) throws {
          switch try InputEvent(Array(line.text.utf8), key: "id") {
          case .initial(let initial):
            if initial.revision < revision { faults.append("an earlier revision") }
            (contents, revision) = (initial.elements, initial.revision)
          case .change(let change):
            try change.checkContinues(from: revision)
            let checked = try change.checked(against: contents)
            contents = checked.changeset.applying(
              to: contents, inserted: checked.inserted, updated: checked.updated)
            revision = change.revision
          case .alive(_, let number, _, _):
            if number != revision { faults.append("alive at \(number), not \(revision)") }
          default: break
          }
          token = line.token ?? token
        }
        var rest = 2
        while rest > 0 {
          if isOver.value { rest -= 1 }
          do {
            feed.contents.advance()
            while let line = cursor.next() { try receive(line) }
            try receive(cursor.alive())
          } catch {
            faults.append("\(error)")
          }
          if rest > 0, number > 0, revision % 3 == 0 {
            cursor = FeedCursor(feed.contents, since: token)
          }
        }
        if let line = cursor.next() { faults.append("a line is left: \(line.text)") }
        let numbers = contents.map { $0["n"]?.description ?? "" }
        if numbers != source.snapshot.map({ "\($0.n)" }) { faults.append("other contents") }
      }
    }
    let writers = (0..<2).map { number in
      Worker {
        var random = SeededGenerator(seed: UInt64(number))
        for n in 0..<400 {
          source.transaction { draft in
            draft.update(at: random.below(20)) { $0.n = n }
            draft.move(from: random.below(20), to: random.below(20))
          }
        }
      }
    }
    for writer in writers { try writer.join() }
    isOver.modify { $0 = true }
    for reader in readers { try reader.join() }
    #expect(faults.value.isEmpty)
  }

  @Test(arguments: [false, true])
  func `a subscriber that was away receives one change while large lines are sent`(
    isBack: Bool
  ) async throws {
    let source = ArrayDataSource<Item>((0..<1_000).map { Item($0) })
    let feed = Feed(source)
    var other = feed.lines().makeAsyncIterator()
    let token = await other.next()?.token
    var large: Feed.Line?
    for revision in 1...20 {
      let n = isBack && revision == 20 ? 0 : revision
      source.transaction { rows in for id in 0..<700 { rows.update(at: id) { $0.n = n } } }
      large = await other.next()
    }
    #expect(large?.bytes.count ?? 0 >= 1 << 14)
    var cursor = FeedCursor(feed.contents, since: token)
    var events: [String] = []
    while let line = cursor.next() { events.append(String(line.text.dropFirst(10).prefix(6))) }
    // Nothing is missed if the contents are the same again.
    #expect(events == (isBack ? [#"alive""#] : [#"alive""#, "change"]))
    withExtendedLifetime(large) {}
  }

  @Test func `waits that end at about the same time end together`() async throws {
    let clock = ManualClock()
    let feed = Feed(ArrayDataSource([Item(1)]), clock: clock)
    var tasks: [Task<[Feed.Line?], Never>] = []
    for count in 1...100 {
      let interval = Duration.milliseconds(15_000 - count)
      tasks.append(
        Task {
          var lines = feed.lines(aliveEvery: interval).makeAsyncIterator()
          return [await lines.next(), await lines.next()]
        })
      // The task waits as soon as the alarm has its deadline, which is the earliest one.
      while clock.nextDeadline?.offset != interval { await Task.yield() }
    }
    var passes = 0
    while clock.advanceToNextDeadline() != nil { passes += 1 }
    #expect(passes == 1)
    for task in tasks { #expect(await task.value[1]?.text.contains("alive") == true) }
  }

  @Test func `the subscriber with the shorter interval receives its lines in time`() async throws {
    let clock = ManualClock()
    let feed = Feed(ArrayDataSource([Item(1)]), clock: clock)
    let long = Task { for await _ in feed.lines() {} }
    while clock.nextDeadline?.offset != .seconds(15) { await Task.yield() }
    let times = Shared<[Duration]>([])
    let short = Task {
      for await _ in feed.lines(aliveEvery: .seconds(4)) { times.append(clock.now.offset) }
    }
    for end in [4, 8, 12] {
      while clock.nextDeadline?.offset != .seconds(end) { await Task.yield() }
      clock.advance(by: .seconds(4))
    }
    while times.value.count < 4 { await Task.yield() }
    #expect(times.value == [0, 4, 8, 12].map { .seconds($0) })
    for task in [long, short] {
      task.cancel()
      await task.value
    }
  }
}
