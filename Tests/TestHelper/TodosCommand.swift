import Dispatch
import Swappable
import TerminalViews

/// `todos PATH`: the program of the guide "Show a list in a terminal".
func runTodosCommand(_: [String]) -> Int32 {
  Task { @MainActor in
    do {
      try await Todos.main()
      exitHelper(0)
    } catch {
      print("error: \(error)")
      exitHelper(1)
    }
  }
  dispatchMain()
}

// The following code is equal to the code in the guide, except for `@main`. A test compares them.

struct Todo: Codable, Hashable, Identifiable, Sendable, Differentiable {
  var id: Int
  var title: String
}

struct Todos {
  @MainActor static func main() async throws {
    let path = CommandLine.arguments.dropFirst().last ?? "tasks.json"
    let todos = JSONFileDataSource<Todo>(path: path)
    let columns = [
      TerminalColumn<Todo>("No.", alignment: .trailing) { "\($0.id)" },
      TerminalColumn("Title") { $0.title },
    ]
    let screen = try TerminalScreen()
    defer { screen.close() }
    let list = TerminalListView(todos, columns: columns) { list in
      let status = list.status.error?.message ?? "↑ ↓ move, q quits"
      screen.show(list.frame(for: screen.size, status: TerminalLine(status)))
    }
    for await input in screen.inputs {
      switch input {
      case .key(.character("q")), .key(.control("c")), .ended: return
      case .key(.control("z")): screen.suspend()
      case .key(let key): list.press(key)
      case .resized: break
      }
      list.setNeedsDisplay()
    }
  }
}
