import Swappable

let todos = ArrayDataSource<Todo>([])
let path = "todos.sock"

// After the page:
server.stop()
