// A remote list that a local one follows: what is new is downloaded, what is gone is removed.
//
//     swift run OneWaySynchronization
import Swappable
import Synchronizers

struct Song: Identifiable, Hashable, Sendable, CustomStringConvertible {
  var id: Int
  var title: String
  var description: String { title }
}
extension Song: Differentiable {}

// MARK: From any data source to a local collection

// A JSON file or a query would do as well.
let library = ArrayDataSource([Song(id: 1, title: "Autumn"), Song(id: 2, title: "Winter")])
let store = CollectionStore<Song>()
let synchronizer = OneWaySynchronizer(from: DataSourceRemote(library), to: store)

// What is synchronised is a data source: a container over it just works.
let container = SwappableContainer<Song>(store)
let observation = container.observe { event in
  if case .change(let change) = event { print("told:", change.changeset.summary) }
}

try await synchronizer.sync()
print("here:", Array(container.snapshot))

library.transaction { draft in
  draft.remove(at: 0)
  draft.insert(Song(id: 3, title: "Spring"), at: 0)
  draft.update(at: 1) { $0.title = "Late winter" }
}
let outcome = try await synchronizer.sync()
print("removed \(outcome.removed), new \(outcome.new), outdated \(outcome.outdated)")
print("here:", Array(container.snapshot))

// MARK: A processor of one's own

// It is called in a fixed order. Only the first three have no default.
struct Player: OneWayProcessor {
  func begin() { print("begin") }
  func fetchSourceList() -> [Song] { [4, 5, 6].map { Song(id: $0, title: "Number \($0)") } }
  func localKeys() -> Set<Int> { [3, 4] }
  func removeLocalItems(_ keys: Set<Int>) { print("remove", keys) }
  func shouldUpdate(_ key: Int, _ song: Song) -> Bool { false }
  func prepareDownload(_ songs: [Song]) -> [Song] { songs.reversed() }
  func downloadContent(_ song: Song) throws { print("download", song.title) }
  func end() { print("end") }
}

let player = OneWaySynchronizer(
  processor: Player(), options: OneWayOptions(concurrency: 1, retry: RetryPolicy(retries: 3)))
let result = try await player.sync()
print("\(result.contents) downloaded, \(player.progress.value.failed) failed")

// `sync()` while it runs: one more run follows, and all are answered at its end. `cancel()` drops it.
