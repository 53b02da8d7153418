import Foundation
import SQLiteSources
import Swappable
import TerminalViews
import TestSupport
import Testing

/// The code of the guide "In a service".
@Suite(.serialized, .timeLimit(.minutes(10))) struct InAServiceGuideTests {
  /// The lines that the service has written.
  private let written = Log<String>([])

  private func log(_ text: String) { written.append(text) }

  @Test func `the code of the guide is the code that runs here`() throws {
    let guide = try Guide("InAService")
    #expect(guide.code.count == 1)
    let todo = #filePath.replacing("InAServiceGuideTests", with: "Todo")
    let missing = try Set(guide.paragraphs(missingIn: #filePath))
      .intersection(guide.paragraphs(missingIn: todo))
    #expect(missing == [])
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

  func run(_ path: String) async throws {
    let signals = try TerminalSignals([.interrupt, .terminate])
    let database = try SQLiteConnection(path: path)
    try database.execute("CREATE TABLE IF NOT EXISTS todo (id INTEGER PRIMARY KEY, title TEXT)")
    let todos = try SQLiteDataSource<Todo>(
      connection: database, sql: "SELECT id, title FROM todo ORDER BY id")
    let statuses = todos.observeStatus { status in
      if let error = status.error { log("\(error.code): \(error.message)") }
    }
    try await todos.loaded()
    let worker = Task { await follow(todos) { log($0) } }
    for await _ in signals.signals { break }
    worker.cancel()
    await worker.value
    statuses.dispose()
  }

  /// The ends of the program; the test has a log and a file of its own.
  private func program() async {
    func log(_ text: String) {
      print(text)
      fflush(nil)
    }

    do {
      try await run("todos.db")
    } catch {
      log("cannot run the service: \(error)")
      exit(1)
    }
  }

  @Test func `an unusable path has an error of one line`() async throws {
    let directory = try TemporaryDirectory()
    let path = directory("missing/todos.db")
    let error = await #expect(throws: (any Error).self) { try await run(path) }
    let text = try #require(error.map { "\($0)" })
    #expect(text.contains(path) && !text.contains("\n"))
  }

  @Test func `the service prints what the guide says, and ends with a signal`() async throws {
    let guide = try Guide("InAService")
    let writes = guide.lines.filter { $0.hasPrefix("sqlite3 todos.db \"") }
      .map { $0.dropFirst("sqlite3 todos.db \"".count).dropLast() }
    #expect(writes.count == 2)
    let directory = try TemporaryDirectory()
    let path = directory("todos.db")
    let service = Task { try await run(path) }
    try await wait(for: "the first contents") { written.value.count == 1 }
    let connection = try SQLiteConnection(path: path)
    for (write, count) in zip(writes, [3, 4]) {
      try connection.execute(String(write))
      try await wait(for: "\(count) lines") { written.value.count >= count }
    }
    kill(getpid(), SIGTERM)
    try await service.value
    #expect(written.value == guide.output)
  }

  @Test func `a slow loop receives the net difference`() async throws {
    let todos = ArrayDataSource<Todo>()
    let (arrived, arrival) = AsyncStream<String>.makeStream()
    let (released, release) = AsyncStream<Void>.makeStream()
    /// As slow as the test wants it.
    @Sendable func send(_ text: String) async {
      log(text)
      arrival.yield(text)
      for await _ in released { break }
    }
    let worker = Task { await follow(todos, send: send) }
    var arrivals = arrived.makeAsyncIterator()
    #expect(await arrivals.next() == "0 to do")
    todos.append(contentsOf: [Todo(id: 1, title: "Write"), Todo(id: 2, title: "Test")])
    todos.remove(identifiedBy: 2)
    release.yield()
    #expect(await arrivals.next() == "to do: Write")
    worker.cancel()
    await worker.value
    #expect(written.value == ["0 to do", "to do: Write"])
  }
}
