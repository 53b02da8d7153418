// What programs often need beside a list: a selection, work for each element, totals as rows.
//
//     swift run EverydayLists
import Swappable

nonisolated struct Server: Identifiable, Hashable, Differentiable {
  let id: String
  var region: String
  var requests: Int
}

nonisolated struct Region: Identifiable, Hashable, Differentiable {
  let id: String
  let requests: Int
  let servers: Int
}

let servers = ArrayDataSource([
  Server(id: "web9", region: "north", requests: 40),
  Server(id: "web10", region: "south", requests: 25),
  Server(id: "Web1", region: "north", requests: 30),
])
let list = SwappableContainer<Server>(servers)

// MARK: A selection

// It keeps identities: the rows may move, change, or come from another source.
let selection = list.selection(.singleOrNeighbor)
let choosing = selection.selected.observe { print("selected:", $0.snapshot.map(\.id)) }
selection.select("web10")
servers.move(from: 1, to: 0)
servers.update(identifiedBy: "web10") { $0.requests = 26 }
servers.remove(identifiedBy: "web10")
choosing.dispose()

// MARK: Work for each element

// Each start has one end, whatever happens to the list.
let work = list.forEach(
  lifetime: { server in
    print("connect to \(server.id)")
    return Disposable { print("disconnect from \(server.id)") }
  }, update: { _, _ in true })
servers.update(identifiedBy: "web9") { $0.requests = 41 }
servers.append(Server(id: "web2", region: "south", requests: 9))
servers.remove(identifiedBy: "Web1")

// MARK: Totals as rows

let regions = list.aggregated(by: \.region) { group in
  ReadOnlyProperty(combining: group.live.sum(of: \.requests), group.live.count) {
    Region(id: group.key, requests: $0, servers: $1)
  }
}
let busiest = regions.sorted(by: .descending(\.requests))
let totals = busiest.observe { event in
  print(event.snapshot.map { "\($0.id): \($0.requests) of \($0.servers)" })
}
servers.update(identifiedBy: "web2") { $0.requests = 90 }

// MARK: Orders and neighbors

let named = list.sorted(by: .natural(\.id)).map(withPrevious: { server, previous in
  let isNew = server.region != previous?.region
  return Server(id: server.id, region: isNew ? server.region : "", requests: server.requests)
})
servers.append(Server(id: "web10", region: "south", requests: 1))
print(named.snapshot.map { "\($0.id) \($0.region)" })

// MARK: A swap

// A source that still loads: the old list stays, and the property says that a swap waits.
let slow = ArrayDataSource<Server>(status: .loading)
let waiting = list.swapping.observe { print($0 == nil ? "up to date" : "loading") }
list.swap(to: slow)
slow.publish([Server(id: "web2", region: "south", requests: 91)], status: .loaded)
for handle in [waiting, totals, work] { handle.dispose() }
