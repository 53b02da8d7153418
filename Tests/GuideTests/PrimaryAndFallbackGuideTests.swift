import DataSourceTesting
import Swappable
import TestSupport
import Testing

/// The code of the guide "Primary and fallback".
@Suite(.timeLimit(.minutes(10))) struct PrimaryAndFallbackGuideTests {
  @Test func `the guide's code is compiled here`() throws {
    #expect(try Guide("PrimaryAndFallback").paragraphs(missingIn: #filePath) == [])
  }

  private func files() -> FallbackSource<Todo> {
    let saved = FallbackSource<Todo>(
      [
        JSONFileDataSource<Todo>(path: "todos.json"), JSONFileDataSource<Todo>(path: "backup.json"),
      ],
      fallingBackAfter: .seconds(1), returningAfter: .seconds(60))
    return saved
  }

  @Test func `it prints what the guide says`() throws {
    let print = Printed()
    let clock = ManualClock()
    let live = ArrayDataSource<Todo>(status: .loading)
    let copy = ArrayDataSource([Todo(id: 1, title: "Write"), Todo(id: 2, title: "Test")])
    let todos = FallbackSource<Todo>([live, copy], clock: clock)
    let observation = todos.observe { event in
      print(event.snapshot.map(\.title))
    }
    let choices = todos.shown.observe { choice in
      if let choice { print(choice) }
    }
    live.publish([Todo(id: 1, title: "Write it"), Todo(id: 2, title: "Test")], status: .loaded)

    live.setStatus(.failed(SourceError(code: "offline", message: "the server does not answer")))
    clock.advance(by: .seconds(4))
    print(todos.status)
    clock.advance(by: .seconds(1))
    print(todos.status)

    live.setStatus(.loaded)
    clock.advance(by: .seconds(29))
    print(todos.count)
    clock.advance(by: .seconds(1))
    observation.dispose()
    choices.dispose()
    #expect(try print.lines == Guide("PrimaryAndFallback").output)
  }

  @Test func `a broken file falls back, and returns when it is repaired`() async throws {
    let directory = try TemporaryDirectory()
    try directory.write(#"[{"id": 1, "title": "Write"}]"#, to: "todos.json")
    try directory.write(#"[{"id": 2, "title": "Test"}]"#, to: "backup.json")
    let clock = ManualClock()
    let (file, backup) = (
      JSONFileDataSource<Todo>(path: directory("todos.json")),
      JSONFileDataSource<Todo>(path: directory("backup.json"))
    )
    let todos = FallbackSource<Todo>([file, backup], clock: clock)
    let recorder = RecordingObserver(todos)
    try await backup.loaded()
    try await recorder.wait { $0.snapshot.first?.id == 1 }
    try directory.write("[", to: "todos.json")
    try await clock.waitForSleepers(1)
    clock.advance(by: .seconds(5))
    try await recorder.wait { $0.snapshot.first?.id == 2 }
    try directory.write(#"[{"id": 3, "title": "Ship"}]"#, to: "todos.json")
    try await clock.waitForSleepers(1)
    clock.advance(by: .seconds(30))
    try await recorder.wait { $0.snapshot.first?.id == 3 }
    #expect(todos.shown.value?.offset == 0)
    try recorder.check(against: todos)
  }
}
