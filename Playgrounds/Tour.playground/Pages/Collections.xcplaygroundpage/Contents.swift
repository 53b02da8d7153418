// A list that reports exactly how it changes.
//
//     swift run Collections
import Swappable

nonisolated struct Planet: Identifiable, Hashable, Differentiable, CustomStringConvertible {
  var id: String
  var moons: Int
  var description: String { "\(id) (\(moons))" }
}

// MARK: Observing

let planets = ArrayDataSource([Planet(id: "Earth", moons: 1), Planet(id: "Mars", moons: 2)])
let observation = planets.observe { event in
  switch event {
  case .initial(let contents, _): print("at first:", Array(contents))
  case .change(let change): print(change.changeset.summary)
  }
}

// MARK: Editing

planets.append(Planet(id: "Venus", moons: 0))
planets.move(from: 2, to: 0)
planets.update(identifiedBy: "Mars") { $0.moons = 3 }
planets.update(identifiedBy: "Mars") { $0.moons = 3 }  // the element is equal: no event

// A transaction combines several edits into one change. Inside, only the draft contains the edits.
planets.transaction { draft in
  draft.insert(Planet(id: "Mercury", moons: 0), at: 0)
  draft.update(identifiedBy: "Mars") { $0.moons = 2 }
  print("draft \(draft.count), list \(planets.count)")
}

// If the closure throws an error, the list keeps its contents.
struct CanceledError: Error {}
do {
  try planets.transaction { draft in
    draft.removeAll()
    throw CanceledError()
  }
} catch { print("still \(planets.count)") }

// Replace the contents with a new version. The list computes the difference.
planets.replace(with: planets.snapshot.reversed() + [Planet(id: "Jupiter", moons: 97)])

// MARK: Deriving lists

// Operators filter, sort, map or combine lists. Each result is a live list.
let moonless = planets.filter { $0.moons == 0 }
let names = planets.sorted { $0.moons > $1.moons }.map(\.id)
let everything = moonless.map(\.id).concatenated(with: names)
let derived = everything.observe { print(Array($0.snapshot)) }
planets.update(identifiedBy: "Venus") { $0.moons = 5 }

// MARK: Following

// A binding keeps another list equal to this one.
let copy = ArrayDataSource<Planet>()
let binding = moonless.bind(to: copy)
print("copy:", Array(copy.snapshot))

// The events are also available as an asynchronous sequence: the initial event, and then the
// changes.
derived.dispose()
for await event in planets.events() {
  guard case .change(let change) = event else {
    planets.remove(identifiedBy: "Jupiter")
    continue
  }
  print("deleted:", change.deleted.map(\.element))
  break
}
