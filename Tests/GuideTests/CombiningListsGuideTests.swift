import Swappable
import TestSupport
import Testing

/// The code of the guide "Combine live lists".
@Suite struct CombiningListsGuideTests {
  struct Order: Hashable, Identifiable, Sendable, Differentiable {
    let id: Int
    var customerID: Int?
    var lines: [String] = []
  }

  struct Customer: Hashable, Identifiable, Sendable, Differentiable {
    let id: Int
    var name: String
  }

  @Test func `the guide's code is compiled here`() throws {
    let guide = try Guide("CombiningLists")
    #expect(guide.code.count == 6)
    #expect(try guide.paragraphs(missingIn: #filePath) == [])
  }

  @Test func `it prints what the guide says`() throws {
    let print = Printed()
    let todos = ArrayDataSource([
      Todo(id: 1, title: "Write"), Todo(id: 2, title: "Test"), Todo(id: 3, title: "Write"),
    ])
    let titles = todos.distinct(by: \.title)
    print(titles.snapshot.map(\.id))
    todos.remove(identifiedBy: 1)
    print(titles.snapshot.map(\.id))

    let (mine, yours) = (ArrayDataSource([1, 2, 3]), ArrayDataSource([3, 4]))
    let all = mine.union(yours)
    let shared = mine.intersection(yours)
    let onlyMine = mine.subtracting(yours)
    yours.append(1)
    print(Array(all.snapshot), Array(shared.snapshot), Array(onlyMine.snapshot))

    let orders = ArrayDataSource([
      Order(id: 1, customerID: 7, lines: ["tea"]), Order(id: 2, customerID: nil, lines: []),
    ])
    let customers = ArrayDataSource([Customer(id: 7, name: "Ada"), Customer(id: 8, name: "Bob")])
    let rows = orders.joined(with: customers, on: \.customerID)
    let observation = rows.observe { event in
      if case .change(let change) = event {
        print(change.changeset.summary, change.after.map { "\($0.left.id) \($0.right.name)" })
      }
    }
    orders[1].customerID = 8
    customers[0].name = "Ida"
    observation.dispose()

    let active = customers.semiJoined(with: orders, on: \.id, equals: \.customerID)
    let idle = customers.antiJoined(with: orders, on: \.id, equals: \.customerID)
    let everything = orders.fullJoined(with: customers, on: \.customerID, equals: \.id)
    orders[0].customerID = nil
    print(active.snapshot.map(\.name), idle.snapshot.map(\.name))
    print(everything.snapshot.map { "\($0.left?.id ?? 0) \($0.right?.name ?? "-")" })

    let lines = orders.flatMap(\.lines)
    orders[1].lines = ["milk", "honey"]
    orders.move(from: 1, to: 0)
    print(Array(lines.snapshot))
    #expect(try print.lines == Guide("CombiningLists").output)
  }
}
