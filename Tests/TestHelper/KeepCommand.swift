import Dispatch
import Swappable
import SynchronizerStores
import Synchronizers

/// An element of the states that `keep` saves.
private struct Kept: Codable, Hashable, Identifiable, Sendable, Differentiable {
  var id: Int
  var text: String
}

/// `keep KIND PATH`: saves one state after the other in a store at PATH, a `sqlite` or a `file`, and prints
/// the number of each when it is saved. It goes on until it is killed.
///
/// In state N all elements of all lists say N, and there are 200 of them and N % 7 more.
func runKeepCommand(_ arguments: [String]) -> Int32 {
  guard arguments.count == 2 else {
    answer("error: keep takes a kind of store and a path")
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
