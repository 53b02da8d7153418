import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import Testing

/// The exact changes of joins and of `flatMap`.
@Suite struct JoinChangeTests {
  private struct Order: Hashable, Identifiable, Sendable, Differentiable {
    let id: Int
    var customerID: Int?
  }

  private struct Customer: Hashable, Identifiable, Sendable, Differentiable {
    let id: Int
    var name = ""
  }

  private struct Family: Hashable, Identifiable, Sendable, Differentiable {
    let id: Int
    var children: [Int]
  }

  private let orders = ArrayDataSource([
    Order(id: 1, customerID: 8), Order(id: 2, customerID: 7), Order(id: 3, customerID: nil),
  ])
  private let customers = ArrayDataSource([Customer(id: 7), Customer(id: 8), Customer(id: 9)])

  private func changes<Output>(
    of output: LiveCollection<Output>, _ edit: () -> Void
  ) throws -> [Changeset] {
    let recorder = RecordingObserver(output)
    edit()
    try recorder.check(against: output)
    return recorder.changes.map(\.changeset)
  }

  @Test func `a changed foreign key is one step`() throws {
    let output = orders.joined(with: customers, on: \.customerID)
    let changes = try changes(of: output) {
      orders[0].customerID = 9
      orders[2].customerID = 9
      orders[1].customerID = nil
      orders[1].customerID = 1
    }
    #expect(
      changes == [
        Changeset(deletions: [0], insertions: [0]), Changeset(insertions: [2]),
        Changeset(deletions: [1]),
      ])
    #expect(output.snapshot.map { [$0.left.id, $0.right.id] } == [[1, 9], [3, 9]])
  }

  @Test func `an update of one side updates its pairs`() throws {
    orders.append(Order(id: 4, customerID: 8))
    let output = orders.joined(with: customers, on: \.customerID)
    let changes = try changes(of: output) {
      customers[1].name = "Ada"
      customers[2].name = "Bob"
      customers.move(from: 0, to: 2)
      orders.move(from: 0, to: 3)
    }
    #expect(
      changes == [
        Changeset(updates: [.init(from: 0, to: 0), .init(from: 2, to: 2)]),
        Changeset(moves: [.init(from: 0, to: 2)]),
      ])
    #expect(output.snapshot.map(\.right.name) == ["", "Ada", "Ada"])
  }

  @Test func `a left join replaces the pair without a match`() throws {
    let output = orders.leftJoined(with: customers, on: \.customerID)
    let changes = try changes(of: output) {
      orders[2].customerID = 5
      customers.append(Customer(id: 5))
      customers.append(Customer(id: 5))
      customers.remove(at: 3)
      customers.remove(at: 3)
      orders.remove(at: 2)
    }
    #expect(
      changes == [
        Changeset(updates: [.init(from: 2, to: 2)]),
        Changeset(deletions: [2], insertions: [2]), Changeset(insertions: [3]),
        Changeset(deletions: [2]), Changeset(deletions: [2], insertions: [2]),
        Changeset(deletions: [2]),
      ])
    #expect(output.snapshot.map { $0.right?.id } == [8, 7])
  }

  @Test func `nil and NaN match nothing`() {
    let (first, second) = (Items([1, 2, 3]), Items([1, 2, 3]))
    let key: @Sendable (TestElement) -> Double? = {
      $0.id == 1 ? nil : $0.id == 2 ? .nan : Double($0.id)
    }
    let (inner, left) = (
      first.joined(with: second, on: key, equals: key),
      first.leftJoined(with: second, on: key, equals: key)
    )
    #expect(inner.snapshot.map(\.left.id) == [3])
    #expect(left.snapshot.map { $0.right?.id } == [nil, nil, 3])
    second.insert(2, at: 0)
    first.move(from: 1, to: 2)
    second.removeAll()
    #expect(inner.snapshot.isEmpty && left.snapshot.map(\.left.id) == [1, 3, 2])
  }

  @Test func `repeated keys give every pair, by left and then by right`() throws {
    let (first, second) = (
      Items([TestElement(1, 5), TestElement(2, 5)]),
      Items([TestElement(3, 5), TestElement(4, 6), TestElement(5, 5)])
    )
    let output = first.joined(with: second, on: \.content, equals: \.content)
    #expect(
      output.snapshot.map { [$0.left.id, $0.right.id] } == [[1, 3], [1, 5], [2, 3], [2, 5]])
    let changes = try changes(of: output) {
      second[1].content = 5
      second.move(from: 0, to: 2)
    }
    #expect(changes.map(\.insertions) == [[1, 4], []])
    #expect(changes.map(\.moves.count) == [0, 2])
    #expect(output.snapshot.prefix(3).map(\.right.id) == [4, 5, 3])
  }

  @Test func `both sides that change in one transaction cause one event`() throws {
    let output = orders.joined(with: customers, on: \.customerID)
    let changes = try changes(of: output) {
      withTransaction {
        orders.append(Order(id: 4, customerID: 6))
        customers.append(Customer(id: 6))
        customers.remove(at: 0)
      }
      withTransaction {
        let customer = customers.remove(at: 0)
        customers.append(customer)
      }
    }
    #expect(changes == [Changeset(deletions: [1], insertions: [1])])
  }

  @Test func `all changes between short lists`() throws {
    let elements = [TestElement(1, 0), TestElement(1, 1), TestElement(2, 0)]
    let lists = everyList(upTo: 3, of: elements)
    let (first, second) = (Items([]), Items([]))
    let inner = first.joined(with: second, on: \.content, equals: \.content)
    let left = first.leftJoined(with: second, on: { $0.content + 1 })
    let children = first.flatMap(FlatMapTests.children)
    let recorders = (
      RecordingObserver(inner, keeps: 3), RecordingObserver(left, keeps: 3),
      RecordingObserver(children, keeps: 3)
    )
    // An ordinary run takes one of five changes.
    let stride = TestRun.isLong ? 1 : 5
    for (number, before) in lists.enumerated() {
      for (position, after) in lists.enumerated() where (number + position) % stride == 0 {
        first.replace(with: before)
        withTransaction {
          first.replace(with: after)
          if position.isMultiple(of: 2) {
            second.replace(with: lists[(number * 7 + position * 3) % lists.count])
          }
        }
        let rights = Array(second.snapshot)
        let pairs = JoinOracle.joined(after, rights, { $0.content }, { $0.content })
        let allPairs = JoinOracle.leftJoined(after, rights, { $0.content + 1 }, { $0.id })
        try #require(
          inner.snapshot.hasSameContents(as: Snapshot(pairs))
            && left.snapshot.hasSameContents(as: Snapshot(allPairs))
            && children.snapshot.hasSameContents(as: Snapshot(after.flatMap(FlatMapTests.children))),
          "from \(before) to \(after), with \(rights)")
      }
    }
    try recorders.0.check(against: inner)
    try recorders.1.check(against: left)
    try recorders.2.check(against: children)
  }

  // MARK: Children

  @Test func `children of one identity under two parents are both kept`() throws {
    let parents = Items([1, 2, 3])
    let output = parents.flatMap { parent in
      [TestElement(7, parent.content), TestElement(parent.id)]
    }
    let changes = try changes(of: output) {
      parents[1].content = 4
      parents.move(from: 2, to: 0)
      parents.remove(at: 1)
    }
    #expect(
      changes == [
        Changeset(updates: [.init(from: 2, to: 2)]),
        Changeset(moves: [.init(from: 4, to: 0), .init(from: 5, to: 1)]),
        Changeset(deletions: [2, 3]),
      ])
    #expect(output.snapshot.map(\.id) == [7, 3, 7, 2])
  }

  @Test func `an updated parent keeps children by identity`() throws {
    let lists = ArrayDataSource([Family(id: 1, children: [1, 2, 3])])
    let output = lists.flatMap(\.children)
    let changes = try changes(of: output) {
      lists[0].children = [3, 1, 4]
      lists[0].children = []
    }
    #expect(
      changes == [
        Changeset(deletions: [1], insertions: [2], moves: [.init(from: 0, to: 1)]),
        Changeset(deletions: [0, 1, 2]),
      ])
  }

  @Test func `a child that changes its parent in one transaction is moved`() throws {
    let lists = ArrayDataSource([
      Family(id: 1, children: [1, 2]), Family(id: 2, children: [3]),
    ])
    let changes = try changes(of: lists.flatMap(\.children)) {
      lists.transaction { draft in
        draft[0].children = [2]
        draft[1].children = [3, 1]
      }
    }
    #expect(changes == [Changeset(moves: [.init(from: 0, to: 2)])])
  }
}
