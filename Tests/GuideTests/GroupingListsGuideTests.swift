import Swappable
import TestSupport
import Testing

/// The code of the guide about sections and groups.
@Suite struct GroupingListsGuideTests {
  struct Sale: Hashable, Identifiable, Sendable, Differentiable {
    let id: Int
    var country: String
    var price: Int
  }

  @Test func `the guide's code is compiled here`() throws {
    let guide = try Guide("GroupingLists")
    #expect(guide.code.count == 7)
    #expect(try guide.paragraphs(missingIn: #filePath) == [])
  }

  @Test func `sections and groups print what the guide says`() throws {
    let print = Printed()
    let sales = ArrayDataSource([
      Sale(id: 1, country: "Spain", price: 5), Sale(id: 2, country: "Chile", price: 3),
      Sale(id: 3, country: "Spain", price: 4),
    ])

    let sections = sales.sections(by: \.country, order: .ascending { $0 })
    let observation = sections.observe { event in
      print(event.snapshot.map { "\($0.key): \($0.elements.count)" })
      if case .change(let change) = event { print(change.sectionedChangeset()) }
    }
    sales.update(identifiedBy: 3) { $0.country = "Chile" }
    sales.remove(identifiedBy: 1)
    observation.dispose()

    let order = Property(ElementOrder<String>.ascending { $0 })
    let sorted = sales.sections(by: \.country, order: order)
    order.value = order.value.reversed

    let key = Property<@Sendable (Sale) -> String>(\.country)
    let chosen = sales.sections(by: key)
    key.value = { $0.price < 5 ? "cheap" : "expensive" }
    print(chosen.snapshot.map(\.key))

    let rows = sections.rows()
    for row in rows.snapshot {
      switch row {
      case .header(let country, let count): print(country, count)
      case .element(let sale): print("  sale", sale.id)
      }
    }

    let groups = sales.grouped(by: \.country)
    let chile = groups[0]
    let total = chile.elements.live.sum(of: \.price)
    sales.append(Sale(id: 4, country: "Chile", price: 10))
    print(chile.key, total.value)

    let byCountry = sales.indexed(by: \.country)
    let spanish = byCountry["Spain"]
    sales.append(Sale(id: 5, country: "Spain", price: 1))
    print(spanish.snapshot.map(\.id))

    let numbers = ArrayDataSource([3, 1, 4, 7, 5])
    let chunks = numbers.chunked(into: 2)
    let printing = chunks.observe { event in
      if case .change(let change) = event {
        print(change.changeset.summary, change.after.map { Array($0.elements) })
      }
    }
    numbers[1] = 2
    numbers.insert(9, at: 2)
    printing.dispose()
    #expect(sorted.snapshot.map(\.key) == ["Spain", "Chile"])
    #expect(try print.lines == Guide("GroupingLists").output)
  }
}
