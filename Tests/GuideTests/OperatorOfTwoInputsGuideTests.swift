import DataSourceTesting
import Swappable
import TestSupport
import Testing

/// The code of the guide "Write an operator of two inputs".
@Suite struct OperatorOfTwoInputsGuideTests {
  struct Order: Hashable, Identifiable, Sendable, Differentiable {
    let id: Int
    var customerID: Int
  }

  struct Customer: Hashable, Identifiable, Sendable, Differentiable {
    let id: Int
    var name: String
  }

  struct OrderRow: Hashable, Identifiable, Sendable, Differentiable {
    let order: Order
    var name: String?

    var id: Int { order.id }
  }

  struct OrderRows: CollectionOperator {
    let orders: CollectionInput<Order>
    let customers: CollectionInput<Customer>
    private var names: [Int: String] = [:]

    init(orders: CollectionInput<Order>, customers: CollectionInput<Customer>) {
      self.orders = orders
      self.customers = customers
    }

    mutating func start(_ output: CollectionDraft<OrderRow>) {
      readNames()
      output.append(contentsOf: orders.snapshot.map(row))
    }

    mutating func update(_ output: CollectionDraft<OrderRow>) {
      if customers.change != nil { readNames() }
      if let change = orders.change {
        output.apply(change.changeset) { row(change.after[$0]) }
      }
      if customers.change != nil {
        for (offset, row) in output.snapshot.enumerated() {
          output[offset].name = names[row.order.customerID]
        }
      }
    }

    private mutating func readNames() {
      names = Dictionary(customers.snapshot.map { ($0.id, $0.name) }) { first, _ in first }
    }

    private func row(_ order: Order) -> OrderRow {
      OrderRow(order: order, name: names[order.customerID])
    }
  }

  @Test func `the guide's code is compiled here`() throws {
    let guide = try Guide("OperatorOfTwoInputs")
    #expect(guide.code.count == 3)
    #expect(try guide.paragraphs(missingIn: #filePath) == [])
  }

  @Test func `it prints what the guide says`() throws {
    let print = Printed()
    let orders = ArrayDataSource([Order(id: 1, customerID: 7), Order(id: 2, customerID: 8)])
    let customers = ArrayDataSource([Customer(id: 7, name: "Ada")])
    let rows = LiveCollection { inputs in
      OrderRows(
        orders: inputs.collection(orders),
        customers: inputs.collection(customers, isRequired: false))
    }
    withTransaction {
      orders[0].customerID = 8
      customers.append(Customer(id: 8, name: "Bob"))
    }
    for row in rows.snapshot { print(row.id, row.name ?? "unknown") }
    #expect(try print.lines == Guide("OperatorOfTwoInputs").output)
  }

  @Test func `order rows keep the contract`() throws {
    try checkOperator(
      over: { Order(id: $0.id, customerID: $0.content) },
      and: { Customer(id: $0.id, name: "Customer \($0.content)") },
      { orders, customers, _ in
        LiveCollection { inputs in
          OrderRows(orders: inputs.collection(orders), customers: inputs.collection(customers))
        }
      },
      is: { orders, customers, _ in
        orders.map { order in
          OrderRow(order: order, name: customers.first { $0.id == order.customerID }?.name)
        }
      })
  }
}
