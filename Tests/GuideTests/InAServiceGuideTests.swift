import Foundation
import SQLiteSources
import Swappable
import TerminalViews
import TestSupport
import Testing

/// The code of the guide "In a service".
@Suite(.timeLimit(.minutes(10))) struct InAServiceGuideTests {
  @Test func `the code of the guide is the code that runs here`() throws {
    let guide = try Guide("InAService")
    #expect(guide.code.count == 8)
    #expect(try guide.paragraphs(missingIn: #filePath) == [])
  }

  /// What a program begins with; the test has a file and listeners of its own.
  private func beginning() async {
    let path = "todos.db"
    func send(_ text: String) async { log(text) }

    func log(_ text: String) {
      print(text)
      fflush(nil)
    }

    await send(path)
    log(path)
  }

  /// The end of a program.
  private func main(_ run: () async throws -> Void) async {
    do {
      try await run()
    } catch {
      print("cannot run the service: \(error)")
      exit(1)
    }
  }

  @Test func `an unusable path has an error of one line`() async throws {
    let directory = try TemporaryDirectory()
    let path = directory("missing/todos.db")
    let error = #expect(throws: (any Error).self) { try SQLiteConnection(path: path) }
    let text = try #require(error.map { "\($0)" })
    #expect(text.contains(path) && !text.contains("\n"))
  }

  func follow(_ todos: any DataSource<Todo>, send: (String) async -> Void) async {
    for await event in todos.events() {
      switch event {
      case .initial(let contents, _):
        await send("\(contents.count) to do")
      case .change(let change):
        for (_, todo) in change.inserted { await send("to do: \(todo.title)") }
        for (_, todo) in change.deleted { await send("done: \(todo.title)") }
      }
    }
  }

  @Test func `a slow loop receives the net difference`() async throws {
    let directory = try TemporaryDirectory()
    let path = directory("todos.db")
    let sent = Log<String>([])
    let (arrived, arrival) = AsyncStream<String>.makeStream()
    let (released, release) = AsyncStream<Void>.makeStream()
    @Sendable func log(_ text: String) { sent.append(text) }
    /// As slow as the test wants it.
    @Sendable func send(_ text: String) async {
      sent.append(text)
      arrival.yield(text)
      for await _ in released { break }
    }
    let database = try SQLiteConnection(path: path)
    try database.execute("CREATE TABLE IF NOT EXISTS todo (id INTEGER PRIMARY KEY, title TEXT)")
    let todos = try SQLiteDataSource<Todo>(
      connection: database, sql: "SELECT id, title FROM todo ORDER BY id")
    try await todos.loaded()
    let worker = Task { await follow(todos, send: send) }
    var arrivals = arrived.makeAsyncIterator()
    #expect(await arrivals.next() == "0 to do")
    let statuses = todos.observeStatus { status in
      if let error = status.error { log("\(error.code): \(error.message)") }
    }
    try database.execute("INSERT INTO todo (title) VALUES ('Write'), ('Test')")
    try database.execute("DELETE FROM todo WHERE title = 'Test'")
    // Until both are seen.
    for await contents in todos.snapshots() where contents.map(\.title) == ["Write"] { break }
    release.yield()
    #expect(await arrivals.next() == "to do: Write")
    let signals = try TerminalSignals([.interrupt, .terminate])
    kill(getpid(), SIGTERM)
    for await _ in signals.signals { break }
    worker.cancel()
    await worker.value
    statuses.dispose()
    #expect(sent.value == ["0 to do", "to do: Write"])
  }
}
