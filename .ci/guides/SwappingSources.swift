// After the page:
// The text has: container.swap(to: saved)
container.swap(to: saved)
