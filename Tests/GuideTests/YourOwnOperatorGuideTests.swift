import DataSourceTesting
import Swappable
import TestSupport
import Testing

struct Order: Hashable, Sendable, Differentiable {
  var id: Int
  var country: String
  var amount: Int

  var differenceIdentifier: Int { id }
}

struct Total: Hashable, Sendable, Differentiable {
  let country: String
  var orders = 0
  var amount = 0

  var differenceIdentifier: String { country }
}

struct TotalsByCountry: CollectionOperator {
  let orders: CollectionInput<Order>

  func start(_ output: CollectionDraft<Total>) {
    for order in orders.snapshot { count(order, by: 1, in: output) }
  }

  func update(_ output: CollectionDraft<Total>) {
    guard let change = orders.change else { return }
    for (_, order) in change.deleted { count(order, by: -1, in: output) }
    for (_, order) in change.inserted { count(order, by: 1, in: output) }
    for (_, _, old, new) in change.updated {
      count(old, by: -1, in: output)
      count(new, by: 1, in: output)
    }
  }

  private func count(_ order: Order, by step: Int, in output: CollectionDraft<Total>) {
    var (place, end) = (0, output.count)
    while place < end {
      let middle = (place + end) / 2
      if output[middle].country < order.country { place = middle + 1 } else { end = middle }
    }
    if place == output.count || output[place].country != order.country {
      output.insert(Total(country: order.country), at: place)
    }
    output[place].orders += step
    output[place].amount += step * order.amount
    if output[place].orders == 0 { output.remove(at: place) }
  }
}

extension DataSource where Element == Order {
  /// Derives the totals by country.
  ///
  /// | in | out |
  /// |---|---|
  /// | insert | update of the total, or insert of the first order's country |
  /// | delete | update of the total, or delete of the last order's country |
  /// | update | update of the total, or of two if the country has changed |
  /// | move | nothing |
  ///
  /// - Complexity: O(k log n) edits and comparisons for a change of k orders.
  func totalsByCountry() -> LiveCollection<Total> {
    transformed { TotalsByCountry(orders: $0) }
  }
}

struct Rate: Hashable, Sendable, Differentiable {
  var country: String
  var factor: Int

  var differenceIdentifier: String { country }
}

struct ConvertedOrders: CollectionOperator {
  let orders: CollectionInput<Order>
  let rates: CollectionInput<Rate>
  let limit: PropertyInput<Int>
  private var factors: [String: Int] = [:]

  init(
    orders: CollectionInput<Order>, rates: CollectionInput<Rate>, limit: PropertyInput<Int>
  ) {
    self.orders = orders
    self.rates = rates
    self.limit = limit
  }

  mutating func start(_ output: CollectionDraft<Order>) {
    factors = [:]
    for rate in rates.snapshot where factors[rate.country] == nil {
      factors[rate.country] = rate.factor
    }
    output.replace(with: orders.snapshot.compactMap(convert))
  }

  mutating func update(_ output: CollectionDraft<Order>) {
    if rates.change != nil || limit.isSet { return start(output) }
    // Without rates, the output is empty whatever the orders are.
    if !factors.isEmpty { output.replace(with: orders.snapshot.compactMap(convert)) }
  }

  private func convert(_ order: Order) -> Order? {
    guard let factor = factors[order.country] else { return nil }
    var order = order
    order.amount *= factor
    return order.amount < limit.value ? nil : order
  }
}

struct EveryNth<Element: Differentiable & Sendable>: CollectionOperator {
  let list: CollectionInput<Element>
  let n: PropertyInput<Int>

  func start(_ output: CollectionDraft<Element>) {
    let (contents, n) = (list.snapshot, max(1, n.value))
    output.replace(with: stride(from: n - 1, to: contents.count, by: n).map { contents[$0] })
  }

  func update(_ output: CollectionDraft<Element>) { start(output) }
}

extension DataSource {
  /// Derives a collection of every n-th element. An n below 1 counts as 1.
  ///
  /// - Complexity: O(m) for each change of a list of m elements.
  func everyNth(_ n: some PropertySource<Int>) -> LiveCollection<Element> {
    LiveCollection { inputs in
      EveryNth(list: inputs.collection(self), n: inputs.property(n))
    }
  }
}

struct ConvertedShare: PropertyOperator {
  let orders: CollectionInput<Order>
  let converted: CollectionInput<Order>

  func start() -> Double { update() }

  func update() -> Double {
    orders.snapshot.isEmpty ? 1 : Double(converted.snapshot.count) / Double(orders.snapshot.count)
  }
}

private func order(_ element: TestElement) -> Order {
  Order(id: element.id, country: country(element), amount: element.content)
}

private func country(_ element: TestElement) -> String { "Country \(element.id % 3)" }

/// The code of the guide "Write your own operator".
@Suite struct YourOwnOperatorGuideTests {
  @Test func `the guide's code is compiled here`() throws {
    let guide = try Guide("YourOwnOperator")
    #expect(guide.code.count == 8)
    #expect(try guide.paragraphs(missingIn: #filePath) == [])
  }

  @Test func `it prints what the guide says`() throws {
    let print = Printed()
    let orders = ArrayDataSource([
      Order(id: 1, country: "Peru", amount: 10), Order(id: 2, country: "Chad", amount: 5),
    ])
    let totals = orders.totalsByCountry()
    orders.append(Order(id: 3, country: "Chad", amount: 2))
    for total in totals.snapshot { print(total.country, total.orders, total.amount) }
    let rates = ArrayDataSource([Rate(country: "Peru", factor: 3)])
    let limit = Property(0)
    let converted = LiveCollection { inputs in
      ConvertedOrders(
        orders: inputs.collection(orders), rates: inputs.collection(rates),
        limit: inputs.property(limit))
    }
    print(converted.snapshot.map(\.amount))

    let share = ReadOnlyProperty { inputs in
      ConvertedShare(orders: inputs.collection(orders), converted: inputs.collection(converted))
    }
    orders.append(Order(id: 4, country: "Chad", amount: 1))
    print(share.value)
    #expect(try print.lines == Guide("YourOwnOperator").output)
  }

  @Test func `totals keep the contract`() throws {
    try checkOperator(
      { source in source.map(order).totalsByCountry() },
      is: { elements in
        Dictionary(grouping: elements.map(order), by: \.country).sorted { $0.key < $1.key }.map {
          Total(country: $0, orders: $1.count, amount: $1.reduce(0) { $0 + $1.amount })
        }
      })
  }

  @Test func `every n-th element keeps the contract`() throws {
    try checkOperator(
      { list, n in list.everyNth(n) },
      is: { elements, n in
        stride(from: max(1, n) - 1, to: elements.count, by: max(1, n)).map { elements[$0] }
      })
  }

  @Test func `converted orders keep the contract`() throws {
    try checkOperator(
      overSeveralInputs: { first, second, limit in
        LiveCollection { inputs in
          ConvertedOrders(
            orders: inputs.collection(first.map(order)),
            rates: inputs.collection(second.map { Rate(country: country($0), factor: $0.content) }),
            limit: inputs.property(limit))
        }
      },
      is: { first, second, limit in
        first.map(order).compactMap { order in
          guard let rate = second.first(where: { country($0) == order.country }) else { return nil }
          let amount = order.amount * rate.content
          return amount < limit
            ? nil : Order(id: order.id, country: order.country, amount: amount)
        }
      })
  }

  @Test func `the explanation of an operator counts the passes and the elements`() {
    let print = Printed()
    for count in [1_000, 10_000] {
      let list = ArrayDataSource(
        (0..<count).map { Order(id: $0, country: "Country \($0 % 100)", amount: 1) })
      let totals = list.totalsByCountry()
      // The first edit of a long list takes longer.
      list.update(at: 0) { $0.amount = 2 }
      let work = totals.countWork()
      list.update(at: 0) { $0.amount = 3 }
      print(totals.explain())
      work.dispose()
    }
    #expect(print.lines.count == 2)
    for line in print.lines {
      #expect(line.contains("TotalsByCountry, 100 elements, loaded"))
      #expect(line.contains("in: 1 change of 1 element; out: 1 change of 1 element"))
    }
  }

  @Test func `a change of one order edits the totals of one country`() {
    let orders = ArrayDataSource((0..<1_000).map { Order(id: $0, country: "C\($0)", amount: 1) })
    let events = RecordingObserver(orders.totalsByCountry())
    orders[500] = Order(id: 500, country: "C500", amount: 7)
    #expect(events.changes.map(\.changeset.updates.count) == [1])
    #expect(events.changes.map(\.changeset.changeCount) == [1])
  }
}
