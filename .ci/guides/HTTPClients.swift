import Foundation

let key = ""
func newKey() async throws -> String { "" }
// After the page:
// The text has: RemoteDataSource<Todo>(.http(url), longestPause: .seconds(2))
let eager = RemoteDataSource<Todo>(.http(url), longestPause: .seconds(2))
withExtendedLifetime((renewed, observation, statuses, eager)) {}
