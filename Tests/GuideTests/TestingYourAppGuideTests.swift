import DataSourceTesting
import Swappable
import TestSupport
import Testing

final class TodoModel: Sendable {
  let open: LiveCollection<Todo>
  private let source: any DataSource<Todo>

  init(_ source: any DataSource<Todo>) {
    self.source = source
    open = source.filter { !$0.title.hasPrefix("✓") }
  }

  var message: String {
    if let error = source.status.error { return "Not up to date: \(error.message)" }
    return "\(open.count) to do"
  }
}

/// The code of the guide "Test your app".
@Suite(.timeLimit(.minutes(10))) struct TestingYourAppGuideTests {
  @Test func `the guide's code is compiled here`() throws {
    #expect(try Guide("TestingYourApp").paragraphs(missingIn: #filePath) == [])
  }

  @Test func `a finished todo is not open`() {
    let todos = ArrayDataSource([Todo(id: 1, title: "Write"), Todo(id: 2, title: "Test")])
    let model = TodoModel(todos)
    todos.update(identifiedBy: 1) { $0.title = "✓ Write" }
    #expect(model.open.snapshot.map(\.id) == [2])
    #expect(model.message == "1 to do")
  }

  @Test func `finishing a todo deletes it from the open ones`() throws {
    let todos = ArrayDataSource([Todo(id: 1, title: "Write"), Todo(id: 2, title: "Test")])
    let model = TodoModel(todos)
    let recorder = RecordingObserver(model.open)
    todos.update(identifiedBy: 1) { $0.title = "✓ Write" }
    todos.update(identifiedBy: 1) { $0.title = "✓ Wrote" }  // not open: no event
    #expect(recorder.changes.map(\.changeset.summary) == ["1 deleted"])
    try recorder.check(against: model.open)
  }

  @Test func `a failure is shown, and the contents stay`() {
    let todos = ArrayDataSource([Todo(id: 1, title: "Write")])
    let model = TodoModel(todos)
    todos.setStatus(.failed(SourceError(code: "offline", message: "no network")))
    #expect(model.message == "Not up to date: no network")
    #expect(model.open.count == 1)
    todos.setStatus(.loaded)
    #expect(model.message == "1 to do")
  }

  @Test func `the old source stays until the new one has loaded`() async {
    let slow = ArrayDataSource<Todo>(status: .loading)
    let container = SwappableContainer<Todo>(ArrayDataSource([Todo(id: 1, title: "Write")]))
    let swap = container.swap(to: slow)
    #expect(swap.outcomeIfKnown == nil)
    #expect(container.snapshot.map(\.id) == [1])
    slow.publish([Todo(id: 2, title: "Test")], status: .loaded)
    #expect(await swap.outcome == .swapped)
    #expect(container.snapshot.map(\.id) == [2])
  }

  @MainActor @Test func `the label follows the list`() async {
    let todos = ArrayDataSource([Todo(id: 1, title: "Write")])
    var label = ""
    let observation = todos.observeOnMainActor { event in label = "\(event.snapshot.count) to do" }
    todos.append(Todo(id: 2, title: "Test"))
    await todos.flush()
    #expect(label == "2 to do")
    observation.dispose()
  }

  @Test func `a test waits for the contents of a file`() async throws {
    let directory = try TemporaryDirectory()
    try directory.write(#"[{"id": 1, "title": "Write"}]"#, to: "todos.json")
    let file = JSONFileDataSource<Todo>(path: directory("todos.json"))
    let recorder = RecordingObserver(file)
    try await recorder.wait(forContents: [Todo(id: 1, title: "Write")])
  }

  @Test func `a search starts when the user pauses`() {
    let clock = ManualClock()
    let text = Property("")
    let searches = Property<[String]>([])
    let observation = text.signal.debounced(for: .seconds(1), clock: clock)
      .observe { newText in searches.modify { $0.append(newText) } }
    text.value = "ab"
    clock.advance(by: .seconds(1))
    #expect(searches.value.last == "ab")
    observation.dispose()
  }
}
