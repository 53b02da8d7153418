import Swappable
import TestSupport
import Testing

/// The code of the guide "Filter, sort and join lists".
@Suite struct DerivedListsGuideTests {
  struct Line: Hashable, Identifiable, Sendable, Differentiable {
    let id: Int
    let text: String
  }

  struct Order: Hashable, Identifiable, Sendable, Differentiable {
    let id: Int
    var price: Double
  }

  @Test func `the guide's code is compiled here`() throws {
    let guide = try Guide("DerivedLists")
    #expect(guide.code.count == 5)
    #expect(try guide.paragraphs(missingIn: #filePath) == [])
  }

  @Test func `it prints what the guide says`() throws {
    let print = Printed()
    let todos = ArrayDataSource([
      Todo(id: 1, title: "Write"), Todo(id: 2, title: "Test"), Todo(id: 3, title: "Ship"),
    ])
    let short = todos.filter { $0.title.count < 5 }.sorted { $0.title < $1.title }
    let observation = short.observe { event in
      switch event {
      case .initial(let contents, _): print("initial:", contents.map(\.title))
      case .change(let change): print(change.changeset.summary, change.after.map(\.title))
      }
    }
    todos.append(Todo(id: 4, title: "Celebrate"))  // too long: no event
    todos.update(identifiedBy: 3) { $0.title = "Zip" }  // still short, now last
    todos.update(identifiedBy: 1) { $0.title = "Edit" }  // short only now
    observation.dispose()

    let lines = todos.map { Line(id: $0.id, text: "\($0.id). \($0.title)") }
    #expect(lines.snapshot.map(\.text) == ["1. Edit", "2. Test", "3. Zip", "4. Celebrate"])

    let found = SwappableContainer<Todo>(todos)
    let search = found.observe { event in
      if case .change(let change) = event { print(change.changeset.summary) }
    }
    for text in ["i", "ip"] {
      found.swap(to: todos.filter { $0.title.contains(text) })
    }
    found.swap(to: todos)
    found.swap(to: todos.sorted { $0.title > $1.title })  // an order from the user
    search.dispose()

    let urgent = ArrayDataSource([Todo(id: 9, title: "Sleep")])
    let all = urgent.concatenated(with: todos)
    let joined = all.observe { event in
      if case .change(let change) = event { print(change.changeset.summary) }
    }
    withTransaction {
      if let zip = todos.remove(identifiedBy: 3) { urgent.append(zip) }
    }
    print(all.snapshot.map(\.title))
    joined.dispose()

    let orders = ArrayDataSource([Order(id: 1, price: 1.5), Order(id: 2, price: 2)])
    let count = orders.live.count
    let dearest = orders.live.max(by: \.price)
    let totals = orders.live.sum(of: \.price).observe { print("\(count.value) orders: \($0)") }
    orders.append(Order(id: 3, price: 2.25))
    orders.move(from: 0, to: 2)  // the sum stays the same: no value
    print("the dearest is", dearest.value?.id ?? 0)
    orders.removeAll()
    totals.dispose()
    #expect(try print.lines == Guide("DerivedLists").output)
  }
}
