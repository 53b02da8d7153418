import Swappable
import Synchronizers

let server = InMemoryRemote([Note(id: 1, text: "Write")])

// On the main actor
// After the page:
try await session.synchronize()
