// One list to observe, whose source is exchanged: observers are told what differs, and nothing else.
//
//     swift run Swapping
import Swappable

nonisolated struct Track: Identifiable, Hashable, Differentiable, CustomStringConvertible {
  var id: Int
  var title: String
  var description: String { title }
}

let offline = ArrayDataSource([Track(id: 1, title: "Autumn"), Track(id: 2, title: "Winter")])
let online = ArrayDataSource([
  Track(id: 2, title: "Winter"), Track(id: 1, title: "Late autumn"), Track(id: 3, title: "Spring"),
])

// MARK: A container

let container = SwappableContainer<Track>(offline)
let observation = container.observe { event in
  switch event {
  case .initial(let contents, _): print("at first:", Array(contents))
  case .change(let change): print(change.changeset.summary, "->", Array(change.after))
  }
}

// MARK: Swapping is one change

// What both hold is kept: moved or updated, never deleted and inserted.
container.swap(to: online)
// The source that is shown is live, the one that was left is not listened to any more.
online.remove(identifiedBy: 1)
offline.removeAll()

// MARK: Equal contents are nothing to tell

let copy = ArrayDataSource(online.snapshot)
print("to a copy:", await container.swap(to: copy).outcome)

// MARK: A source that is loading

// Until it has loaded, the old source stays, and stays live.
final class Download: DataSource {
  private let contents = CollectionProperty<Track>(status: .loading)
  nonisolated var collection: LiveCollection<Track> { contents.collection }
  nonisolated func finish(_ tracks: [Track]) { contents.publish(tracks, status: .loaded) }
  nonisolated func fail(_ error: SourceError) { contents.setStatus(.failed(error)) }
}

let download = Download()
let swap = container.swap(to: download)
copy.append(Track(id: 4, title: "Summer"))
print("so far:", swap.outcomeIfKnown.map { "\($0)" } ?? "undecided")
download.finish([Track(id: 4, title: "Summer"), Track(id: 5, title: "Night")])
print("then:", await swap.outcome)

// One that fails instead changes nothing.
let failing = Download()
let failed = container.swap(to: failing)
failing.fail(SourceError(code: "offline", message: "there is no network"))
if case .failed(let error) = await failed.outcome { print("not shown:", error) }

// The latest of several swaps wins; of the others nothing is ever seen.
let superseded = container.swap(to: Download())
let latest = container.swap(to: offline)
print("in turn:", await superseded.outcome, await latest.outcome)

// MARK: Operators stay

// They are made over the container once, and survive each swap. Containers nest as well.
let short = SwappableContainer<Track>(container.filter { $0.title.count < 7 })
container.swap(to: online)
print("short ones:", Array(short.snapshot))
print("a circle:", await container.swap(to: short).outcome)
