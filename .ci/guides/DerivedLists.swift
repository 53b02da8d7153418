import Swappable

struct Settings {
  var limit = 10
}

let settings = Property(Settings())
let copy = ArrayDataSource<Todo>([])

// After the page:
print(newest.count, lines.count)
// The text has: todos.prefix(settings.map(\.limit))
let limited = todos.prefix(settings.map(\.limit))
// The text has: todos.bind(to: copy)
let following = todos.bind(to: copy)
print(limited.count)
following.dispose()
