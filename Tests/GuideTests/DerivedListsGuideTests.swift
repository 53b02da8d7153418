import Foundation
import Swappable
import TestSupport
import Testing

/// The code of the guides about derived lists.
@Suite(.timeLimit(.minutes(10))) struct DerivedListsGuideTests {
  struct Line: Hashable, Identifiable, Sendable, Differentiable {
    let id: Int
    let text: String
  }

  struct Order: Hashable, Identifiable, Sendable, Differentiable {
    let id: Int
    var price: Double
  }

  struct Heading: Hashable, Identifiable, Sendable, Differentiable {
    let id: Int
    let text: String?
  }

  struct File: Hashable, Identifiable, Sendable, Differentiable {
    let id: Int
    var name: String
    var opened: Int?
  }

  struct Sale: Hashable, Identifiable, Sendable, Differentiable {
    let id: Int
    var country: String
    var price: Int
  }

  struct Total: Hashable, Identifiable, Sendable, Differentiable {
    let id: String
    let price: Int
    let count: Int
  }

  @Test(arguments: [
    ("DerivedLists", 8), ("FilteringLists", 4), ("SortingLists", 4), ("ListWindows", 4),
    ("ListAggregates", 3),
  ])
  func `the guides' code is compiled here`(name: String, count: Int) throws {
    let guide = try Guide(name)
    #expect(guide.code.count == count)
    #expect(try guide.paragraphs(missingIn: #filePath) == [])
  }

  @Test func `a derived list prints what the guide says`() throws {
    let print = Printed()
    let todos = ArrayDataSource([
      Todo(id: 1, title: "Write"), Todo(id: 2, title: "Test"), Todo(id: 3, title: "Ship"),
    ])
    let short = todos.filter { $0.title.count < 5 }.sorted(by: \.title)
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

    let query = Property("")
    let found = todos.filter(by: query) { todo, query in
      query.isEmpty || todo.title.contains(query)
    }
    let search = found.observe { event in
      if case .change(let change) = event { print(change.changeset.summary) }
    }
    query.value = "i"
    query.value = "it"
    query.value = ""
    search.dispose()

    let newest = todos.sorted(by: .descending(\.id)).prefix(10)
    #expect(newest.snapshot.map(\.id) == [4, 3, 2, 1])

    let letters = todos.live.sum(of: \.title.count)
    print(letters.value)

    let selected = Property<Int?>(nil)
    let page = todos.window(around: selected, before: 1, after: 1)
    selected.value = 3
    print(page.snapshot.map(\.title))

    let lines = todos.map { Line(id: $0.id, text: "\($0.id). \($0.title)") }
    #expect(lines.snapshot.map(\.text) == ["1. Edit", "2. Test", "3. Zip", "4. Celebrate"])

    let headings = todos.sorted(by: \.title).map(withPrevious: { todo, previous in
      let isNew = todo.title.first != previous?.title.first
      return Heading(id: todo.id, text: isNew ? String(todo.title.prefix(1)) : nil)
    })
    print(headings.snapshot.map { $0.text ?? "-" })

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
    #expect(try print.lines == Guide("DerivedLists").output)
  }

  @Test func `a filter prints what the guide says`() async throws {
    let print = Printed()
    let todos = ArrayDataSource([
      Todo(id: 1, title: "Write"), Todo(id: 2, title: "Test"), Todo(id: 3, title: "Ship"),
    ])
    let short = todos.filter { $0.title.count < 5 }
    let initials = todos.compactMap { todo in
      todo.title.count < 5 ? Todo(id: todo.id, title: String(todo.title.prefix(1))) : nil
    }
    todos.update(identifiedBy: 2) { $0.title = "Testing" }
    print(short.snapshot.map(\.title), initials.snapshot.map(\.title))

    let query = Property("")
    let found = todos.filter(by: query) { todo, query in
      query.isEmpty || todo.title.contains(query)
    }
    query.value = "h"
    print(found.snapshot.map(\.title))

    let typed = Property("")
    let matching = todos.filter(
      by: typed,
      effect: { old, new in
        new.hasPrefix(old) ? .narrowing : old.hasPrefix(new) ? .widening : .any
      }
    ) { todo, text in text.isEmpty || todo.title.contains(text) }
    typed.value = "S"
    typed.value = "Sh"
    print(matching.snapshot.map(\.title))

    let place = try TemporaryDirectory()
    let directory = place.path
    let encoder = JSONEncoder()
    for (id, name, title) in [(1, "own", "Ship"), (3, "team", "Send")] {
      let list = [Todo(id: id, title: title), Todo(id: id + 1, title: "Rest")]
      try encoder.encode(list).write(to: URL(fileURLWithPath: place(name + ".json")))
    }
    let files = ["own.json", "team.json", "archive.json"].map {
      JSONFileDataSource<Todo>(path: directory + "/" + $0)
    }
    let everything = files[0].concatenated(with: Array(files.dropFirst()))
    let text = Property("S")
    let hits = everything.filter(by: text) { $0.title.hasPrefix($1) }
    for await contents in hits.snapshots() where contents.count == 2 {
      print(contents.map(\.title))
      break
    }
    let output = try Guide("FilteringLists").output
    #expect(print.lines == output)

    // The container shows a search that it was swapped to while the file was missing.
    let shown = SwappableContainer<Todo>(everything)
    #expect(await shown.swap(to: everything.filter { $0.title.hasPrefix("R") }).outcome == .swapped)
    text.value = "R"
    try encoder.encode([Todo(id: 5, title: "Read")]).write(
      to: URL(fileURLWithPath: place("archive.json")))
    for await contents in hits.snapshots() where contents.count == 3 { break }
    for await contents in shown.snapshots() where contents.count == 3 { break }
    #expect(shown.snapshot.map(\.title) == ["Rest", "Rest", "Read"] && shown.status == .loaded)
  }

  @Test func `a sort prints what the guide says`() throws {
    let print = Printed()
    let todos = ArrayDataSource([
      Todo(id: 1, title: "Write"), Todo(id: 2, title: "Test"), Todo(id: 3, title: "Ship"),
    ])
    let byTitle = todos.sorted(by: \.title)
    let byLength = todos.sorted { $0.title.count > $1.title.count }
    print(byTitle.snapshot.map(\.title), byLength.snapshot.map(\.title))

    let order = ElementOrder<Todo>.descending { $0.title.count }.then(.ascending(\.title))
    let ordered = todos.sorted(by: order)
    print(ordered.snapshot.map(\.title))

    let files = ArrayDataSource([
      File(id: 1, name: "scan10.png"), File(id: 2, name: "Scan2.png", opened: 7),
      File(id: 3, name: "README", opened: 3),
    ])
    let byName = files.sorted(by: .natural(\.name))
    let byDate = files.sorted(by: .descending(\.opened, missing: .last))
    print(byName.snapshot.map(\.name), byDate.snapshot.map(\.id))

    let chosen = Property(ElementOrder<Todo>.ascending(\.title))
    let shown = todos.sorted(by: chosen)
    let observation = shown.observe { event in
      if case .change(let change) = event {
        print(change.changeset.summary, change.after.map(\.title))
      }
    }
    chosen.value = chosen.value.reversed
    chosen.value = .ascending(\.id)
    observation.dispose()
    #expect(try print.lines == Guide("SortingLists").output)
  }

  @Test func `windows print what the guide says`() throws {
    let print = Printed()
    let todos = ArrayDataSource((1...9).map { Todo(id: $0, title: "Task \($0)") })
    let top = todos.prefix(2)
    let observation = top.observe { event in
      if case .change(let change) = event {
        print(change.changeset.summary, change.after.map(\.title))
      }
    }
    todos.insert(Todo(id: 10, title: "Urgent"), at: 0)
    todos.append(Todo(id: 11, title: "Later"))  // outside: no event
    observation.dispose()

    let limit = Property(2)
    let shown = todos.prefix(limit)
    limit.value += 2
    print(shown.snapshot.map(\.title))

    let range = Property(0..<3)
    let page = todos.window(range)
    range.value = 3..<6
    print(page.snapshot.map(\.title))

    let anchor = Property<Int?>(5)
    let around = todos.window(around: anchor, before: 1, after: 2)
    todos.insert(Todo(id: 12, title: "News"), at: 0)
    todos.remove(identifiedBy: 5)
    print(around.snapshot.map(\.title))
    #expect(try print.lines == Guide("ListWindows").output)
  }

  @Test func `aggregates print what the guide says`() throws {
    let print = Printed()
    let orders = ArrayDataSource([Order(id: 1, price: 1.5), Order(id: 2, price: 2)])
    let count = orders.live.count
    let dearest = orders.live.max(by: \.price)
    let totals = orders.live.sum(of: \.price).observe { print("\(count.value) orders: \($0)") }
    orders.append(Order(id: 3, price: 2.25))
    orders.move(from: 0, to: 2)  // the sum stays the same: no value
    print("the dearest is", dearest.value?.id ?? 0)
    orders.removeAll()
    totals.dispose()

    let sales = ArrayDataSource([
      Sale(id: 1, country: "Peru", price: 5), Sale(id: 2, country: "Chad", price: 3),
    ])
    let byCountry = sales.aggregated(by: \.country) { group in
      ReadOnlyProperty(combining: group.live.sum(of: \.price), group.live.count) { price, count in
        Total(id: group.key, price: price, count: count)
      }
    }
    let largest = byCountry.sorted(by: .descending(\.price)).prefix(10)
    sales.append(Sale(id: 3, country: "Chad", price: 4))
    print(largest.snapshot.map { "\($0.id) \($0.price) \($0.count)" })
    sales.remove(identifiedBy: 1)
    print(largest.snapshot.map(\.id))

    let balance = sales.live(upTo: 3).sum(of: \.price)
    let position = sales.live(upTo: 3).count
    print(balance.value, position.value)
    #expect(try print.lines == Guide("ListAggregates").output)
  }
}
