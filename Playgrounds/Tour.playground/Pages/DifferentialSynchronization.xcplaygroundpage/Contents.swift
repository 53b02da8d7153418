// Lists that are edited in two places at once: how to merge and how to synchronize them.
//
//     swift run DifferentialSynchronization
import Swappable
import Synchronizers

struct Note: Identifiable, Hashable, CustomStringConvertible {
  var id: String
  var text: String
  var description: String { "\(id): \(text)" }
}
extension Note: Differentiable {}

// MARK: Merge two versions

// Both sides start with the same two notes.
let base = [Note(id: "a", text: "Milk"), Note(id: "b", text: "Bread")]
let mine = [Note(id: "a", text: "Oat milk"), Note(id: "b", text: "Bread")]
let theirs = [Note(id: "b", text: "Rye bread"), Note(id: "a", text: "Milk")]

let merge = ThreeWayMerge(base: base, mine: mine, theirs: theirs)
print("merged:", merge.merged)
print("I change:", merge.changesForMine.summary)
print("they change:", merge.changesForTheirs.summary)

// Two different edits of one note are a conflict. Theirs wins, unless a closure decides otherwise.
let disputed = ThreeWayMerge(
  base: [Note(id: "a", text: "Milk")], mine: [Note(id: "a", text: "Oat milk")],
  theirs: [Note(id: "a", text: "Goat's milk")]
) { conflict in
  let texts = [conflict.mine, conflict.theirs].compactMap { $0?.text }
  return .merged(Note(id: "a", text: texts.joined(separator: " or ")))
}
print("disputed:", disputed.merged)

// MARK: Synchronize a collection with a session

let server = InMemoryRemote(base)
let phone = SynchronizationSession(remote: server)
let laptop = SynchronizationSession(remote: server)
try await phone.synchronize()
try await laptop.synchronize()

// Observers of the client receive one change for each synchronization.
let observation = laptop.client.observe { event in
  if case .change(let change) = event { print("the laptop receives:", change.changeset.summary) }
}

// Both edit offline, at the same time.
phone.client.append(Note(id: "c", text: "Honey"))
phone.client.move(from: 0, to: 1)
laptop.client.update(identifiedBy: "b") { $0.text = "Rye bread" }

try await phone.synchronize()
let outcome = try await laptop.synchronize()
print("the laptop sends:", outcome.changesForRemote.summary)
try await phone.synchronize()

print("phone: ", Array(phone.client.snapshot))
print("laptop:", Array(laptop.client.snapshot))
print("server:", Array(server.contents.snapshot))

// The client is a data source, so a container can show it.
let container = SwappableContainer<Note>(phone.client.filter { $0.text.count > 5 })
print("long ones:", Array(container.snapshot))
