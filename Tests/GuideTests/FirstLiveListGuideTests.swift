import Swappable
import TerminalViews
import TestSupport
import Testing

/// The code of the guide "Your first live list". Other guides use its element.
@Suite struct FirstLiveListGuideTests {
  @Test func `the guide's code is compiled here`() throws {
    let todo = #filePath.replacing("FirstLiveListGuideTests", with: "Todo")
    let elsewhere = try Guide("FirstLiveList").paragraphs(missingIn: #filePath)
    #expect(elsewhere.count == 1 && elsewhere[0].hasPrefix("struct Todo"))
    #expect(try Guide("FirstLiveList").paragraphs(missingIn: todo).count > 5)
    #expect(try !Guide("FirstLiveList").paragraphs(missingIn: todo).contains(elsewhere[0]))
  }

  @Test func `it prints what the guide says`() throws {
    let print = Printed()
    let todos = ArrayDataSource([Todo(id: 1, title: "Write"), Todo(id: 2, title: "Test")])
    let observation = todos.observe { event in
      switch event {
      case .initial(let contents, _): print("initial:", contents.map(\.title))
      case .change(let change): print(change.changeset.summary)
      }
    }

    todos.append(Todo(id: 3, title: "Ship"))
    todos.update(identifiedBy: 1) { $0.title = "Write more" }
    todos.move(from: 2, to: 0)

    todos.transaction { draft in
      draft.remove(identifiedBy: 2)
      draft.append(Todo(id: 4, title: "Rest"))
    }
    todos.replace(with: [Todo(id: 1, title: "Write more"), Todo(id: 4, title: "Sleep")])

    let details = todos.observe { event in
      guard case .change(let change) = event else { return }
      for (offset, todo) in change.inserted { print("\(todo.title) inserted at \(offset)") }
      for (offset, todo) in change.deleted { print("\(todo.title) deleted at \(offset)") }
      for (_, _, old, new) in change.updated { print("\(old.title) is now \(new.title)") }
    }
    todos.replace(with: [Todo(id: 1, title: "Write"), Todo(id: 5, title: "Read")])
    details.dispose()

    let byTitle = todos.sorted { $0.title < $1.title }
    print(byTitle.snapshot.map(\.title))
    todos.append(Todo(id: 6, title: "Answer"))
    print(byTitle.snapshot.map(\.title))

    let shown = SwappableContainer<Todo>(todos)
    let swaps = shown.observe { event in
      if case .change(let change) = event { print("shown:", change.changeset.summary) }
    }
    shown.swap(to: ArrayDataSource([Todo(id: 5, title: "Read"), Todo(id: 1, title: "Write it")]))
    print(shown.snapshot.map(\.title))
    swaps.dispose()
    observation.dispose()
    #expect(try print.lines == Guide("FirstLiveList").output)
  }

  @MainActor func show(_ todos: any DataSource<Todo>) async throws {
    let screen = try TerminalScreen()
    defer { screen.close() }
    let columns = [TerminalColumn<Todo>("Title") { $0.title }]
    let list = TerminalListView(todos, columns: columns) { list in
      screen.show(list.frame(for: screen.size, status: TerminalLine("↑ ↓ move, q quits")))
    }
    for await input in screen.inputs {
      switch input {
      case .key(.character("q")), .key(.control("c")), .ended: return
      case .key(let key): list.press(key)
      case .resized: break
      }
      list.setNeedsDisplay()
    }
  }

  func follow(_ todos: any DataSource<Todo>) async {
    for await event in todos.events() {
      switch event {
      case .initial(let contents, _): print("\(contents.count) to do")
      case .change(let change):
        for (_, todo) in change.inserted { print("new: \(todo.title)") }
      }
    }
  }
}

extension SwiftUIStubs {
  struct TodoList: View {
    @State private var shown: MainActorState<Snapshot<Todo>>

    init(_ todos: any DataSource<Todo>) {
      _shown = State(initialValue: MainActorState(todos))
    }

    var body: some View {
      List(shown.value) { todo in Text(todo.title) }
    }
  }
}
