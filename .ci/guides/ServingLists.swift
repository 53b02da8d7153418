let path = "todos.sock"
