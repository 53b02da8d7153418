import Swappable
import TestSupport
import Testing

/// The code of the guide about histories.
@Suite struct HistoriesGuideTests {
  @Test func `the guide's code is compiled here`() throws {
    let guide = try Guide("Histories")
    #expect(guide.code.count == 4)
    #expect(try guide.paragraphs(missingIn: #filePath) == [])
  }

  @Test func `a history prints what the guide says`() throws {
    let print = Printed()
    let todos = ArrayDataSource([Todo(id: 1, title: "Write"), Todo(id: 2, title: "Test")])
    let history = todos.history()

    let first = history.observe(since: nil) { event in print(event.snapshot.map(\.title)) }
    let token = history.token
    first.dispose()

    todos.append(Todo(id: 3, title: "Ship"))
    todos.update(identifiedBy: 2) { $0.title = "Test it" }
    todos.update(identifiedBy: 2) { $0.title = "Test it again" }

    let second = history.observe(since: token) { event in
      if case .change(let change) = event { print(change) }
    }
    todos.remove(identifiedBy: 1)
    second.dispose()

    print(history.revisions.map(\.number))
    print(history.snapshot(at: 1)?.map(\.title) ?? [])
    if let change = history.change(from: 1, to: 4) { print(change.changeset.summary) }
    if let back = history.change(from: 4, to: 0) { print(back.after.map(\.title)) }

    let short = todos.history(retaining: .init(revisions: 100, age: .seconds(3_600)))
    #expect(short.revisions.map(\.number) == [4])
    // The description of a change has several lines.
    let lines = print.lines.flatMap { $0.split(separator: "\n").map(String.init) }
    #expect(try lines == Guide("Histories").output)
  }
}
