import Foundation
import Swappable
import TestSupport
import Testing

/// The code of the guide "Cookbook".
@Suite(.timeLimit(.minutes(10))) struct CookbookGuideTests {
  @Test func `the guide's code is compiled here`() throws {
    #expect(try Guide("Cookbook").paragraphs(missingIn: #filePath) == [])
  }

  @Test func `it has seventeen recipes of at most fifteen lines`() throws {
    let guide = try Guide("Cookbook")
    #expect(guide.lines.count { $0.hasPrefix("## ") } == 1 + 17)
    #expect(guide.code.allSatisfy { $0.count <= 15 })
  }

  @Test func `the recipes print what the guide says`() async throws {
    let print = Printed()
    let directory = try TemporaryDirectory()
    let path = directory("todos.json")

    let todos = ArrayDataSource([
      Todo(id: 1, title: "Write"), Todo(id: 2, title: "Test"), Todo(id: 3, title: "Ship"),
    ])

    let short = todos.filter { $0.title.count == 4 }
    let counting = short.observeSnapshots { print("\($0.count) short titles") }
    todos.append(Todo(id: 4, title: "Rest"))
    counting.dispose()

    let query = Property("")
    let found = todos.filter(by: query) { $1.isEmpty || $0.title.contains($1) }
    query.value = "es"
    print(found.snapshot.map(\.title))

    let order = Property(ElementOrder<Todo>.ascending(\.id))
    let ordered = todos.sorted(by: order)
    order.value = .ascending(\.title)
    print(ordered.snapshot.map(\.title))

    let favorites: Set<Int> = [3]
    let top = todos.filter { favorites.contains($0.id) }
    let list = top.concatenated(with: todos.filter { !favorites.contains($0.id) })
    print(list.snapshot.map(\.id))

    let cache = ArrayDataSource([Todo(id: 1, title: "Write")])
    let shown = SwappableContainer<Todo>(cache)
    let swap = shown.swap(to: JSONFileDataSource<Todo>(path: path))
    if case .failed(let error) = await swap.outcome {
      print("still the cache:", error.code)
    }

    let slow = ArrayDataSource<Todo>(status: .loading)  // in place of a file or a query
    let statuses = slow.observeStatus { status in
      switch status.state {
      case .idle, .loading: print("loading …")
      case .loaded: print("up to date")
      case .missing(let error), .failed(let error): print("not up to date:", error.message)
      }
    }
    slow.publish([Todo(id: 1, title: "Write")], status: .loaded)
    slow.setStatus(.failed(SourceError(code: "offline", message: "no network")))
    statuses.dispose()

    let days = ArrayDataSource(["Monday", "Tuesday"])
    let edits = days.observe { event in
      if case .change(let change) = event { print(change.changeset.summary) }
    }
    days.transaction { draft in
      draft.remove(at: 0)
      draft.append("Wednesday")
    }
    edits.dispose()

    let archive = ArrayDataSource<Todo>()
    withTransaction {
      if let done = todos.remove(identifiedBy: 3) { archive.append(done) }
    }
    print(todos.count, archive.count)

    let history = Property<[Snapshot<Todo>]>([])
    let recording = todos.observe { event in
      guard case .change(let change) = event else { return }
      history.modify { $0.append(change.before) }
    }
    todos.removeAll()
    if let last = history.value.last { todos.replace(with: last) }
    print(todos.count)
    recording.dispose()

    let arrivals = todos.observe { event in
      guard case .change(let change) = event else { return }
      for todo in change.byIdentity.inserted { print("new:", todo.title) }
    }
    todos.append(Todo(id: 5, title: "Read"))
    arrivals.dispose()

    let marked = Property<Set<Int>>([])
    let marking = todos.observe { event in
      guard case .change(let change) = event else { return }
      marked.value = Set(change.inserted.map(\.element.id) + change.updated.map(\.new.id))
    }
    todos.update(identifiedBy: 2) { $0.title = "Test all" }
    print(marked.value)
    marking.dispose()

    let copy = ArrayDataSource<Todo>()
    let following = todos.bind(to: copy)
    todos.removeAll { $0.title.hasPrefix("R") }
    print(copy.snapshot.map(\.title))
    following.dispose()

    let file = JSONFileDataSource<Todo>(path: path)
    do {
      print(try await file.loaded().count, "todos")
    } catch let error as SourceError {
      print(error.code)
    }

    let old = [Todo(id: 1, title: "Write"), Todo(id: 2, title: "Test")]
    let new = [Todo(id: 2, title: "Test"), Todo(id: 1, title: "Write it")]
    print(ChangeDescription(Changeset(from: old, to: new), from: old, to: new))

    let printed = print.lines.flatMap { $0.components(separatedBy: "\n") }
    #expect(try printed == Guide("Cookbook").output)
  }

  func save(_ todos: any DataSource<Todo>, to url: URL) async throws {
    for await contents in todos.snapshots() {
      try JSONEncoder().encode(Array(contents)).write(to: url, options: .atomic)
    }
  }

  @Test func `a list is saved after each change`() async throws {
    let directory = try TemporaryDirectory()
    let todos = ArrayDataSource([Todo(id: 1, title: "Write")])
    let url = URL(fileURLWithPath: directory("saved.json"))
    let saving = Task { try await save(todos, to: url) }
    let saved = JSONFileDataSource<Todo>(path: url.path)
    todos.append(Todo(id: 2, title: "Test"))
    for await contents in saved.snapshots() where contents.count == 2 { break }
    #expect(Array(saved.snapshot) == Array(todos.snapshot))
    saving.cancel()
  }

  func lines(of todos: any DataSource<Todo>) -> AsyncStream<Data> {
    AsyncStream { stream in
      let observation = todos.observe { event in
        guard case .change(let change) = event else { return }
        if let line = try? JSONEncoder().encode(change.record) { stream.yield(line) }
      }
      stream.onTermination = { _ in observation.dispose() }
    }
  }

  func receive(_ line: Data, into todos: [Todo]) throws -> [Todo] {
    try JSONDecoder().decode(ChangeRecord<Todo>.self, from: line).applying(to: todos)
  }

  @Test func `changes are sent to another process`() async throws {
    let todos = ArrayDataSource([Todo(id: 1, title: "Write")])
    var received = Array(todos.snapshot)
    var lines = lines(of: todos).makeAsyncIterator()
    todos.append(Todo(id: 2, title: "Test"))
    received = try receive(try #require(await lines.next()), into: received)
    #expect(received == Array(todos.snapshot))
  }

  func poll(into list: ArrayDataSource<Todo>, fetch: () async throws -> [Todo]) async throws {
    while true {
      do {
        list.publish(try await fetch(), status: .loaded)
      } catch {
        try Task.checkCancellation()
        list.setStatus(.failed(SourceError(code: "fetch", message: "\(error)", underlying: error)))
      }
      try await Task.sleep(for: .seconds(60))
    }
  }

  @Test func `a server is asked again and again`() async throws {
    let list = ArrayDataSource<Todo>(status: .loading)
    let polling = Task { try await poll(into: list) { [Todo(id: 1, title: "Write")] } }
    #expect(try await list.loaded().map(\.id) == [1])
    polling.cancel()
    await #expect(throws: CancellationError.self) { try await polling.value }
  }

  @Test func `a server that fails leaves the last contents`() async throws {
    struct Unreachable: Error {}
    let list = ArrayDataSource([Todo(id: 1, title: "Write")])
    let polling = Task { try await poll(into: list) { throw Unreachable() } }
    for await status in list.statuses() where status.error != nil { break }
    #expect(list.status.error?.code == "fetch")
    #expect(list.snapshot.map(\.id) == [1])
    polling.cancel()
  }
}
