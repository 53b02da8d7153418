// A list whose source you can swap. Observers receive the difference and nothing else.
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

// MARK: A swap is one change

// Elements of both sources are kept. They are moved or updated, and never deleted and inserted
// again.
container.swap(to: online)
// The container follows the new source and no longer observes the old one.
online.remove(identifiedBy: 1)
offline.removeAll()

// MARK: Equal contents cause no event

let copy = ArrayDataSource(online.snapshot)
print("to a copy:", await container.swap(to: copy).outcome)

// MARK: A source that is loading

// Until the new source is loaded, the container continues to follow the old one.
final class Download: DataSource {
  private let feed = SourceWriter(of: Download.self, status: .loading)
  nonisolated var collection: LiveCollection<Track> { feed.collection }
  nonisolated func finish(_ tracks: [Track]) { feed.publish(.whole(tracks)) }
  nonisolated func fail(_ error: SourceError) { feed.show(.failed(error)) }
}

let download = Download()
let swap = container.swap(to: download)
copy.append(Track(id: 4, title: "Summer"))
print("so far:", swap.outcomeIfKnown.map { "\($0)" } ?? "undecided")
download.finish([Track(id: 4, title: "Summer"), Track(id: 5, title: "Night")])
print("then:", await swap.outcome)

// If the new source fails, the container keeps the old one.
let failing = Download()
let failed = container.swap(to: failing)
failing.fail(SourceError(code: "offline", message: "there is no network"))
if case .failed(let error) = await failed.outcome { print("swap failed:", error) }

// The latest of several swaps wins. Observers never receive the contents of the superseded ones.
let superseded = container.swap(to: Download())
let latest = container.swap(to: offline)
print("two swaps:", await superseded.outcome, await latest.outcome)

// MARK: Operators and swaps

// You derive a list from the container once. It follows each swap. Containers can be nested, too.
let short = SwappableContainer<Track>(container.filter { $0.title.count < 7 })
container.swap(to: online)
print("short ones:", Array(short.snapshot))
print("a cycle:", await container.swap(to: short).outcome)
