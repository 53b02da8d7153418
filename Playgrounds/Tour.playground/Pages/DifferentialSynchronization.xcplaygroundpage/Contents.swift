// Lists that are edited in two places at once: merging them, and keeping them in step.
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

// MARK: Merging is a function

// Both sides began with the same two notes.
let base = [Note(id: "a", text: "Milk"), Note(id: "b", text: "Bread")]
let mine = [Note(id: "a", text: "Oat milk"), Note(id: "b", text: "Bread")]
let theirs = [Note(id: "b", text: "Rye bread"), Note(id: "a", text: "Milk")]

let merge = ThreeWayMerge(base: base, mine: mine, theirs: theirs)
print("merged:", merge.merged)
print("I change:", merge.changesForMine.summary)
print("they change:", merge.changesForTheirs.summary)

// What both have edited differently is a conflict. Theirs holds, unless a closure decides otherwise.
let disputed = ThreeWayMerge(
  base: [Note(id: "a", text: "Milk")], mine: [Note(id: "a", text: "Oat milk")],
  theirs: [Note(id: "a", text: "Goat's milk")]
) { conflict in
  let texts = [conflict.mine, conflict.theirs].compactMap { $0?.text }
  return .merged(Note(id: "a", text: texts.joined(separator: " or ")))
}
print("disputed:", disputed.merged)

// MARK: A session keeps a collection in step

let server = InMemoryRemote(base)
let phone = SynchronizationSession(remote: server)
let laptop = SynchronizationSession(remote: server)
try await phone.synchronize()
try await laptop.synchronize()

// Whoever observes the client is told one change for each synchronisation.
let observation = laptop.client.observe { event in
  if case .change(let change) = event { print("the laptop is told:", change.changeset.summary) }
}

// Both edit, offline. Nobody waits for anybody.
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

// The client is a data source like any other.
let container = SwappableContainer<Note>(phone.client.filter { $0.text.count > 5 })
print("long ones:", Array(container.snapshot))
