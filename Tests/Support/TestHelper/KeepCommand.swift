import Dispatch
import Swappable
import SynchronizerStores
import Synchronizers

/// An element of the saved states.
private struct Kept: Codable, Hashable, Identifiable, Sendable, Differentiable {
  var id: Int
  var text: String
}

/// `keep KIND PATH`: saves states in a store at PATH of the kind `sqlite` or `file` until it is
/// killed.
///
/// It prints the number of each saved state. In state N, the text of each element is N, and each
/// list has 200 + N % 7 elements.
func runKeepCommand(_ arguments: [String]) -> Int32 {
  guard arguments.count == 2 else {
    answer("error: keep needs a kind, sqlite or file, and a path")
    return 2
  }
  Task {
    do {
      if arguments[0] == "sqlite" {
        try await keep(SQLiteSynchronizationStore<Kept, Int>(path: arguments[1], name: "kept"))
      } else {
        try await keep(FileSynchronizationStore<Kept, Int>(path: arguments[1]))
      }
    } catch {
      answer("error: \(error)")
      exitHelper(1)
    }
  }
  dispatchMain()
}

private func keep(_ store: some SynchronizationStore<Kept, Int>) async throws {
  var number = try await store.load()?.version ?? 0
  while true {
    number += 1
    let list = Snapshot((0..<200 + number % 7).map { Kept(id: $0, text: "\(number)") })
    let push = SynchronizationState.PendingPush(
      id: "\(UInt64.random(in: 0 ... .max))", version: number, client: list, merged: list)
    try await store.save(
      SynchronizationState(
        client: list, shadow: list, version: number, push: number % 2 == 0 ? push : nil))
    answer("\(number)")
  }
}
