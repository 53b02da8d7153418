// After the page:
print(short.revisions.count)
let undoing = todos.observe { event in
  // The text has: history.token(at: event.revision)
  print(history.token(at: event.revision))
}
undoing.dispose()
if let back = history.change(from: 4, to: 0) {
  // The text has: todos.replace(with: back.after)
  todos.replace(with: back.after)
}
