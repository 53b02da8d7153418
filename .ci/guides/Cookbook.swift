let path = "todos.json"
