import Foundation
import Swappable
import TestSupport
import Testing

/// The code of the guide "Events in detail", and its lists of members.
@Suite(.timeLimit(.minutes(10))) struct EventsInDetailGuideTests {
  @Test func `the guide's code is compiled here`() throws {
    #expect(try Guide("EventsInDetail").paragraphs(missingIn: #filePath) == [])
  }

  @Test func `it prints what the guide says`() async throws {
    let print = Printed()
    let todos = ArrayDataSource([
      Todo(id: 1, title: "Write"), Todo(id: 2, title: "Test"), Todo(id: 3, title: "Ship"),
    ])
    var received: [CollectionEvent<Todo>] = []
    for await event in todos.events() {
      received.append(event)
      if received.count == 2 { break }
      todos.replace(with: [
        Todo(id: 3, title: "Ship"), Todo(id: 1, title: "Write it"), Todo(id: 4, title: "Rest"),
      ])
    }

    for event in received {
      switch event {
      case .initial(let contents, let revision):
        print("initial at revision \(revision):", contents.map(\.title))
      case .change(let change):
        print("change to revision \(change.revision):", change.changeset.summary)
      }
    }

    print(received.map(\.snapshot.count), received.map(\.revision))

    guard case .change(let change) = received[1] else { fatalError() }
    print(change.before.map(\.title), "→", change.after.map(\.title))
    print(change.revisionBefore, "→", change.revision)

    for (offset, todo) in change.inserted { print("inserted at \(offset): \(todo.title)") }
    for (offset, todo) in change.deleted { print("deleted at \(offset): \(todo.title)") }
    for (from, to, old, new) in change.updated {
      print("updated \(from) → \(to): \(old.title) → \(new.title)")
    }
    for (from, to, todo) in change.moved { print("moved \(from) → \(to): \(todo.title)") }

    var titles = Dictionary(uniqueKeysWithValues: change.before.map { ($0.id, $0.title) })
    let edits = change.byIdentity
    for todo in edits.deleted { titles[todo.id] = nil }
    for todo in edits.stored { titles[todo.id] = todo.title }
    print(titles.sorted { $0.key < $1.key }.map(\.value))

    print(change.changeset)
    print(change)

    let copy = try change.record.applying(to: Array(change.before))
    print(copy.map(\.title))

    for step in change.patch.steps {
      switch step {
      case .remove(let todo, let offset): print("remove \(todo.title) at \(offset)")
      case .move(let todo, let source, let destination):
        print("move \(todo.title) from \(source) to \(destination)")
      case .insert(let todo, let offset): print("insert \(todo.title) at \(offset)")
      case .update(let old, let new, let offset):
        print("update \(old.title) to \(new.title) at \(offset)")
      }
    }

    let patch = Patch(change.changeset, from: change.before, to: change.after)
    print(patch.applying(to: change.before).map(\.title))
    print(patch.inverse.applying(to: change.after).map(\.title))
    let own = Patch(steps: [.insert(Todo(id: 9, title: "Sleep"), at: 0)])
    print(own.applying(to: change.before).count)

    let printed = print.lines.flatMap { $0.components(separatedBy: "\n") }
    #expect(try printed == Guide("EventsInDetail").output)
  }

  @Test func `every public member is in the guide`() throws {
    let guide = try Guide("EventsInDetail").lines
    let members = try publicMembers(of: ["CollectionEvent", "CollectionChange", "Patch"])
    #expect(members.count > 15)
    for member in members {
      #expect(guide.contains { $0.hasPrefix("| `\(member)") }, "\(member)")
    }
  }

  /// The names of the public members that the sources of two modules declare in types or extensions.
  private func publicMembers(of types: [String]) throws -> Set<String> {
    let folder = try Guide.package().appendingPathComponent("Sources").resolvingSymlinksInPath()
    let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
      .filter { $0.hasSuffix(".swift") }
      .filter { $0.hasPrefix("Core/ObservableCollections/") || $0.hasPrefix("Core/Diffing/") }
    var members: Set<String> = []
    for file in files {
      let text = try String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8)
      var isInside = false
      for line in text.components(separatedBy: "\n") {
        if !line.hasPrefix(" "), !line.isEmpty, line != "}" {
          isInside = types.contains { type in
            line.contains("struct \(type)<") || line.contains("enum \(type)<")
              || line.hasPrefix("extension \(type) ") || line.hasPrefix("extension \(type):")
          }
        }
        guard isInside, line.hasPrefix("  "), !line.hasPrefix("   ") else { continue }
        guard let match = line.firstMatch(of: /^  (?:@\w+ )?public (?:var|let|func) (\w+)/) else {
          continue
        }
        members.insert(String(match.1))
      }
    }
    return members.subtracting(["encode", "hash"])
  }
}
