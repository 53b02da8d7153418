import Dispatch
import Swappable

/// `todos PATH`: the program of the guide "In a terminal".
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

// What follows stands in the guide, but for its first line; a test holds that.

struct Todo: Codable, Hashable, Identifiable, Sendable, Differentiable {
  var id: Int
  var title: String
}

struct Todos {
  @MainActor static func main() async throws {
    let todos = JSONFileDataSource<Todo>(path: CommandLine.arguments.last ?? "tasks.json")
    let columns = [
      TerminalColumn<Todo>("No.", alignment: .trailing) { "\($0.id)" },
      TerminalColumn("Title") { $0.title },
    ]
    let screen = try TerminalScreen()
    defer { screen.close() }
    let list = TerminalListView(todos, columns: columns) { list in
      screen.show(list.frame(for: screen.size, status: TerminalLine("↑ ↓ move, q quits")))
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
