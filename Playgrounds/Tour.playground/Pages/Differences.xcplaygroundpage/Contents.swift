// The difference between two versions of a list, in several forms.
//
//     swift run Differences
import Foundation
import Swappable

nonisolated struct Todo: Codable, Identifiable, Hashable, Differentiable, CustomStringConvertible {
  var id: Int
  var title: String
  var description: String { "\(id) \(title)" }
}

let old = [Todo(id: 1, title: "Write"), Todo(id: 2, title: "Test"), Todo(id: 3, title: "Ship")]
let new = [
  Todo(id: 3, title: "Ship"), Todo(id: 1, title: "Write more"), Todo(id: 4, title: "Rest"),
]

// MARK: Simultaneous offsets

// A changeset refers to offsets in the old and in the new version.

let change = Changeset(from: old, to: new)
print(change)
print("applied:", change.applying(to: old, with: new) == new)

// MARK: Sequential steps

// A patch consists of steps that you apply one after another.

for step in Patch(change, from: old, to: new).steps { print(step) }

// MARK: A description for people

print(ChangeDescription(change, from: old, to: new))

// MARK: Stages for views

// A view animates one stage after another. Each stage has the data to show after it.
for stage in StagedChangeset(from: old, to: new) { print(stage) }

// MARK: An algebra

// `inverse` reverts a change. `composed` combines two changes into one.
print("back:", change.inverse.applying(to: new, with: old) == old)
let last = [Todo(id: 1, title: "Write"), Todo(id: 4, title: "Rest")]
let next = Changeset(from: new, to: last)
let both = change.composed(with: next, from: old, to: last)
print("both:", both.summary)

// MARK: Records for other processes

// A record can be encoded as JSON. The reader applies it to its own copy, or rejects it if it does
// not match.
let encoder = JSONEncoder()
encoder.outputFormatting = .sortedKeys
let line = try encoder.encode(ChangeRecord(next, from: new, to: last))
print(String(decoding: line, as: UTF8.self))
let record = try JSONDecoder().decode(ChangeRecord<Todo>.self, from: line)
print("read:", try record.applying(to: new) == last)

// MARK: Sections

// Elements can move between sections.
let week = [
  ArraySection(model: "today", elements: [1, 2, 3]), ArraySection(model: "later", elements: [4]),
]
let nextWeek = [
  ArraySection(model: "today", elements: [2, 4]), ArraySection(model: "later", elements: [1]),
]
print(SectionedChangeset(from: week, to: nextWeek))
