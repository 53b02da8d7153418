import Swappable
import TestSupport
import Testing

/// The code of the guide "Swap sources at run time".
@Suite(.timeLimit(.minutes(10))) struct SwappingSourcesGuideTests {
  @Test func `the guide's code is compiled here`() throws {
    let guide = try Guide("SwappingSources")
    #expect(guide.code.count == 7)
    #expect(try guide.paragraphs(missingIn: #filePath) == [])
  }

  /// The beginning of the program. The test has its own file.
  private func beginning() -> String {
    let path = "todos.json"
    return path
  }

  @Test func `it prints what the guide says`() async throws {
    let print = Printed()
    let directory = try TemporaryDirectory()
    let path = directory("todos.json")
    try directory.write(
      #"[{"id": 2, "title": "Test"}, {"id": 1, "title": "Write it"}]"#, to: "todos.json")
    let draft = ArrayDataSource([Todo(id: 1, title: "Write"), Todo(id: 2, title: "Test")])
    let container = SwappableContainer<Todo>(draft)
    let observation = container.observe { event in
      if case .change(let change) = event { print(change.changeset.summary) }
    }

    let saved = JSONFileDataSource<Todo>(path: path)
    let swap = container.swap(to: saved)
    switch await swap.outcome {
    case .swapped, .unchanged: print("the file:", container.snapshot.map(\.title))
    case .failed(let error): print("still the draft:", error)
    case .superseded, .cancelled, .cycle: break
    }

    container.swap(
      to: ArrayDataSource([Todo(id: 2, title: "Test"), Todo(id: 1, title: "Write it")]))
    print(container.snapshot.count)

    let dimming = container.swapping.observe { print($0 == nil ? "bright" : "dimmed") }
    let slow = ArrayDataSource<Todo>(status: .loading)
    container.swap(to: slow).cancel()
    dimming.dispose()

    let missing = container.swap(to: JSONFileDataSource<Todo>(path: path + ".missing"))
    if case .failed(let error) = await missing.outcome {
      print(error.code, container.snapshot.count)
    }

    let short = container.filter { $0.title.count < 5 }
    print(short.snapshot.map(\.title))
    observation.dispose()
    #expect(try print.lines == Guide("SwappingSources").output)
  }

  @Test func `a failed swap is repeated when the source has loaded`() async throws {
    let directory = try TemporaryDirectory()
    let container = SwappableContainer<Todo>(ArrayDataSource([]))
    let file = JSONFileDataSource<Todo>(path: directory("todos.json"))
    guard case .failed = await container.swap(to: file).outcome else {
      Issue.record("there is no file yet")
      return
    }
    let loading = file.observeStatus { status in
      if status.state == .loaded { container.swap(to: file) }
    }
    try directory.write(#"[{"id": 1, "title": "Write"}]"#, to: "todos.json")
    for await contents in container.snapshots() where contents.map(\.id) == [1] { break }
    loading.dispose()
  }
}
