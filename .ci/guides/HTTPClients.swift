import Foundation

let url = URL(fileURLWithPath: "/todos/events")
let key = ""
func newKey() async throws -> String { "" }
// After the page:
withExtendedLifetime((renewed, observation, statuses)) {}
