import Diffing
import Foundation
import HTTPSources
import ObservableCollections
import ReactiveSignals
import RemoteSources
import SwappableSources
import TestSupport
import TestTags
import Testing

private struct Todo: Codable, Hashable, Identifiable, Sendable, Differentiable {
  let id: Int
  var title: String
}

/// The code of the guide "Read a list over HTTP".
@Suite(.tags(.system), .timeLimit(.minutes(10))) struct HTTPClientsGuideTests {
  @Test func `the guide's code is compiled here`() throws {
    let guide = try Guide("HTTPClients")
    #expect(guide.code.count == 4)
    #expect(try guide.paragraphs(missingIn: #filePath) == [])
  }

  @Test func `a list of a web service is followed`() async throws {
    let lines = Shared<[String]>([])
    @Sendable func print(_ item: some Sendable) { lines.append("\(item)") }
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
    try await wait(for: "the message") { lines.value.contains("the key is not valid") }
    observation.dispose()
    statuses.dispose()
    #expect(lines.value.contains(#"["Write"]"#))
  }
}
