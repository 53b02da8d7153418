import DataSourceTesting
import Diffing
import FileSources
import Foundation
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives
import SwappableSources
import TestSupport
import TestTags
import Testing

@testable import HTTPSources
@testable import RemoteSources

/// An element that is sent as JSON.
struct Item: Differentiable, Hashable, Codable, Sendable {
  var id: Int
  var n: Int

  init(_ id: Int, _ n: Int = 0) {
    (self.id, self.n) = (id, n)
  }

  var differenceIdentifier: Int { id }
}

extension RemoteDataSource<Item> {
  /// Creates a source that connects again without a pause.
  convenience init(fast transport: HTTPTransport) {
    self.init(
      transport, key: nil, decoding: ElementDecoding(configuring: { _ in }),
      timing: RemoteTiming(backoff: Backoff(first: .microseconds(10), longest: .milliseconds(1))),
      clock: .continuous)
  }
}

@Suite(.tags(.system), .timeLimit(.minutes(10))) struct HTTPTransportTests {
  static let initial =
    "data: {\"event\":\"initial\",\"revision\":1,\"token\":\"a\",\"elements\":[{\"id\":1,\"n\":0}]}\n\n"

  /// Returns the first error of a source.
  private func failure(of remote: RemoteDataSource<Item>) async throws -> SourceError {
    let record = try await SourceRecorder(remote).wait { $0.statuses.last?.error != nil }
    return try #require(record.statuses.last?.error)
  }

  private func transportError(_ error: SourceError?) -> TransportError? {
    error?.underlying as? TransportError
  }

  // MARK: Following a list

  @Test func `a remote source follows a list of a web service`() async throws {
    let source = ArrayDataSource([Item(1), Item(2)])
    let feed = Feed(source, key: "id")
    let server = try TestWebServer(["list": { feed }])
    let url = server.url()
    let remote = RemoteDataSource<Item>(.http(url, headers: ["Authorization": "Bearer x"]))
    #expect(remote.status == .idle)
    let recorder = SourceRecorder(remote)
    try await recorder.wait(for: [Item(1), Item(2)])
    source.transaction { draft in
      draft.move(from: 0, to: 1)
      draft.append(Item(3))
    }
    let record = try await recorder.wait(for: [Item(2), Item(1), Item(3)])
    #expect(record.violations.isEmpty)
    #expect(record.changes.last?.changeset.moves.count == 1)
    let request = try #require(server.requests.value.first)
    #expect(request.target == "/list")
    #expect(request.headers["accept"] == "text/event-stream")
    #expect(request.headers["accept-encoding"] == "identity")
    #expect(request.headers["user-agent"] == "Swappable")
    #expect(request.headers["authorization"] == "Bearer x")
    #expect(request.headers["last-event-id"] == nil)
  }

  @Test func `events that arrive byte by byte are complete`() async throws {
    let text = """
      : a comment\r
      event: source\r
      data: "ignored"\r
      \r
      id: a\r
      data: {"event":"initial","revision":1,"token":"a",\r
      data: "elements":[{"id":1,\r
      data: "n":0}]}\r
      \r
      \r\n
      """
    let server = try TestWebServer { _, connection in
      connection.send(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
      for byte in text.utf8 { connection.send(Array("1\r\n".utf8) + [byte] + Array("\r\n".utf8)) }
      await connection.ended()
    }
    let recorder = SourceRecorder(RemoteDataSource<Item>(fast: .http(server.url())))
    let record = try await recorder.wait(for: [Item(1)])
    #expect(record.violations.isEmpty)
    #expect(server.requests.value.count == 1)
  }

  @Test func `a cut at any byte loses nothing`() async throws {
    let items = [Item(1), Item(2)]
    let total =
      try #require(Feed(ArrayDataSource(items)).snapshot()).serverSentEvent.utf8.count
      + TestWebServer.eventHead.utf8.count
    for cut in stride(from: 0, through: total + 200, by: 7) {
      let source = ArrayDataSource(items)
      let feed = Feed(source)
      let cuts = Shared([cut, cut / 2, cut])
      let server = try TestWebServer { request, connection in
        var rest = cuts.modify { $0.isEmpty ? Int.max : $0.removeFirst() }
        func send(_ text: String) -> Bool {
          let part = text.utf8.prefix(rest)
          rest -= part.count
          return connection.send(part) && rest > 0
        }
        guard send(TestWebServer.eventHead) else { return }
        let lines = feed.lines(
          since: request.headers["last-event-id"], aliveEvery: .milliseconds(20))
        for await line in lines {
          guard send(line.serverSentEvent) else { return }
        }
      }
      let recorder = SourceRecorder(RemoteDataSource<Item>(fast: .http(server.url())))
      try await recorder.wait(for: items)
      source.transaction { draft in
        draft.remove(at: 0)
        draft.append(Item(3))
      }
      let record = try await recorder.wait(for: [Item(2), Item(3)])
      #expect(record.violations.isEmpty, "cut at \(cut)")
      #expect(record.changes.count <= 2, "cut at \(cut)")
    }
  }

  @Test func `a service that stops and starts again sends what has changed`() async throws {
    let source = ArrayDataSource((0..<10).map { Item($0) })
    let feed = Feed(source, key: "id")
    let server = try TestWebServer(["list": { feed }])
    let recorder = SourceRecorder(RemoteDataSource<Item>(fast: .http(server.url())))
    try await recorder.wait { $0.contents.count == 10 && $0.state == .loaded }
    let token = try #require(feed.snapshot()?.token)
    server.stop()
    let away = try await recorder.wait { $0.statuses.last?.error != nil }
    #expect(away.contents == Array(source.snapshot))
    try await recorder.wait {
      $0.statuses.last?.error?.message.hasSuffix("cannot connect to 127.0.0.1") == true
    }
    for round in 1...50 { source.update(at: round % 10) { $0.n = round } }
    source.remove(at: 0)
    let count = server.requests.value.count
    try server.start()
    let record = try await recorder.wait(for: Array(source.snapshot))
    #expect(record.events.count == away.events.count + 1)
    #expect(record.violations.isEmpty)
    #expect(server.requests.value[count].headers["last-event-id"] == token)
  }

  @Test func `a service that starts again with another list is followed`() async throws {
    let feeds = Shared(Feed(ArrayDataSource([Item(1), Item(2)]), key: "id"))
    let server = try TestWebServer(["list": { feeds.value }])
    let recorder = SourceRecorder(RemoteDataSource<Item>(fast: .http(server.url())))
    try await recorder.wait(for: [Item(1), Item(2)])
    feeds.value = Feed(ArrayDataSource([Item(2), Item(3)]), key: "id")
    server.stop()
    try server.start()
    let record = try await recorder.wait(for: [Item(2), Item(3)])
    #expect(record.changes.last?.changeset.deletions == [0])
    #expect(record.changes.last?.changeset.insertions == [1])
    #expect(record.violations.isEmpty)
  }

  @Test func `a list over HTTP keeps the event contract`() async throws {
    let source = ArrayDataSource<Item>()
    let feed = Feed(source, key: "id")
    let server = try TestWebServer(["list": { feed }])
    var editor = RandomEditor<Item>(
      seed: 3, size: 10, make: { random in Item(random.below(1_000_000), random.below(3)) },
      change: { item, random in item.n = item.n + 1 + random.below(3) })
    let recorder = SourceRecorder(RemoteDataSource<Item>(fast: .http(server.url())))
    for round in 0..<60 {
      try editor.step(source)
      if round % 10 == 9 {
        server.stop()
        try server.start()
      }
      if editor.random.oneIn(3) { try await recorder.wait(for: Array(source.snapshot)) }
    }
    let record = try await recorder.wait(for: Array(source.snapshot))
    #expect(record.violations.isEmpty)
  }

  @Test func `a released source closes its connection`() async throws {
    let feed = Feed(ArrayDataSource([Item(1)]))
    let server = try TestWebServer(["list": { feed }])
    do {
      let remote = RemoteDataSource<Item>(.http(server.url()))
      _ = try await remote.loaded()
      #expect(server.connectionCount.value == 1)
    }
    try await wait(for: "the connection to end") { server.connectionCount.value == 0 }
  }

  @Test func `a source that is released before the answer closes its connection`() async throws {
    let server = try TestWebServer { _, connection in await connection.ended() }
    for count in 1...20 {
      do {
        let remote = RemoteDataSource<Item>(.http(server.url()))
        let observation = remote.observe { _ in }
        if count % 2 == 0 {
          try await wait(for: "the request") { server.connectionCount.value > 0 }
        }
        observation.dispose()
      }
      try await wait(for: "the connection to end") { server.connectionCount.value == 0 }
    }
  }

  @Test func `a line break inside a string is an error, not a space`() async throws {
    let server = try TestWebServer { _, connection in
      connection.send(TestWebServer.eventHead + Self.initial)
      connection.send(#"data: {"event":"status","state":"failed","message":"a"#)
      connection.send("\ndata: b\"}\n\n")
      await connection.ended()
    }
    let remote = RemoteDataSource<Item>(.http(server.url()), clock: ManualClock())
    let error = try await failure(of: remote)
    #expect(error.message.contains("the server sent a line that is not valid"), "\(error)")
  }

  // MARK: Requests

  @Test func `a password in the address is sent as authorization, and not shown`() async throws {
    let feed = Feed(ArrayDataSource([Item(1)]))
    let server = try TestWebServer(["list": { feed }])
    let url = try #require(URL(string: "http://me:p%40ss@127.0.0.1:\(server.port)/list?key=x"))
    let transport = HTTPTransport.http(url)
    #expect("\(transport)" == "http://127.0.0.1:\(server.port)/list?…")
    let remote = RemoteDataSource<Item>(fast: transport)
    #expect(try await failure(of: remote).message.contains("status 404"))
    let request = try #require(server.requests.value.first)
    #expect(request.target == "/list?key=x")
    #expect(request.headers["authorization"] == "Basic bWU6cEBzcw==")
  }

  @Test func `headers are made for each request, and an error is shown`() async throws {
    struct Expired: Error, CustomStringConvertible { let description = "the key has expired" }
    let feed = Feed(ArrayDataSource([Item(1)]))
    let server = try TestWebServer(["list": { feed }])
    let state = Shared("expired")
    let transport = HTTPTransport(server.url()) {
      let key = state.value
      if key == "expired" { throw Expired() }
      return ["X-Key": key]
    }
    let recorder = SourceRecorder(RemoteDataSource<Item>(fast: transport))
    try await recorder.wait {
      $0.statuses.last?.error?.message.hasSuffix("the key has expired") == true
    }
    state.value = "new\n"
    try await recorder.wait {
      $0.statuses.last?.error?.message.hasSuffix("or another control character") == true
    }
    state.value = "new"
    try await recorder.wait(for: [Item(1)])
    #expect(server.requests.value.map { $0.headers["x-key"] } == ["new"])
  }

  @Test func `a header of the program replaces one of the source, and must be one line`()
    async throws
  {
    let feed = Feed(ArrayDataSource([Item(1)]))
    let server = try TestWebServer(["list": { feed }])
    let request = EventRequest(
      url: server.url(), headers: ["Accept": "a", "User-Agent": "b"],
      privateHeaders: ["accept": "c", "X": ""])
    #expect(
      request.headers(for: server.url()) == ["accept": "c", "User-Agent": "b", "X": ""])
    let recorder = SourceRecorder(
      RemoteDataSource<Item>(fast: .http(server.url(), headers: ["accept": "c", "X": ""])))
    try await recorder.wait(for: [Item(1)])
    #expect(server.requests.value.first?.headers["accept"] == "c")
    #expect(server.requests.value.first?.headers["x"] == "")
    let remote = RemoteDataSource<Item>(
      fast: .http(server.url(), headers: ["X\u{1B}\r": "secret\r\nY: b"]))
    let error = try await failure(of: remote)
    #expect(error.message.contains("the header X ") && !error.message.contains("secret"))
    #expect(server.requests.value.count == 1)
  }

  @Test func `a token cannot add headers`() async throws {
    let server = try TestWebServer { _, connection in
      connection.send(TestWebServer.eventHead)
      connection.send(Self.initial.replacing(#""a""#, with: #""a\r\nX-Evil: 1""#))
    }
    let recorder = SourceRecorder(RemoteDataSource<Item>(fast: .http(server.url())))
    try await recorder.wait(for: [Item(1)])
    try await wait(for: "the third request") { server.requests.value.count >= 3 }
    for request in server.requests.value {
      #expect(request.headers["x-evil"] == nil)
      #expect(request.headers["last-event-id"] == nil)
    }
  }

  @Test(arguments: ["ftp://host/list", "list", "http:", "https:///list"])
  func `an address of another kind is refused`(text: String) async throws {
    let url = try #require(URL(string: text))
    let error = try await failure(of: RemoteDataSource<Item>(fast: .http(url)))
    #expect(error.message.contains("this is no address of a web service; use https://HOST/PATH"))
    #expect(transportError(error)?.retry == .never)
  }

  @Test(arguments: [
    ("list", "list"), ("list?a=b", "list?…"), ("list#a", "list#…"), ("list?a=b#c", "list?…"),
    ("list#a?b", "list#…"),
  ])
  func `neither the query nor the fragment is shown`(path: String, shown: String) throws {
    let url = try #require(URL(string: "https://host/\(path)"))
    #expect("\(HTTPTransport.http(url))" == "https://host/\(shown)")
  }

  @Test func `a request asks proxies for a fresh answer`() async throws {
    let feed = Feed(ArrayDataSource([Item(1)]))
    let server = try TestWebServer(["list": { feed }])
    let recorder = SourceRecorder(RemoteDataSource<Item>(fast: .http(server.url())))
    try await recorder.wait(for: [Item(1)])
    #expect(server.requests.value.first?.headers["cache-control"] == "no-cache")
  }

  @Test(arguments: [
    ("http://h/a%20b/é", "http://h/a%20b/%C3%A9"),
    ("http://h/x?q=[1]&r=a%26b", "http://h/x?q=%5B1%5D&r=a%26b"),
    ("http://h/a%2Fb/c d", "http://h/a%2Fb/c%20d"),
    ("http://h/100%/%zz/%e/%C3é%", "http://h/100%25/%25zz/%25e/%C3%C3%A9%25"),
    ("http://h/a+b?c+d=%2B&e=é", "http://h/a+b?c+d=%2B&e=%C3%A9"),
    ("http://h/a?b?c/d:@!$&'()*+,;=~#e%20é", "http://h/a?b?c/d:@!$&'()*+,;=~#e%20%C3%A9"),
    ("http://h/\"<>\\^`{|}\u{1}\u{7F}", "http://h/%22%3C%3E%5C%5E%60%7B%7C%7D%01%7F"),
    ("http://me%40x:pé%20ß@h/x", "http://me%40x:p%C3%A9%20%C3%9F@h/x"),
    ("http://bücher.example/a%20é", "http://xn--bcher-kva.example/a%20%C3%A9"),
    ("http://[::1]:80/a%20 [b]", "http://[::1]:80/a%20%20%5Bb%5D"),
    ("http://h/a//b@c%20é", "http://h/a//b@c%20%C3%A9"), ("http://h", "http://h"),
  ])
  func `an escape that is there stays`(text: String, address: String) {
    #expect(URL(escaping: text)?.absoluteString == address)
  }

  @Test(arguments: ["http://a b/x", "http://h:x/", "http://[::1/x"])
  func `text with a host that is not valid is no address`(text: String) {
    #expect(URL(escaping: text) == nil)
  }

  // MARK: Redirections

  @Test func `the address of a redirection is escaped once`() async throws {
    let feed = Feed(ArrayDataSource([Item(1)]))
    let server = try TestWebServer { request, connection in
      if request.target == "/list" {
        connection.send(
          "HTTP/1.1 302 Moved\r\nLocation: /a%20b/é?q=[1]\r\nContent-Length: 0\r\n"
            + "Connection: close\r\n\r\n")
      } else {
        connection.send(TestWebServer.eventHead + (feed.snapshot()?.serverSentEvent ?? ""))
      }
    }
    let recorder = SourceRecorder(RemoteDataSource<Item>(fast: .http(server.url())))
    try await recorder.wait(for: [Item(1)])
    #expect(server.requests.value[1].target == "/a%20b/%C3%A9?q=%5B1%5D")
  }

  @Test(arguments: [
    ("https://h/list", "http://h/list", true), ("https://h/list", "HTTP://me:word@o/?key=x", true),
    ("HTTPS://h/list", "http://h:443/list", true), ("https://h/list", "https://o/x", false),
    ("http://h/list", "https://h/", false), ("http://h/list", "http://o/x", false),
    ("https://h/list", "other", false),
  ])
  func `a redirection does not end the encryption`(
    from: String, location: String, isRefused: Bool
  ) throws {
    let url = try #require(URL(string: from))
    let target = try #require(URL(escaping: location, relativeTo: url))
    let refusal = EventRequest.refusal(ofRedirectionTo: target, from: url)
    #expect((refusal != nil) == isRefused)
    let text = refusal?.description ?? ""
    #expect(text.contains("from https to http://") == isRefused)
    #expect(!text.contains("word") && !text.contains("key"))
  }

  @Test(arguments: [301, 302, 303, 307, 308])
  func `a redirection is followed`(status: Int) async throws {
    let feed = Feed(ArrayDataSource([Item(1)]))
    let server = try TestWebServer { request, connection in
      if request.target == "/old" {
        connection.send(
          "HTTP/1.1 \(status) Moved\r\nLocation: /new\r\nContent-Length: 0\r\n"
            + "Connection: close\r\n\r\n")
      } else {
        connection.send(TestWebServer.eventHead)
        // The first stream ends, so the next request has a token.
        let line = feed.snapshot()
        if request.headers["last-event-id"] == nil {
          connection.send(line?.serverSentEvent ?? "")
        } else {
          await connection.send(
            feed, since: request.headers["last-event-id"], aliveEvery: .milliseconds(20))
        }
      }
    }
    let transport = HTTPTransport.http(server.url("/old"), headers: ["Authorization": "Bearer x"])
    let recorder = SourceRecorder(RemoteDataSource<Item>(fast: transport))
    try await recorder.wait(for: [Item(1)])
    // The source continues the stream silently.
    try await wait(for: "the second connection") { server.requests.value.count >= 4 }
    let requests = server.requests.value
    #expect(requests.prefix(4).map(\.target) == ["/old", "/new", "/old", "/new"])
    #expect(requests.allSatisfy { $0.headers["authorization"] == "Bearer x" })
    #expect(requests[3].headers["last-event-id"] == feed.snapshot()?.token)
    #expect(requests[3].headers["accept"] == "text/event-stream")
  }

  @Test func `another server does not receive the headers`() async throws {
    let feed = Feed(ArrayDataSource([Item(1)]))
    let other = try TestWebServer(["list": { feed }])
    let location = other.url("/list", host: "localhost")
    let server = try TestWebServer { _, connection in
      connection.send(
        "HTTP/1.1 307 Moved\r\nLocation: \(location)\r\nContent-Length: 0\r\n"
          + "Connection: close\r\n\r\n")
    }
    let transport = HTTPTransport.http(
      server.url(), headers: ["Authorization": "Bearer x", "X-Key": "x"])
    let recorder = SourceRecorder(RemoteDataSource<Item>(fast: transport))
    try await recorder.wait(for: [Item(1)])
    #expect(server.requests.value.first?.headers["x-key"] == "x")
    let request = try #require(other.requests.value.first)
    #expect(request.headers["authorization"] == nil)
    #expect(request.headers["x-key"] == nil)
    #expect(request.headers["accept"] == "text/event-stream")
  }

  @Test(arguments: [
    ("/loop", "the server redirects the request more than 20 times"),
    ("file:///etc/passwd", "status 302: no way"),
  ])
  func `a redirection that leads nowhere is reported`(
    location: String, message: String
  ) async throws {
    let server = try TestWebServer { _, connection in
      connection.send(
        "HTTP/1.1 302 Moved\r\nLocation: \(location)\r\nContent-Length: 6\r\n"
          + "Connection: close\r\n\r\nno way")
    }
    let error = try await failure(of: RemoteDataSource<Item>(fast: .http(server.url())))
    #expect(error.message.contains(message), "\(error)")
  }

  // MARK: Answers that are no events

  @Test(arguments: [
    (
      "200 OK\r\nContent-Type: text/html; charset=utf-8", "<!DOCTYPE html>\n<title>Hello</title>",
      "the server sent text/html, not text/event-stream; check the address", 200
    ),
    (
      "200 OK\r\nContent-Type: application/json", "[1]",
      "the server sent application/json, not text/event-stream; check the address", 200
    ),
    (
      "502 Bad Gateway\r\nContent-Type: text/html", "<html>",
      "the server answered with status 502 and a page", 502
    ),
    (
      "404 Not Found\r\nContent-Type: text/plain", "\r\n  there is no \u{1B}[1mlist \"x\"\nmore",
      "the server answered with status 404: there is no [1mlist \"x\"; check the address", 404
    ),
    (
      "401 Unauthorized\r\nWWW-Authenticate: Bearer", "",
      "the server answered with status 401; check the authorization", 401
    ),
    (
      "500 Oops\r\nContent-Type: text/plain", String(repeating: "long ", count: 10_000),
      "the server answered with status 500: " + String(repeating: "long ", count: 40), 500
    ),
  ])
  func `an answer that is no stream of events is reported`(
    head: String, body: String, message: String, status: Int
  ) async throws {
    let server = try TestWebServer { _, connection in
      connection.send(
        "HTTP/1.1 \(head)\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)"
      )
    }
    let error = try await failure(of: RemoteDataSource<Item>(fast: .http(server.url())))
    #expect(error.code == "disconnected")
    #expect(error.message == "\(server.url()): \(message)")
    #expect(transportError(error)?.statusCode == status)
    #expect(transportError(error)?.retry == .afterPause)
  }

  @Test func `a page without an end is reported`() async throws {
    let server = try TestWebServer { _, connection in
      connection.send("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n")
      while connection.send("<p>more</p>\n") {}
    }
    let error = try await failure(of: RemoteDataSource<Item>(fast: .http(server.url())))
    #expect(error.message.contains("the server sent text/html, not text/event-stream"))
  }

  @Test(arguments: [
    ("404 Not Found\r\nContent-Type: text/plain", "no such list\nat", "status 404: no such list;"),
    ("502 Bad Gateway\r\nContent-Type: text/html", "<html>", "status 502 and a page"),
    ("200 OK\r\nContent-Type: application/xhtml+xml", "", "sent application/xhtml+xml, not"),
    ("503 Busy\r\nContent-Type: text/plain", "no end of the line", "status 503: no end of the"),
  ])
  func `an error whose answer has no end is reported`(
    head: String, body: String, message: String
  ) async throws {
    let server = try TestWebServer { _, connection in
      connection.send("HTTP/1.1 \(head)\r\nRetry-After: 9\r\n\r\n\(body)")
      await connection.ended()
    }
    let remote = RemoteDataSource<Item>(.http(server.url()), clock: ManualClock())
    let error = try await failure(of: remote)
    #expect(error.message.contains(message), "\(error)")
    #expect(transportError(error)?.retry == .after(.seconds(9)))
    try await wait(for: "the connection to end") { server.connectionCount.value == 0 }
  }

  @Test func `after an error, the source connects again and keeps its contents`() async throws {
    let source = ArrayDataSource([Item(1)])
    let feed = Feed(source, key: "id")
    let fails = Shared(false)
    let server = try TestWebServer { request, connection in
      if fails.value {
        connection.send("HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\noops")
        return
      }
      connection.send(TestWebServer.eventHead)
      await connection.send(
        feed, since: request.headers["last-event-id"], aliveEvery: .milliseconds(20))
    }
    let recorder = SourceRecorder(RemoteDataSource<Item>(fast: .http(server.url())))
    let first = try await recorder.wait(for: [Item(1)])
    fails.value = true
    server.stop()
    try server.start()
    try await recorder.wait {
      $0.statuses.last?.error?.message.hasSuffix("status 500: oops") == true
    }
    fails.value = false
    let record = try await recorder.wait { $0.state == .loaded }
    #expect(record.events.count == first.events.count)
  }

  @Test func `after status 204, the source does not connect again`() async throws {
    let clock = ManualClock()
    let answers = Shared(0)
    let server = try TestWebServer { _, connection in
      let number = answers.modify { count in
        count += 1
        return count
      }
      guard number == 1 else {
        connection.send("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
        return
      }
      connection.send(TestWebServer.eventHead + Self.initial)
    }
    let remote = RemoteDataSource<Item>(.http(server.url()), clock: clock)
    let recorder = SourceRecorder(remote)
    try await recorder.wait(for: [Item(1)])
    try await wait(for: "the pause") {
      clock.nextDeadline.map { $0 < clock.now.advanced(by: .seconds(1)) } == true
    }
    clock.advanceToNextDeadline()
    let record = try await recorder.wait {
      $0.statuses.last?.error?.message.contains("status 204") == true
    }
    #expect(record.contents == [Item(1)])
    #expect(transportError(record.statuses.last?.error)?.retry == .never)
    try await wait(for: "the end of all timers") { clock.sleeperCount == 0 }
    clock.advance(by: .seconds(1_000_000))
    #expect(server.requests.value.count == 2)
  }

  // MARK: Pauses

  @Test(arguments: [
    ("HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 9\r\n\r\nfull now\n", 7),
    (
      "HTTP/1.1 429 Slow down\r\nRetry-After: 99999999999999999999\r\nContent-Length: 0\r\n\r\n",
      3_600
    ),
    ("HTTP/1.1 503 Busy\r\nRetry-After: soon\r\nContent-Length: 0\r\n\r\n", 0),
    ("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", 0),
    ("\(TestWebServer.eventHead)retry: 9000\n\n\(initial)", 9),
    (
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 900\r\n\r\n"
        + "retry: 9999999999999\n\n\(initial)", 3_600
    ),
  ])
  func `a source waits as long as the server asks for`(answer: String, delay: Int) async throws {
    let clock = ManualClock()
    let server = try TestWebServer { _, connection in connection.send(answer) }
    let recorder = SourceRecorder(RemoteDataSource<Item>(.http(server.url()), clock: clock))
    let record = try await recorder.wait { $0.statuses.last?.error != nil }
    #expect(record.statuses.last?.error?.message.hasPrefix("\(server.url()): the server ") == true)
    // The pause is at most a tenth of a second longer. The timer of a silent connection is no longer set.
    let earliest = ManualClock.Instant(.seconds(delay))
    try await wait(for: "a pause of \(delay) seconds") {
      clock.nextDeadline.map { $0 >= earliest && $0 <= earliest.advanced(by: .milliseconds(200)) }
        == true
    }
    #expect(server.requests.value.count == 1)
    clock.advanceToNextDeadline()
    try await wait(for: "the second request") { server.requests.value.count == 2 }
  }

  @Test(arguments: [
    ("0", 0), ("12", 12), ("Sun, 06 Nov 1994 08:49:37 GMT", 37),
    ("Sun, 06 Nov 1994 08:48:00 GMT", 0),
    ("Sun, 06 Nov 2094 08:49:37 GMT", 3_600), ("-1", nil), ("", nil), ("later", nil), ("1.5", nil),
  ])
  func `the time to wait is a number of seconds or a date`(field: String, seconds: Int?) {
    let now = Date(timeIntervalSince1970: 784_111_740)
    #expect(TransportError.delay(field, at: now) == seconds.map { .seconds($0) })
  }

  @Test func `a silent connection is given up, and closed`() async throws {
    let clock = ManualClock()
    let server = try TestWebServer { _, connection in
      connection.send(TestWebServer.eventHead + Self.initial)
      await connection.ended()
    }
    let recorder = SourceRecorder(RemoteDataSource<Item>(.http(server.url()), clock: clock))
    try await recorder.wait(for: [Item(1)])
    try await wait(for: "the timer") {
      clock.nextDeadline == clock.now.advanced(by: .seconds(5))
    }
    clock.advance(by: .seconds(45))
    let record = try await recorder.wait { $0.statuses.last?.error != nil }
    #expect(
      record.statuses.last?.error?.message.contains("has sent nothing for 45.0 seconds") == true)
    try await wait(for: "the connection to end") { server.connectionCount.value == 0 }
  }

  @Test func `a server that never answers is reported at the first attempt`() async throws {
    let clock = ManualClock()
    let server = try TestWebServer { _, connection in await connection.ended() }
    let recorder = SourceRecorder(RemoteDataSource<Item>(.http(server.url()), clock: clock))
    try await wait(for: "the request") { server.requests.value.count == 1 }
    try await wait(for: "the timer") {
      clock.nextDeadline == clock.now.advanced(by: .seconds(45))
    }
    clock.advanceToNextDeadline()
    let record = try await recorder.wait { $0.statuses.last?.error != nil }
    #expect(
      record.statuses.last?.error?.message
        == "\(server.url()): the server has sent nothing for 45.0 seconds")
  }

  @Test func `a comment is a sign of life`() async throws {
    let clock = ManualClock()
    let (comments, comment) = AsyncStream.makeStream(of: String.self)
    let server = try TestWebServer { _, connection in
      connection.send(TestWebServer.eventHead + Self.initial)
      for await text in comments { connection.send(text) }
    }
    let recorder = SourceRecorder(RemoteDataSource<Item>(.http(server.url()), clock: clock))
    try await recorder.wait(for: [Item(1)])
    for _ in 1...3 {
      clock.advance(by: .seconds(40))
      comment.yield(": still here\n\n")
      try await wait(for: "the timer to start anew") {
        clock.nextDeadline == clock.now.advanced(by: .seconds(45))
      }
    }
    #expect(recorder.record.state == .loaded)
    #expect(server.requests.value.count == 1)
  }
}
