import Swappable

let tasks = ArrayDataSource<Todo>([])
let title = Property("Tasks")

// Without publisher(): Combine exists on Apple platforms only
// On the main actor
// After the page:
print(shown.value.count, status.value)
