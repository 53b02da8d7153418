import DataSourceTesting
import Diffing
import FileSources
import Foundation
import ObservableCollections
import ReactiveSignals
@testable import RemoteSources
import TestSupport
import TestTags
import Testing

/// Elements whose encoding fails or runs code, and elements that are hard to encode.
@Suite(.tags(.concurrency), .timeLimit(.minutes(10))) struct FeedEncodingTests {
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
    try await wait(for: "the line with the first contents") { received.value.count >= 4 }
    #expect(received.value[3].contains(#""event":"initial""#))
    task.cancel()
    await task.value
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

  // MARK: Dates

  private struct Visit: Differentiable, Equatable, Sendable, Codable {
    var id: Int
    var at: Date
    var others: [Date?] = []
    var differenceIdentifier: Int { id }
  }

  private func text(_ date: Date) throws -> String {
    let line = try #require(Feed(ArrayDataSource([Visit(id: 1, at: date)])).snapshot()?.text)
    let elements = try #require(line.split(separator: #""elements":[{"at":"#).last)
    return String(elements.prefix { $0 != "," })
  }

  @Test(
    arguments: [
      (0, "0"), (1_760_000_000, "1760000000000"), (1_760_000_000.123, "1760000000123"),
      (1_700_000_000.123456, "1700000000123.456"), (-1, "-1000"),
      (253_402_300_799.999, "253402300799999"), (-62_135_596_800, "-62135596800000"),
    ] as [(Double, String)])
  func `a date is sent as milliseconds since 1970`(seconds: Double, milliseconds: String) throws {
    #expect(try text(Date(timeIntervalSince1970: seconds)) == milliseconds)
  }

  @Test func `dates come back equal, with as many digits as they need`() async throws {
    // The first one is beside the `Double` of 2025-10-09 08:53:20.123 since 1970.
    var dates = [781_692_800.123, 1.0 / 3, 0.1, 1e-9, 1, 63e9, -63e9].map {
      Date(timeIntervalSinceReferenceDate: $0)
    }
    var random = SeededGenerator(seed: 1)
    for range in [-63e9...252e9, -1e9...2e9, -1...1] {
      for _ in 0..<2_000 {
        let seconds = Double.random(in: range, using: &random)
        dates.append(Date(timeIntervalSinceReferenceDate: seconds))
        dates.append(Date(timeIntervalSinceReferenceDate: (seconds * 1000).rounded() / 1000))
        dates.append(Date(timeIntervalSince1970: (seconds * 1000).rounded() / 1000))
      }
    }
    let visits = dates.enumerated().map { Visit(id: $0, at: $1, others: [$1, nil]) }
    let proxy = FaultProxy(Feed(ArrayDataSource(visits), key: "id"), seed: 1, faults: [.none])
    let recorder = SourceRecorder(RemoteDataSource<Visit>(proxy))
    try await recorder.wait(for: visits)
  }

  @Test func `a date that is no number is a status`() async throws {
    let visits = ArrayDataSource([Visit(id: 1, at: Date(timeIntervalSince1970: .infinity))])
    var lines = Feed(visits).lines().makeAsyncIterator()
    let line = await lines.next()?.text
    #expect(line?.contains("at .at: a date inf seconds after 1970") == true, "\(line ?? "")")
    visits[0].at = Date(timeIntervalSince1970: 1e127)
    let last = await lines.next()?.text
    #expect(last?.contains("at .at: a date 1e+127 seconds after 1970") == true, "\(last ?? "")")
  }

  @Test func `an encoder and a decoder can be configured for other dates`() async throws {
    let visits = [Visit(id: 1, at: Date(timeIntervalSince1970: 1_760_000_000))]
    let feed = Feed(ArrayDataSource(visits)) { $0.dateEncodingStrategy = .iso8601 }
    #expect(feed.snapshot()?.text.contains(#""at":"2025-10-09T08:53:20Z""#) == true)
    let proxy = FaultProxy(feed, seed: 1, faults: [.none])
    let source = RemoteDataSource<Visit>(proxy) { $0.dateDecodingStrategy = .iso8601 }
    try await SourceRecorder(source).wait(for: visits)
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
}
