// A list that tells exactly what becomes of it.
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
planets.update(identifiedBy: "Mars") { $0.moons = 3 }  // nothing has changed: nothing is told

// Several edits are one change. Inside, only the draft shows them.
planets.transaction { draft in
  draft.insert(Planet(id: "Mercury", moons: 0), at: 0)
  draft.update(identifiedBy: "Mars") { $0.moons = 2 }
  print("draft \(draft.count), list \(planets.count)")
}

// A body that throws leaves everything as it was.
struct Doubt: Error {}
do {
  try planets.transaction { draft in
    draft.removeAll()
    throw Doubt()
  }
} catch { print("still \(planets.count)") }

// A new version, from wherever: what differs is found out.
planets.replace(with: planets.snapshot.reversed() + [Planet(id: "Jupiter", moons: 97)])

// MARK: Deriving others

// What is made of a list is a live list: filtered, sorted, mapped, or several as one.
let moonless = planets.filter { $0.moons == 0 }
let names = planets.sorted { $0.moons > $1.moons }.map(\.id)
let everything = moonless.map(\.id).concatenated(with: names)
let derived = everything.observe { print(Array($0.snapshot)) }
planets.update(identifiedBy: "Venus") { $0.moons = 5 }

// MARK: Following

// A binding makes another list equal, and keeps it so.
let copy = CollectionProperty<Planet>()
let binding = moonless.bind(to: copy)
print("copy:", Array(copy.snapshot))

// As an asynchronous sequence: the initial first, then changes.
derived.dispose()
for await event in planets.events() {
  guard case .change(let change) = event else {
    planets.remove(identifiedBy: "Jupiter")
    continue
  }
  print("gone:", change.deleted.map(\.element))
  break
}
