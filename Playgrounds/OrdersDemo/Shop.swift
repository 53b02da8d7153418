import SQLiteSources
import Swappable

struct Customer: Decodable, Identifiable, Hashable, Sendable, Differentiable {
  let id: Int
  var name: String
  var country: String
}

struct Order: Decodable, Identifiable, Hashable, Sendable, Differentiable {
  let id: Int
  var customerID: Int
  var price: Int
}

/// An order with its customer.
typealias Sale = JoinedPair<Order, Customer>

/// A country, with the number and the total price of its orders.
struct Country: Identifiable, Hashable, Sendable, Differentiable {
  /// The name.
  let id: String
  var orderCount: Int
  var total: Int

  init(_ section: ListSection<String, Sale>) {
    id = section.key
    orderCount = section.elements.count
    total = section.elements.reduce(0) { $0 + $1.left.price }
  }

  var text: String { "\(id), \(orderCount) \(orderCount == 1 ? "order" : "orders"), \(total)" }
}

/// The lists of the demo. All are derived from two queries, and stay live.
struct Shop: Sendable {
  let orders: SQLiteDataSource<Order>
  let customers: SQLiteDataSource<Customer>
  /// The sales by country, with a header for each country.
  let rows: LiveCollection<ListSection<String, Sale>.Row>
  /// The countries by name.
  let countries: LiveCollection<Country>
  /// The ten countries with the highest totals.
  let top: LiveCollection<Country>

  init(path: String) throws {
    orders = try SQLiteDataSource(
      path: path, sql: "SELECT id, customerID, price FROM purchase ORDER BY id")
    customers = try SQLiteDataSource(path: path, sql: "SELECT id, name, country FROM customer")
    let sections = orders.joined(with: customers, on: \.customerID)
      .sections(by: \.right.country, order: .ascending { $0 })
    rows = sections.rows()
    countries = sections.map { Country($0) }
    top = countries.sorted(by: .descending(\.total)).prefix(10)
  }

  /// Returns the header of a section.
  func header(of name: String, _ count: Int) -> String {
    let countries = countries.snapshot
    let offset = countries.firstIndex(identifiedBy: name)
    return offset.map { countries[$0].text } ?? name
  }

  /// Waits until all lists show what other processes have written.
  func refresh() async {
    await orders.refresh()
    await customers.refresh()
    await rows.flush()
    await top.flush()
  }
}
