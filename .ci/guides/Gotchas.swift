let path = "todos.json"
func log(_ text: String) { print(text) }
