import DataSourceTesting
import Diffing
import FileSources
import ObservableCollections
import ReactiveSignals
@testable import RemoteSources
import TestSupport
import TestTags
import Testing

/// Subscribers of lists that load late, change while they are read, or have large lines.
@Suite(.tags(.concurrency), .timeLimit(.minutes(10))) struct FeedSubscriberTests {
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

  @Test func `a token of a server with another key is not valid`() async throws {
    let elements = try [JSONElement(parsing: #"{"a":1,"b":2}"#)]
    let token = try #require(Feed(ArrayDataSource(elements), key: "a").snapshot()?.token)
    var lines = Feed(ArrayDataSource(elements), key: "b").lines(since: token).makeAsyncIterator()
    #expect(await lines.next()?.text.hasPrefix(#"{"event":"initial""#) == true)
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
    // Even: the last contents are good.
    let rounds = TestRun.rounds(2_000, long: 2_000)
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
    let rounds = TestRun.rounds(400, long: 400)
    let writers = (0..<2).map { number in
      Worker {
        var random = SeededGenerator(seed: UInt64(number))
        for n in 0..<rounds {
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
    let last = TestRun.rounds(20, long: 20)
    for revision in 1...last {
      let n = isBack && revision == last ? 0 : revision
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
}
