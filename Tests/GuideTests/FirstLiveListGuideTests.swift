import Swappable
import TestSupport
import Testing

/// The code of the guide "Your first live list"; its element is that of the other guides, too.
@Suite struct FirstLiveListGuideTests {
  @Test func theGuidesCodeIsWhatIsRunHere() throws {
    let guide = try Guide("FirstLiveList")
    #expect(guide.code.count == 7)
    let todo = #filePath.replacing("FirstLiveListGuideTests", with: "Todo")
    let elsewhere = try guide.blocks(missingIn: #filePath)
    #expect(try guide.blocks(missingIn: todo).count == guide.code.count - 2)
    #expect(elsewhere.count == 1 && elsewhere[0].hasPrefix("struct Todo"))
  }

  @Test func itPrintsWhatItSays() throws {
    let print = Printed()
    let todos = ArrayDataSource([Todo(id: 1, title: "Write"), Todo(id: 2, title: "Test")])
    let observation = todos.observe { event in
      switch event {
      case .initial(let contents, _): print("at first:", contents.map(\.title))
      case .change(let change): print(change.changeset.summary)
      }
    }

    todos.append(Todo(id: 3, title: "Ship"))
    todos.update(identifiedBy: 1) { $0.title = "Write more" }
    todos.move(from: 2, to: 0)

    todos.transaction { draft in
      draft.remove(identifiedBy: 2)
      draft.append(Todo(id: 4, title: "Rest"))
    }
    todos.replace(with: [Todo(id: 1, title: "Write more"), Todo(id: 4, title: "Sleep")])

    let details = todos.observe { event in
      guard case .change(let change) = event else { return }
      for (offset, todo) in change.inserted { print("\(todo.title) came to \(offset)") }
      for (offset, todo) in change.deleted { print("\(todo.title) went from \(offset)") }
      for (_, _, old, new) in change.updated { print("\(old.title) became \(new.title)") }
    }
    todos.replace(with: [Todo(id: 1, title: "Write"), Todo(id: 5, title: "Read")])
    details.dispose()

    let titles = todos.sorted { $0.title < $1.title }.map(\.title)
    print(titles.snapshot)
    todos.append(Todo(id: 6, title: "Answer"))
    print(titles.snapshot)

    observation.dispose()
    #expect(try print.lines == Guide("FirstLiveList").output)
  }
}
