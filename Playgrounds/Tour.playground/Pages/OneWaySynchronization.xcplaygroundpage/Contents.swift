// A local list that follows a remote one: new items are downloaded, and missing items are removed.
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

// The remote list can also be a JSON file or a query.
let library = ArrayDataSource([Song(id: 1, title: "Autumn"), Song(id: 2, title: "Winter")])
let store = CollectionStore<Song>()
let synchronizer = OneWaySynchronizer(from: library, to: store)

// The store is a data source, so a container can show it.
let container = SwappableContainer<Song>(store)
let observation = container.observe { event in
  if case .change(let change) = event { print("received:", change.changeset.summary) }
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

// MARK: Your own remote and store

// The remote lists the songs and downloads them.
struct Radio: OneWayRemote {
  func items() -> [Song] { [4, 5, 6].map { Song(id: $0, title: "Number \($0)") } }
  func prepareDownloads(_ songs: [Song]) -> [Song] { songs.reversed() }
  func content(of song: Song) -> Song {
    print("download", song.title)
    return song
  }
}

// The store knows which songs are here. A run calls its methods in a fixed order.
struct Player: OneWayStore {
  func begin() { print("begin") }
  func keys() -> Set<Int> { [3, 4] }
  func remove(_ keys: Set<Int>) { print("remove", keys) }
  func isOutdated(_ song: Song) -> Bool { false }
  func store(_ content: Song, of song: Song) { print("store", content.title) }
  func finish(_ songs: [Song]?) { print("end") }
}

let player = OneWaySynchronizer(
  from: Radio(), to: Player(), options: .init(concurrency: 1, retry: RetryPolicy(retries: 3)))
let result = try await player.sync()
print("\(result.contents) downloaded, \(player.progress.value.failed) failed")

// If you call `sync()` during a run, exactly one more run follows. `cancel()` cancels both.
