import Swappable

let file = JSONFileDataSource<Todo>(path: "todos.json")
