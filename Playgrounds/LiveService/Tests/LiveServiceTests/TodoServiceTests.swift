import Foundation
import RemoteSources
import Swappable
import Testing

@testable import TodoService

/// The program of the guide "A list in a browser".
@Suite(.timeLimit(.minutes(5))) struct TodoServiceTests {
  @Test func `the program is the program of the guide`() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../../..")
    func text(_ path: String) throws -> String {
      try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }
    let program = try text("Playgrounds/LiveService/Sources/TodoService/TodoService.swift")
    let guide = try text("Sources/Swappable/Swappable.docc/ListsInABrowser.md")
    #expect(guide.contains("```swift\n\(program)```\n"))
  }

  /// The test ends only if the server ends its open streams when it stops.
  @Test func `a client that returns receives one change, and the server ends open streams`()
    async throws
  {
    let todos = ArrayDataSource([Todo(id: 1, title: "Write")])
    let feed = Feed(todos, key: "id", sendsStatusMessages: false)
    try await run(server(feed, port: 0)) { root in
      let address = root + "todos/events"
      var first = Events(try await request(address))
      let initial = try #require(await first.next())
      #expect(initial.data.hasPrefix(#"{"event":"initial","revision":0,"key":"id""#))

      todos.append(Todo(id: 2, title: "Test"))
      todos.append(Todo(id: 3, title: "Rest"))
      var second = Events(try await request(address, headers: ["Last-Event-ID": initial.id]))
      #expect(try await second.next()?.data.hasPrefix(#"{"event":"alive""#) == true)
      let change = try #require(await second.next())
      #expect(change.data.contains(#""since":0,"revision":2"#))
      #expect(change.id == feed.snapshot()?.token)
    }
  }
}
