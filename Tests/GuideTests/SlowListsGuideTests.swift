import ReactiveSignals
import SQLiteSources
import Swappable
import TestSupport
import Testing

/// The code of the guide "Why is this list slow?".
@Suite(.timeLimit(.minutes(10))) struct SlowListsGuideTests {
  @Test func `the guide's code is compiled here`() throws {
    let guide = try Guide("SlowLists")
    #expect(guide.code.count == 4)
    #expect(try guide.paragraphs(missingIn: #filePath) == [])
  }

  /// As slow as the guide says.
  @Sendable private func spelled(_ title: String) -> String {
    let begin = ContinuousClock.now
    while title.count == 5, begin.duration(to: .now) < .milliseconds(20) {}
    return title
  }

  /// Replaces times, and their shares if they have one.
  private func masked(_ line: some StringProtocol) -> String {
    String(line).replacing(/[0-9.]+ (s|ms|µs)( \([0-9]+%\))?/, with: "TIME")
  }

  @Test func `the explanation and the reason are those of the guide`() async throws {
    let print = Printed()
    let todos = ArrayDataSource((1...100).map { Todo(id: $0, title: "Todo \($0)") })
    let rows = todos.labeled("todos").filter { !$0.title.isEmpty }
      .map { Todo(id: $0.id, title: spelled($0.title)) }.labeled("spelling")
      .sorted { $0.title < $1.title }.labeled("rows")

    let work = rows.countWork()
    todos.update(identifiedBy: 7) { $0.title = "Seven" }
    todos.append(Todo(id: 101, title: "Eight"))
    todos.append(Todo(id: 102, title: ""))
    print(rows.explain())
    work.dispose()

    let directory = try TemporaryDirectory()
    let database = try SQLiteConnection(path: directory("todos.db"))
    try database.execute("CREATE TABLE todo (id INTEGER PRIMARY KEY, title TEXT)")
    let titles = try SQLiteDataSource<Todo>(
      connection: database, sql: "SELECT max(id) AS id, title FROM todo GROUP BY title")
    let sorted = titles.sorted { $0.title < $1.title }
    try await sorted.loaded()
    print(sorted.explain().nodes[0].source?.mode ?? "")
    print(sorted.explain().nodes[0].source?.reason ?? "")

    let lines = print.lines.flatMap { $0.split(separator: "\n") }.map(masked)
    let output = try Guide("SlowLists").output.map(masked)
    #expect(lines == output)
  }

  @Test func `a trace prints each step`() async throws {
    let print = Printed()
    func follow(_ rows: some DataSource<Todo>) async {
      for await step in rows.trace() { print(step) }
    }
    let todos = ArrayDataSource([Todo(id: 1, title: "Write")])
    let tracing = Task { await follow(todos) }
    // The trace may begin later than the first edits.
    var edits = 0
    try await wait(for: "the first step of the trace") {
      edits += 1
      todos.update(identifiedBy: 1) { $0.title = "Write \(edits)" }
      return !print.lines.isEmpty
    }
    tracing.cancel()
    await tracing.value
    #expect(print.lines[0].hasPrefix("commit ArrayDataSource: 1 element"))
  }
}
