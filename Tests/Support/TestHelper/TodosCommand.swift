import Dispatch
import Foundation
import Swappable
import TerminalViews

/// `todos PATH`: the program of the guide "Show a list in a terminal".
func runTodosCommand(_: [String]) -> Int32 {
  Task { @MainActor in
    await Todos.main()
    exitHelper(0)
  }
  dispatchMain()
}

// The following code is equal to the code in the guide, except for `@main`. A test compares them.

struct Todo: Codable, Hashable, Identifiable, Sendable, Differentiable {
  var id: Int
  var title: String
}

struct Todos {
  @MainActor static func main() async {
    do {
      try await show(CommandLine.arguments.dropFirst().last ?? "tasks.json")
    } catch {
      print(error)
      exit(1)
    }
  }

  @MainActor static func show(_ path: String) async throws {
    let todos = JSONFileDataSource<Todo>(path: path)
    let columns = [
      TerminalColumn<Todo>("No.", alignment: .trailing) { "\($0.id)" },
      TerminalColumn("Title") { $0.title },
    ]
    let screen = try TerminalScreen()
    defer { screen.close() }
    let list = TerminalListView(todos, columns: columns) { list in
      let size = screen.size
      let text = TerminalText.printable(list.status.error?.message ?? "↑ ↓ move, q quits")
      let status = TerminalText.wrapped(text, to: size.columns, limit: 3).map { TerminalLine($0) }
      let rest = TerminalSize(rows: size.rows - status.count, columns: size.columns)
      screen.show(TerminalFrame(size: size, lines: list.lines(for: rest) + status))
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
