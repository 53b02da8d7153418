import Swappable
import TestSupport
import Testing

private func log(_ text: String) {}

final class Screen: Sendable {
  private let bag = DisposeBag()

  init(_ todos: any DataSource<Todo>) {
    todos.observe { event in log("\(event.snapshot.count) to do") }.store(in: bag)
  }
}

struct Measurement: Differentiable {
  let sensor: String
  var value: Double

  var differenceIdentifier: String { sensor }
  func isContentEqual(to source: Measurement) -> Bool { value == source.value }
}

/// The code of the guide "Gotchas".
@Suite(.timeLimit(.minutes(10))) struct GotchasGuideTests {
  @Test func `the guide's code is compiled here`() throws {
    let guide = try Guide("Gotchas")
    #expect(try guide.blocks(missingIn: #filePath) == [])
  }

  @Test func `it prints what the guide says`() async throws {
    let print = Printed()
    let directory = try TemporaryDirectory()
    let path = directory("todos.json")
    try directory.write(#"[{"id": 1, "title": "Write"}]"#, to: "todos.json")
    let file = JSONFileDataSource<Todo>(path: path)
    print(file)
    try await file.loaded()
    print(file)

    let words = ArrayDataSource(["Test"])
    let todos = ArrayDataSource([Todo(id: 1, title: "Test")])
    let observations = [
      words.observe { if case .change(let change) = $0 { print(change.changeset.summary) } },
      todos.observe { if case .change(let change) = $0 { print(change.changeset.summary) } },
    ]
    words.replace(with: ["Tests"])
    todos.replace(with: [Todo(id: 1, title: "Tests")])

    todos.transaction { draft in
      draft.append(Todo(id: 2, title: "Ship"))
      print(draft.count, todos.snapshot.count)
    }
    for observation in observations { observation.dispose() }

    let shown = todos.observeOnMainActor { event in log("\(event.snapshot.count) to do") }
    shown.dispose()  // when the view goes away

    let measurements = [1.0, 2].map { [Measurement(sensor: "door", value: $0)] }
    #expect(Changeset(from: measurements[0], to: measurements[1]).summary == "1 updated")

    _ = Screen(todos)
    #expect(try print.lines == Guide("Gotchas").output)
  }
}
