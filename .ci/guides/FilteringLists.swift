import Swappable

let predicate = Property<@Sendable (Todo) -> Bool> { !$0.title.isEmpty }

let directory = "."
// After the page:
// The text has: todos.filter(by: predicate)
print(todos.filter(by: predicate).count)
