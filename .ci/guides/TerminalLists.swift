import Swappable
import TerminalViews

struct Todo: Codable, Hashable, Identifiable, Sendable, Differentiable {
  var id: Int
  var title: String
}

let draft = ArrayDataSource<Todo>([])
let file = JSONFileDataSource<Todo>(path: "todos.json")
let todos = draft
let columns = [TerminalColumn<Todo>("Title") { $0.title }]
// swift-format-ignore: NeverUseForceTry
@MainActor let screen = try! TerminalScreen()

// The names that the functions of the page use.
let source = SwappableContainer<Todo>(draft)
let (text, isSearching) = (Property(""), Property(false))
let question = Property<Todo?>(nil)
@MainActor let list = TerminalListView(source, columns: columns) { _ in }

// Only in a function
// On the main actor
// After the page:
print(found.count, urgent.title, list.position, tasks.position, sections.position)
// The text has: TerminalLine("Delete \(todo.title)? y/n")
question.value.map { todo in print(TerminalLine("Delete \(todo.title)? y/n")) }
// The text has: list.perform(.end)
list.perform(.end)
