func load(_ title: String) async throws -> String { title }

// After the page:
print(thumbnails.count)
// The text has: messages.sorted(by: .descending(\.id)).prefix(100)
print(messages.sorted(by: .descending(\.id)).prefix(100).count)
let settledQuery = Property("")
// The text has: query.signal.debounced(for: .milliseconds(300)).bind(to: settledQuery)
let settling = query.signal.debounced(for: .milliseconds(300)).bind(to: settledQuery)
settling.dispose()
