import Foundation
import RemoteSources
import Swappable
import TestSupport
import TestTags
import Testing

/// The code of the guides about served lists.
@Suite(.tags(.system), .timeLimit(.minutes(10))) struct ServingListsGuideTests {
  @Test(arguments: [("ServingLists", 2), ("ServerLimits", 2)])
  func `the guides' code is compiled here`(name: String, count: Int) throws {
    let guide = try Guide(name)
    #expect(guide.code.count == count)
    let todo = #filePath.replacing("ServingListsGuideTests", with: "Todo")
    let missing = try Set(guide.paragraphs(missingIn: #filePath))
      .intersection(guide.paragraphs(missingIn: todo))
    #expect(missing == [])
  }

  @Test func `the server of the guide is compiled in its own package`() throws {
    let guide = try Guide("ListsInABrowser")
    let server = try Guide.package().appendingPathComponent(
      "Playgrounds/LiveService/Sources/TodoService/TodoService.swift")
    #expect(guide.code.count == 4)
    #expect(try guide.blocks(missingIn: server.path).count == 3)
    let missing = try Set(guide.paragraphs(missingIn: #filePath))
      .intersection(guide.paragraphs(missingIn: server.path))
    #expect(missing == [])
  }

  /// The path of the program. The test has a folder of its own.
  private func path() -> String {
    let path = "lists.sock"

    return path
  }

  @Test func `a list that is served is a list like any other`() async throws {
    let print = Printed()
    let directory = try TemporaryDirectory()
    let path = directory(path())

    let todos = ArrayDataSource([Todo(id: 1, title: "Write")])
    let server = try FeedServer(path: path, feeds: ["todos": Feed(todos, key: "id")])

    let remote = RemoteDataSource<Todo>(.unixSocket(path: path, list: "todos"))
    let observation = remote.observe { event in
      if case .change(let change) = event { print(change) }
    }
    try await remote.loaded()
    todos.append(Todo(id: 2, title: "Test"))
    for await contents in remote.snapshots() where contents.count == 2 { break }

    observation.dispose()
    server.stop()
    let lines = print.lines.flatMap { $0.components(separatedBy: "\n") }
    #expect(try lines == Guide("ServingLists").output)
  }

  @Test func `limits protect a server`() throws {
    let directory = try TemporaryDirectory()
    let path = directory("s")
    let todos = ArrayDataSource([Todo(id: 1, title: "Write")])
    let feed = Feed(
      todos, key: "id", retaining: .init(revisions: 1_000, age: .seconds(600), bytes: 16 << 20))

    var limits = FeedServer.Limits()
    limits.connections = 200
    limits.stallTime = .seconds(20)
    let server = try FeedServer(path: path, feeds: ["todos": feed], limits: limits)
    #expect(server.connectionCount == 0)
  }

  @Test func `a browser receives events, and the contents once`() async throws {
    let todos = ArrayDataSource([Todo(id: 1, title: "Write")])
    let feed = Feed(todos, key: "id")

    func sendEvents(since lastEventID: String?, write: (String) async throws -> Void) async throws {
      for await line in feed.lines(since: lastEventID) {
        try await write(line.serverSentEvent)
      }
    }

    func contents(ifNoneMatch tag: String?) -> (status: Int, tag: String?, body: [UInt8]) {
      if let token = tag?.split(separator: "\"").last, feed.isCurrent(String(token)) {
        return (304, "\"\(token)\"", [])
      }
      guard let line = feed.snapshot() else { return (503, nil, []) }
      return (200, line.token.map { "\"\($0)\"" }, line.bytes)
    }

    let first = contents(ifNoneMatch: nil)
    let token = try #require(feed.snapshot()?.token)
    #expect(first.status == 200 && first.tag == "\"\(token)\"")
    for tag in ["\"\(token)\"", "W/\"\(token)\""] {
      let second = contents(ifNoneMatch: tag)
      #expect(second.status == 304 && second.tag == first.tag)
    }
    todos.append(Todo(id: 2, title: "Test"))
    var parser = EventStreamParser()
    var events: [EventStreamParser.Event] = []
    struct Enough: Error {}
    await #expect(throws: Enough.self) {
      try await sendEvents(since: token) { text in
        events += try parser.parse(text.utf8)
        if events.count == 2 { throw Enough() }
      }
    }
    #expect(events[0].data.hasPrefix(#"{"event":"alive""#))
    #expect(events[1].data.contains(#""inserts":[{"at":1,"element":{"id":2,"title":"Test"}}]"#))
    #expect("\"\(events[1].id)\"" == contents(ifNoneMatch: nil).tag)
  }

  @Test func `a transport of another kind is a type with one method`() async throws {
    let directory = try TemporaryDirectory()
    try directory.write(
      #"{"event":"initial","revision":1,"elements":[{"id":1,"title":"Write"}]}"#, "\n", to: "lines")
    let remote = RemoteDataSource<Todo>(FileTransport(path: directory("lines")))
    let contents = try await remote.loaded()
    #expect(contents.map(\.title) == ["Write"])
  }
}

struct FileTransport: RemoteTransport {
  let path: String
  var description: String { "file:\(path)" }

  func connect(since token: String?) async throws -> any AsyncSequence<[UInt8], any Error> {
    let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    return AsyncThrowingStream { continuation in continuation.yield(bytes) }
  }
}
