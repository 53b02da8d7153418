// Swaps that can be refused, looked at before they happen, made together, or made by themselves.
//
//     swift run SwapControl
import Swappable

nonisolated struct Price: Identifiable, Hashable, Differentiable, CustomStringConvertible {
  var id: String
  var cents: Int
  var description: String { "\(id) \(cents)" }
}

let today = ArrayDataSource([
  Price(id: "bread", cents: 310), Price(id: "milk", cents: 120), Price(id: "tea", cents: 480),
])

// MARK: A reload that must not empty the list

// The guard refuses changes that delete more than half of the elements. Observers do not see them.
let guarded = today.guarded(by: .deletions(atMost: .percent(50)))
let observation = guarded.observe { event in print("prices:", Array(event.snapshot)) }
today.removeAll()
if let pending = guarded.pendingChange.value { print("refused:", pending.reason) }
// A later state that the guard allows is shown by itself.
today.append(Price(id: "bread", cents: 320))
today.append(Price(id: "milk", cents: 125))
// The last refused state is shown if you accept it.
today.removeAll()
guarded.pendingChange.value?.accept()

// MARK: A preview

let prices = SwappableContainer<Price>(ArrayDataSource([Price(id: "tea", cents: 480)]))
let imported = ArrayDataSource([Price(id: "tea", cents: 500), Price(id: "rice", cents: 260)])
let preview = try await prices.preview(of: imported)
print("an import would make", preview.change.changeset.summary)
// The preview follows the source. Accepting it shows the difference of that moment.
imported.append(Price(id: "salt", cents: 80))
preview.accept()
print("imported:", Array(prices.snapshot))

// MARK: Several lists that change together

let names = SwappableContainer<String>(ArrayDataSource(["tea", "rice", "salt"]))
let watching = prices.observe { event in
  print("\(event.snapshot.count) prices, \(names.count) names")
}
let together = swapTogether([
  prices.swapping(to: ArrayDataSource([Price(id: "tea", cents: 450)])),
  names.swapping(to: ArrayDataSource(["tea"])),
])
print("together:", await together.outcome)
watching.dispose()

// MARK: Primary and fallback

let live = ArrayDataSource<String>(status: .loading)
let spare = ArrayDataSource(["spare"])
let robust = FallbackSource<String>(
  [live, spare], fallingBackAfter: .zero, returningAfter: .zero)
let following = robust.observe { event in print("shown:", Array(event.snapshot)) }
live.append("live")
live.setStatus(.loaded)
live.setStatus(.failed(SourceError(code: "offline", message: "there is no network")))
live.setStatus(.loaded)
following.dispose()
observation.dispose()
