// After the page:
print(saved.count)
let file = JSONFileDataSource<Todo>(path: "todos.json")
// The text has: file.guarded(by: .count(atLeast: 1))
print(file.guarded(by: .count(atLeast: 1)).count)
