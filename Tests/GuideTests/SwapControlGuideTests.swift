import Swappable
import TestSupport
import Testing

/// The code of the guides "A reload that must not empty the list" and "Several lists that change together".
@Suite(.timeLimit(.minutes(10))) struct SwapControlGuideTests {
  @Test(arguments: ["GuardedReloads", "SwappingTogether"])
  func `the guide's code is compiled here`(name: String) throws {
    #expect(try Guide(name).paragraphs(missingIn: #filePath) == [])
  }

  @Test func `guards print what the guide says`() async throws {
    let print = Printed()
    let file = ArrayDataSource((1...5).map { Todo(id: $0, title: "Task \($0)") })
    let todos = file.guarded(by: .deletions(atMost: .percent(20)))
    let observation = todos.observe { event in
      print(event.snapshot.map(\.id))
    }
    let refusals = todos.pendingChange.observe { pending in
      print(pending?.reason ?? "nothing is pending")
    }
    file.removeAll()

    file.replace(with: (2...6).map { Todo(id: $0, title: "Task \($0)") })
    file.remove(at: 0)
    file.replace(with: [Todo(id: 7, title: "Task 7")])
    todos.pendingChange.value?.accept()
    observation.dispose()
    refusals.dispose()

    let noRenames = ChangeGuard<Todo> { change in
      let renamed = change.changeset.updates.count
      return renamed == 0 ? nil : "\(renamed) titles would change"
    }

    let container = SwappableContainer<Todo>(ArrayDataSource([Todo(id: 1, title: "Write")]))
    container.swap(
      to: ArrayDataSource([Todo(id: 1, title: "Rest")]), guardedBy: noRenames)
    print(container.pendingChange.value?.reason ?? "shown")
    print(container.snapshot.map(\.title))

    let imported = ArrayDataSource([Todo(id: 1, title: "Rest"), Todo(id: 2, title: "Sleep")])
    let preview = try await container.preview(of: imported)
    print(preview.change.changeset.summary)
    preview.accept()
    print(container.snapshot.map(\.title))
    #expect(try print.lines == Guide("GuardedReloads").output)
  }

  @Test func `groups print what the guide says`() async throws {
    let print = Printed()
    let todos = SwappableContainer<Todo>(ArrayDataSource([Todo(id: 1, title: "Write")]))
    let owners = SwappableContainer<String>(ArrayDataSource(["Ada"]))
    let observation = todos.observe { event in
      print(event.snapshot.map(\.title), Array(owners.snapshot))
    }
    let swap = swapTogether([
      todos.swapping(to: ArrayDataSource([Todo(id: 2, title: "Test")])),
      owners.swapping(to: ArrayDataSource(["Grace"])),
    ])
    print(await swap.outcome)
    observation.dispose()

    let (first, second) = (
      SwappableContainer<String>(ArrayDataSource(["Ada"])),
      SwappableContainer<String>(ArrayDataSource(["Grace"]))
    )
    let everybody = first.concatenated(with: second)
    let following = everybody.observe { event in print(Array(event.snapshot)) }
    swapTogether([
      first.swapping(to: ArrayDataSource(["Edsger"])),
      second.swapping(to: ArrayDataSource(["Barbara"])),
    ])
    following.dispose()

    let guarded = swapTogether([
      todos.swapping(to: ArrayDataSource([]), guardedBy: .count(atLeast: 1)),
      owners.swapping(to: ArrayDataSource(["Edsger"])),
    ])
    print(todos.pendingChange.value?.reason ?? "shown", Array(owners.snapshot))
    todos.pendingChange.value?.accept()
    print(await guarded.outcome, Array(owners.snapshot))
    #expect(try print.lines == Guide("SwappingTogether").output)
  }
}
