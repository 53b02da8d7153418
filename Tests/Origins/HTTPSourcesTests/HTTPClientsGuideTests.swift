import Diffing
import Foundation
import HTTPSources
import ObservableCollections
import ReactiveSignals
import RemoteSources
import SwappableSources
import TerminalViews
import TestSupport
import TestTags
import Testing

/// The code of the guide "Read a list over HTTP".
@Suite(.tags(.system), .timeLimit(.minutes(10))) struct HTTPClientsGuideTests {
  struct Todo: Codable, Hashable, Identifiable, Sendable, Differentiable {
    let id: Int
    var title: String
  }

  private let printed = Log<String>([])

  /// Replaces `print` in the code of the guide.
  private func print(_ items: Any...) {
    printed.append(items.map { "\($0)" }.joined(separator: " "))
  }

  @Test func `the guide's code is compiled here`() throws {
    let guide = try Guide("HTTPClients")
    #expect(guide.code.count == 4)
    #expect(try guide.paragraphs(missingIn: #filePath) == [])
  }

  func follow(_ todos: any DataSource<Todo>) async {
    for await _ in todos.statuses() where todos.state.hasLoaded { break }
    for await event in todos.events() {
      switch event {
      case .initial(let contents, _): print("at first:", contents.map(\.title))
      case .change(let change): print(change)
      }
    }
  }

  func report(_ todos: any DataSource<Todo>) async {
    var isLost = false
    for await status in todos.statuses() {
      let wasLost = isLost
      isLost = status.error?.code == "disconnected"
      if isLost != wasLost { print(isLost ? "connection lost" : "connection restored") }
      if let error = status.error, error.code == "reported" { print("server:", error.message) }
    }
  }

  func run(_ url: URL) async throws {
    let signals = try TerminalSignals([.interrupt, .terminate])
    let todos = RemoteDataSource<Todo>(.http(url))
    let tasks = [Task { await follow(todos) }, Task { await report(todos) }]
    for await _ in signals.signals { break }
    for task in tasks { task.cancel() }
  }

  /// The ends of the program. The tests do not run them, because a process has one object for signals.
  private func program() async {
    guard let url = URL(string: "http://localhost:8080/todos/events") else { exit(1) }
    do {
      try await run(url)
    } catch {
      print(error)
      exit(1)
    }
  }

  @Test func `the program prints what the guide says`() async throws {
    let guide = try Guide("HTTPClients")
    func lines() -> [String] { printed.value.flatMap { $0.components(separatedBy: "\n") } }
    let source = ArrayDataSource([Todo(id: 1, title: "Write")])
    let feed = Feed(source, key: "id")
    let server = try TestWebServer(["list": { feed }])
    let todos = RemoteDataSource<Todo>(.http(server.url()))
    let tasks = [Task { await follow(todos) }, Task { await report(todos) }]
    try await wait(for: "the contents") { lines().count == 1 }
    source.append(Todo(id: 2, title: "Test"))
    try await wait(for: "the change") { lines().count == 3 }
    server.stop()
    try await wait(for: "the end of the connection") { lines().count == 4 }
    source.update(identifiedBy: 1) { $0.title = "Write it" }
    try server.start()
    try await wait(for: "the missed change") { lines().count == guide.output.count }
    for task in tasks {
      task.cancel()
      await task.value
    }
    // One task prints the restored connection, and another one the change.
    #expect(lines().prefix(4) == guide.output.prefix(4))
    #expect(lines().sorted() == guide.output.sorted())
  }

  @Test func `the program starts before the service, and tells failures apart`() async throws {
    let source = ArrayDataSource([Todo(id: 1, title: "Write")])
    let feed = Feed(source, key: "id")
    let server = try TestWebServer(["list": { feed }])
    server.stop()
    let todos = RemoteDataSource<Todo>(.http(server.url()), longestPause: .milliseconds(100))
    let tasks = [Task { await follow(todos) }, Task { await report(todos) }]
    try await wait(for: "the failure") { printed.value == ["connection lost"] }
    try server.start()
    try await wait(for: "the contents") { printed.value.count == 3 }
    #expect(Set(printed.value.dropFirst()) == ["connection restored", #"at first: ["Write"]"#])
    source.setStatus(.failed(SourceError(code: "x", message: "the file is broken")))
    try await wait(for: "the report") { printed.value.count == 4 }
    #expect(printed.value.last == "server: the file is broken")
    for task in tasks {
      task.cancel()
      await task.value
    }
  }

  @Test func `a list of a web service is followed`() async throws {
    let source = ArrayDataSource([Todo(id: 1, title: "Write")])
    let feed = Feed(source, key: "id")
    let keys = Shared(["secret", "other", "third"])
    let server = try TestWebServer { request, connection in
      guard request.headers["authorization"] == "Bearer \(keys.value[0])" else {
        connection.send("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")
        return
      }
      connection.send(TestWebServer.eventHead)
      await connection.send(
        feed, since: request.headers["last-event-id"], aliveEvery: .milliseconds(20))
    }
    let url = server.url()
    let key = "secret"
    @Sendable func newKey() async throws -> String { keys.value[0] }

    let todos = RemoteDataSource<Todo>(.http(url, headers: ["Authorization": "Bearer \(key)"]))
    let observation = todos.observe { event in print(event.snapshot.map(\.title)) }
    try await todos.loaded()

    let renewed = RemoteDataSource<Todo>(
      HTTPTransport(url) { ["Authorization": "Bearer \(try await newKey())"] })
    try await renewed.loaded()

    let statuses = todos.observeStatus { status in
      let failure = status.error?.underlying as? TransportError
      if failure?.statusCode == 401 { print("the key is not valid") }
    }
    let contents = SourceRecorder(renewed)
    keys.modify { $0.removeFirst() }
    server.stop()
    try server.start()
    source.append(Todo(id: 2, title: "Test"))
    try await contents.wait { $0.contents.count == 2 }
    try await wait(for: "the message") { printed.value.contains("the key is not valid") }
    observation.dispose()
    statuses.dispose()
    #expect(printed.value.contains(#"["Write"]"#))
  }
}
