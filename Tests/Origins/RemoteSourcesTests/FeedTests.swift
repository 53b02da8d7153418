import DataSourceTesting
import Diffing
import FileSources
import Foundation
import ObservableCollections
@testable import RemoteSources
import TestSupport
import TestTags
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(10))) struct FeedTests {
  /// A subscriber that folds lines.
  struct Subscriber {
    var iterator: Feed.Lines.Iterator
    var items: [Item]
    var token: String?
    var revision: Int
    var lines: [Feed.Line] = []

    init(
      _ feed: Feed, since token: String? = nil, holding items: [Item] = [], at revision: Int = -1
    ) {
      iterator = feed.lines(since: token).makeAsyncIterator()
      (self.items, self.token, self.revision) = (items, token, revision)
    }

    /// Receives one line.
    mutating func receive() async throws {
      let line = try #require(await iterator.next())
      lines.append(line)
      if let new = line.token { token = new }
      switch try InputEvent(Array(line.text.utf8)) {
      case .initial(let initial):
        items = try decode(initial.elements)
        revision = initial.revision
      case .change(let change):
        #expect(change.since == revision)
        let checked = try change.checked(count: items.count)
        items = checked.changeset.applying(
          to: items, inserted: try decode(checked.inserted), updated: try decode(checked.updated))
        revision = change.revision
      case .alive(_, let revision, _, _): self.revision = revision
      case .status, .error: break
      }
    }

    /// Receives lines until the items are those of a source.
    mutating func catchUp(with source: ArrayDataSource<Item>) async throws {
      repeat { try await receive() } while items != Array(source.snapshot)
    }

    private func decode(_ elements: [JSONElement]) throws -> [Item] {
      try ElementDecoding<Item>(configuring: { _ in }).decode(elements)
    }
  }

  @Test func `a failure is reported beside the contents that have it only`() async throws {
    let error = SourceError(code: "x", message: "broken")
    let first = ArrayDataSource<Item>([Item(100)])
    let second = ArrayDataSource<Item>((0..<20).map { Item($0) })
    let source = first.concatenated(with: second)
    let feed = Feed(source, key: "id")
    func lines(
      _ count: Int, since token: String? = nil
    ) async throws -> [String] {
      var lines = feed.lines(since: token).makeAsyncIterator()
      var texts: [String] = []
      for _ in 0..<count { texts.append(try #require(await lines.next()).text) }
      return texts
    }
    let token = try #require(feed.snapshot()?.token)
    first.setStatus(.failed(error))
    // A subscriber holds the line.
    var held = feed.lines().makeAsyncIterator()
    let line = try #require(await held.next())
    #expect(line.text.contains(#""state":"failed""#))
    #expect(try await lines(1, since: token)[0].contains(#""state":"failed""#))
    second[0] = Item(0, 77)
    let new = try await lines(1)[0]
    #expect(new.contains(#""n":77"#) && new.contains(#""state":"failed""#))
    // The contents before the change did not have to be those of the failure.
    let resumed = try await lines(3, since: token)
    #expect(resumed[0].contains(#""event":"alive""#) && !resumed[0].contains("failed"))
    #expect(resumed[1].contains(#""event":"change""#) && resumed[1].contains(#""n":77"#))
    #expect(resumed[2].contains(#""event":"status","state":"failed""#))
    withExtendedLifetime(line) {}
  }

  @Test func `a subscriber receives the contents, and then each change`() async throws {
    let source = ArrayDataSource<Item>([Item(1), Item(2)])
    let feed = Feed(source, key: "id")
    var subscriber = Subscriber(feed)
    try await subscriber.receive()
    #expect(
      subscriber.lines[0].text.hasPrefix(#"{"event":"initial","revision":0,"key":"id","token":"#))
    #expect(subscriber.items == [Item(1), Item(2)])
    source.append(Item(3))
    try await subscriber.receive()
    #expect(subscriber.items == [Item(1), Item(2), Item(3)])
    #expect(subscriber.lines[1].token != subscriber.lines[0].token)
  }

  @Test func `a subscriber that does not ask receives one composed change`() async throws {
    let source = ArrayDataSource<Item>([Item(1)])
    let feed = Feed(source)
    var subscriber = Subscriber(feed)
    try await subscriber.receive()
    for n in 1...100 { source.update(at: 0) { $0.n = n } }
    try await subscriber.receive()
    #expect(subscriber.items == [Item(1, 100)])
    #expect(subscriber.lines[1].text.contains(#""since":0,"revision":100"#))
  }

  @Test func `all subscribers share one line`() async throws {
    let source = ArrayDataSource<Item>((0..<50).map { Item($0) })
    let feed = Feed(source)
    var one = Subscriber(feed)
    var other = Subscriber(feed)
    try await one.receive()
    try await other.receive()
    source.remove(at: 3)
    try await one.receive()
    try await other.receive()
    #expect(one.lines[0].storage === other.lines[0].storage)
    #expect(one.lines[1].storage === other.lines[1].storage)
  }

  @Test func `a late subscriber may receive a recent line and a change`() async throws {
    let source = ArrayDataSource<Item>((0..<50).map { Item($0) })
    let feed = Feed(source)
    var one = Subscriber(feed)
    try await one.receive()
    source.remove(at: 3)
    var other = Subscriber(feed)
    try await other.receive()
    #expect(one.lines[0].storage === other.lines[0].storage)
    try await other.receive()
    #expect(other.items == Array(source.snapshot))
    // A snapshot is always of the latest revision.
    let snapshot = try #require(feed.snapshot())
    #expect(snapshot.storage.revision == 1)
    #expect(snapshot.token == other.token)
  }

  @Test func `many changes after a recent line make a new one`() async throws {
    let source = ArrayDataSource<Item>((0..<50).map { Item($0) })
    let feed = Feed(source)
    var one = Subscriber(feed)
    try await one.receive()
    for offset in 0..<20 { source.update(at: offset) { $0.n = 1 } }
    var other = Subscriber(feed)
    try await other.receive()
    #expect(other.items == Array(source.snapshot))
    withExtendedLifetime(one) {}
  }

  @Test func `subscribers that are far behind come to share their lines`() async throws {
    var random = SeededGenerator(seed: 7)
    let source = ArrayDataSource<Item>((0..<1_000).map { Item($0) })
    let feed = Feed(source)
    var subscribers: [Subscriber] = []
    var first = Subscriber(feed)
    try await first.receive()
    let count = TestRun.isLong ? 30 : 15
    for n in 1...160 {
      if n <= count {
        var subscriber = Subscriber(feed)
        try await subscriber.receive()
        subscribers.append(subscriber)
      }
      source.transaction { rows in
        for _ in 0..<40 { rows.update(at: Int.random(in: 0..<1_000, using: &random)) { $0.n = n } }
      }
      try await first.receive()
    }
    for index in subscribers.indices { try await subscribers[index].catchUp(with: source) }
    let lines = subscribers.flatMap { $0.lines.map(\.storage) }.filter { $0.bytes.count >= 1 << 15 }
    #expect(lines.count >= count)
    // Without common points, there would be one for each.
    #expect(Set(lines.map { ObjectIdentifier($0) }).count <= 8)
  }

  @Test func `a subscriber that is far behind passes a point with the contents that it has`()
    async throws
  {
    let source = ArrayDataSource<Item>((0..<1_000).map { Item($0) })
    let feed = Feed(source)
    var (first, late, other) = (Subscriber(feed), Subscriber(feed), Subscriber(feed))
    try await first.receive()
    try await late.receive()
    try await other.receive()
    for revision in 1...20 {
      // At the end of the block of 16 revisions, the contents are the first ones.
      source.transaction { rows in
        for offset in 0..<400 { rows.update(at: offset) { $0.n = revision == 16 ? 0 : revision } }
      }
      try await first.receive()
      if revision == 1 { try await other.receive() }
    }
    #expect(other.lines.last?.bytes.count ?? 0 >= 1 << 14)
    try await late.catchUp(with: source)
    #expect(late.lines.count == 2)
    withExtendedLifetime(other) {}
  }

  @Test func `points behind the latest one are ends of blocks`() {
    let all = (0...1_000).map { FeedPoint(revision: $0, fingerprint: "") }
    func path(_ points: [FeedPoint], from start: Int, to end: Int) -> [Int] {
      var path = [start]
      while let next = points.blockEnd(from: path[path.count - 1], before: end) {
        path.append(next.revision)
      }
      return path
    }
    #expect(path(all, from: 3, to: 10) == [3])
    #expect(
      path(all, from: 3, to: 1_000) == [3, 16, 32, 64, 128, 256, 512, 768, 896, 960, 992])
    #expect(path(all, from: 0, to: 1_000) == [0, 512, 768, 896, 960, 992])
    #expect(path(all, from: 500, to: 600) == [500, 512, 576, 592])
    // Some revisions are no points.
    let some = all.filter { $0.revision % 5 == 3 }
    #expect(path(some, from: 3, to: 100) == [3, 68, 98])
    #expect(path(some, from: 13, to: 100) == [13, 18, 33, 68, 98])
    #expect(path([], from: 13, to: 100) == [13])
  }

  @Test(.reaches(.changes, "initial", "alive"), arguments: [false, true])
  func `resuming from each revision gives the present contents`(repeats: Bool) async throws {
    for seed in 1...8 as ClosedRange<UInt64> {
      var editor = RandomEditor<Item>(seed: seed, repeats: repeats)
      let source = ArrayDataSource<Item>(editor.makeElements())
      let feed = Feed(source, retaining: .init(revisions: 20))
      let edits = RecordingObserver(counting: source)
      var points: [(token: String, items: [Item], revision: Int)] = []
      for _ in 0..<40 {
        let line = try #require(feed.snapshot())
        points.append((try #require(line.token), Array(source.snapshot), source.revision))
        try editor.step(source)
      }
      for (index, point) in points.enumerated() {
        var subscriber = Subscriber(
          feed, since: point.token, holding: point.items, at: point.revision)
        try await subscriber.catchUp(with: source)
        let kinds = subscriber.lines.map { $0.text.prefix(18) }
        let isInWindow = point.revision >= source.revision - 20
        #expect(
          kinds.first == (isInWindow ? #"{"event":"alive","# : #"{"event":"initial""#).prefix(18)
            || kinds.first == #"{"event":"alive",""#,
          "seed \(seed), point \(index): \(kinds)")
        #expect(subscriber.lines.count <= 2, "seed \(seed), point \(index): \(kinds)")
        Coverage.note(kinds.first?.contains("initial") == true ? "initial" : "alive")
      }
      Coverage.note(edits)
    }
  }

  @Test func `a token survives a restart with equal contents`() async throws {
    let items = (0..<20).map { Item($0) }
    let token = try #require(Feed(ArrayDataSource(items), key: "id").snapshot()?.token)
    let source = ArrayDataSource(items)
    let feed = Feed(source, key: "id")
    var subscriber = Subscriber(feed, since: token, holding: items, at: 99)
    try await subscriber.receive()
    #expect(subscriber.lines[0].text.hasPrefix(#"{"event":"alive","revision":0,"#))
    #expect(subscriber.token != token)
    source.append(Item(100))
    try await subscriber.receive()
    #expect(subscriber.items == items + [Item(100)])
    #expect(subscriber.lines[1].text.hasPrefix(#"{"event":"change","since":0,"#))
  }

  @Test func `a token of a previous run is valid after a change, too`() async throws {
    let items = (0..<20).map { Item($0) }
    let token = try #require(Feed(ArrayDataSource(items)).snapshot()?.token)
    let source = ArrayDataSource(items)
    let feed = Feed(source)
    source.remove(at: 4)
    var subscriber = Subscriber(feed, since: token, holding: items, at: 99)
    try await subscriber.catchUp(with: source)
    #expect(
      subscriber.lines.map { $0.text.prefix(15) } == [#"{"event":"alive"#, #"{"event":"chang"#])
  }

  @Test func `a token of other contents begins with the contents`() async throws {
    let token = try #require(Feed(ArrayDataSource([Item(1), Item(2)])).snapshot()?.token)
    for items in [[Item(2), Item(1)], [Item(1)], [], [Item(1), Item(2, 1)]] {
      var subscriber = Subscriber(Feed(ArrayDataSource(items)), since: token)
      try await subscriber.receive()
      #expect(subscriber.lines[0].text.hasPrefix(#"{"event":"initial""#))
      #expect(subscriber.items == items)
    }
  }

  @Test(arguments: ["", "-", "--", "a-b-c", "x-1-", "ä", String(repeating: "a-1-", count: 10_000)])
  func `a string that is no token begins with the contents`(token: String) async throws {
    var subscriber = Subscriber(Feed(ArrayDataSource([Item(1)])), since: token)
    try await subscriber.receive()
    #expect(subscriber.items == [Item(1)])
  }

  @Test func `before the first load there are only status lines`() async throws {
    let source = ArrayDataSource<Item>(status: .loading)
    let feed = Feed(source)
    #expect(feed.snapshot() == nil)
    var subscriber = Subscriber(feed)
    try await subscriber.receive()
    #expect(subscriber.lines[0].text == #"{"event":"status","state":"loading"}"#)
    #expect(subscriber.lines[0].token == nil)
    source.setStatus(.failed(SourceError(code: "x", message: "no such \"file\"")))
    try await subscriber.receive()
    #expect(
      subscriber.lines[1].text
        == #"{"event":"status","state":"failed","message":"no such \"file\""}"#)
    source.publish([Item(5)], status: .loaded)
    try await subscriber.receive()
    #expect(subscriber.items == [Item(5)])
    source.setStatus(.missing(SourceError(code: "y", message: "gone")))
    try await subscriber.receive()
    #expect(subscriber.lines[3].text.hasPrefix(#"{"event":"status","state":"missing""#))
  }

  @Test func `the failure of a source is in the line with its last contents`() async throws {
    let error = SourceError(code: "x", message: "no such \"file\"")
    for status in [SourceStatus.failed(error), .missing(error)] {
      let source = ArrayDataSource([Item(1)])
      let feed = Feed(source, key: "id")
      var early = Subscriber(feed)
      try await early.receive()
      #expect(!early.lines[0].text.contains("state"))
      source.setStatus(status)
      let state = #","state":"\#(status.state.name)","message":"no such \"file\"""#
      var late = Subscriber(feed)
      try await late.receive()
      #expect(late.lines[0].text.hasSuffix(state + #","elements":[{"id":1,"n":0}]}"#))
      var returning = Subscriber(feed, since: late.token, holding: late.items)
      try await returning.receive()
      #expect(returning.lines[0].text.hasPrefix(#"{"event":"alive","revision":0,"since":"#))
      #expect(returning.lines[0].text.hasSuffix(state + "}"))
      // The contents as such are the same with every status.
      #expect(feed.snapshot()?.text == early.lines[0].text)
      source.setStatus(.loaded)
      for var subscriber in [late, returning] {
        try await subscriber.receive()
        #expect(subscriber.lines[1].text == #"{"event":"status","state":"loaded"}"#)
      }
    }
  }

  @Test func `a failure without its message is in the line with the last contents`() async throws {
    let source = ArrayDataSource<Item>(status: .loading)
    source.publish([Item(1)], status: .failed(SourceError(code: "x", message: "/secret")))
    var subscriber = Subscriber(Feed(source, sendsStatusMessages: false))
    try await subscriber.receive()
    #expect(subscriber.lines[0].text.hasSuffix(#","state":"failed","elements":[{"id":1,"n":0}]}"#))
  }

  @Test func `the tokens of equal contents are current, also those of a previous run`() throws {
    let items = (0..<10).map { Item($0) }
    let token = try #require(Feed(ArrayDataSource(items), key: "id").snapshot()?.token)
    let source = ArrayDataSource<Item>(status: .loading)
    let feed = Feed(source, key: "id")
    #expect(!feed.isCurrent(token))
    source.publish(items, status: .loaded)
    #expect(feed.isCurrent(token))
    let own = try #require(feed.snapshot()?.token)
    #expect(own != token && feed.isCurrent(own))
    source.append(Item(10))
    #expect(!feed.isCurrent(token) && !feed.isCurrent(own))
    source.remove(at: 10)
    #expect(feed.isCurrent(token) && feed.isCurrent(own))
    source.setStatus(.failed(SourceError(code: "x", message: "x")))
    #expect(feed.isCurrent(own))
    let fingerprint = own.split(separator: "-")[2]
    for invalid in ["", "-", "--", "a-b", "a-b-\(fingerprint)", own + "-", String(own.dropLast())] {
      #expect(!feed.isCurrent(invalid), "\(invalid)")
    }
    #expect(!Feed(ArrayDataSource(items), key: "n").isCurrent(token))
  }

  @Test func `messages of a status can be left out`() async throws {
    let source = ArrayDataSource<Item>(
      status: .failed(SourceError(code: "x", message: "cannot read /home/ada/list.json")))
    var lines = Feed(source, sendsStatusMessages: false).lines().makeAsyncIterator()
    #expect(await lines.next()?.text == #"{"event":"status","state":"failed"}"#)
    source.publish([Item(5)], status: .loaded)
    #expect(await lines.next()?.text.contains(#""elements":[{"id":5,"n":0}]"#) == true)
    source.publish([Item(5)], status: .missing(SourceError(code: "y", message: "SELECT secret")))
    #expect(await lines.next()?.text == #"{"event":"status","state":"missing"}"#)

    let elements = ArrayDataSource<JSONElement>(
      status: .failed(SourceError(code: "x", message: "cannot read /home/ada/list.json")))
    var others = Feed(elements, sendsStatusMessages: false).lines().makeAsyncIterator()
    #expect(await others.next()?.text == #"{"event":"status","state":"failed"}"#)
  }

  @Test func `a Server-Sent Event has an id if its line has a token, and ends with an empty line`()
    async throws
  {
    let source = ArrayDataSource<Item>(status: .loading)
    var lines = Feed(source, key: "id").lines().makeAsyncIterator()
    let status = try #require(await lines.next())
    #expect(status.serverSentEvent == "data: {\"event\":\"status\",\"state\":\"loading\"}\n\n")
    source.publish([Item(5)], status: .loaded)
    let initial = try #require(await lines.next())
    let token = try #require(initial.token)
    #expect(initial.serverSentEvent == "id: \(token)\ndata: \(initial.text)\n\n")
  }

  @Test(arguments: ["\n", "\r", "\r\n", "\n\nid: 7\ndata: x\n\n", "\u{2028}", "\u{0}"])
  func `no text breaks a Server-Sent Event`(text: String) async throws {
    struct Note: Differentiable, Hashable, Codable, Identifiable {
      var id: String
    }
    let notes = ArrayDataSource([Note(id: text)])
    let element = try JSONElement(
      parsing: Array("{\r\n\"id\":\r 1,\n \"text\":\t\"\\n\\r\"\r}".utf8), key: "id")
    let failed = ArrayDataSource<Item>(status: .failed(SourceError(code: "x", message: text)))
    let feeds = [
      Feed(notes, key: "id") { $0.outputFormatting = .prettyPrinted },
      Feed(ArrayDataSource([element]), key: "id"), Feed(failed),
    ]
    for feed in feeds {
      var lines = feed.lines().makeAsyncIterator()
      let line = try #require(await lines.next())
      let event = line.serverSentEvent
      let breaks = event.unicodeScalars.filter { $0 == "\n" || $0 == "\r" }.count
      #expect(breaks == (line.token == nil ? 2 : 3))
      var parser = EventStreamParser()
      let events = try parser.parse(event.utf8)
      #expect(events.map(\.data) == [line.text] && events.map(\.id) == [line.token ?? ""])
    }
  }

  @Test func `an element that cannot be encoded holds the list back`() async throws {
    struct Number: Differentiable, Hashable, Encodable {
      var value: Double
      var differenceIdentifier: Double { value }
    }
    let source = ArrayDataSource([Number(value: 1)])
    let feed = Feed(source)
    var lines = feed.lines().makeAsyncIterator()
    #expect(await lines.next()?.text.contains(#""elements":[{"value":1}]"#) == true)
    source.append(Number(value: .nan))
    let status = try #require(await lines.next()?.text)
    #expect(
      status.hasPrefix(#"{"event":"status","state":"failed","message":"the element 1 cannot"#))
    #expect(feed.snapshot() == nil)
    source.publish([Number(value: 1), Number(value: 2)], status: .loaded)
    #expect(await lines.next()?.text.contains(#""since":0,"revision":2"#) == true)
    #expect(await lines.next()?.text == #"{"event":"status","state":"loaded"}"#)
  }

  @Test func `a silent list sends a sign of life`() async throws {
    let clock = ManualClock()
    let feed = Feed(ArrayDataSource([Item(1)]), clock: clock)
    let lines = feed.lines(aliveEvery: .seconds(15))
    let received = Shared<[String]>([])
    let task = Task {
      for await line in lines { received.append(line.text) }
    }
    for count in 1...3 {
      try await clock.waitForSleepers(1)
      #expect(received.value.count == count)
      clock.advance(by: .seconds(15))
    }
    try await clock.waitForSleepers(1)
    #expect(
      received.value.dropFirst().allSatisfy { $0.hasPrefix(#"{"event":"alive","revision":0,"#) })
    task.cancel()
    await task.value
  }

  @Test func `a canceled task ends its lines`() async throws {
    let feed = Feed(ArrayDataSource([Item(1)]))
    let task = Task {
      var count = 0
      for await _ in feed.lines() { count += 1 }
      return count
    }
    task.cancel()
    #expect(await task.value <= 1)
  }

  @Test func `a feed keeps its source alive, and is released`() async throws {
    weak var source: ArrayDataSource<Item>?
    weak var released: Feed?
    do {
      let property = ArrayDataSource([Item(1)])
      let feed = Feed(property)
      (source, released) = (property, feed)
      _ = feed.snapshot()
    }
    #expect(released == nil)
    #expect(source == nil)
  }
}
