import ObservableCollections
import ReactiveSignals
import TestSupport

import struct DataSourceTesting.TestElement

/// All aggregates of a collection. They are compared with the contents whenever an observer is called.
final class AllAggregates: Sendable {
  private let source: any DataSource<TestElement>
  private let aggregates: [Aggregate]
  private let observations = Shared<[Disposable]>([])
  private let found = Shared<String?>(nil)

  private struct Aggregate: Sendable {
    let name: String
    let value: @Sendable () -> String
    let expected: @Sendable ([TestElement]) -> String
    let observe: @Sendable (@escaping @Sendable (String) -> Void) -> Disposable

    init<Value: Sendable>(
      _ name: String, _ property: ReadOnlyProperty<Value>,
      _ expected: @escaping @Sendable ([TestElement]) -> Value
    ) {
      self.name = name
      value = { String(describing: property.value) }
      self.expected = { String(describing: expected($0)) }
      observe = { handler in property.observe { handler(String(describing: $0)) } }
    }
  }

  /// The first difference between an aggregate and the contents, or `nil`.
  var problem: String? {
    compare(Array(source.snapshot))
    return found.value
  }

  init(of source: any DataSource<TestElement>) {
    self.source = source
    let live = source.live
    aggregates = [
      Aggregate("count", live.count) { $0.count },
      Aggregate("isEmpty", live.isEmpty) { $0.isEmpty },
      Aggregate("first", live.first) { $0.first },
      Aggregate("last", live.last) { $0.last },
      Aggregate("count(where:)", live.count { $0.content == 1 }) { $0.count { $0.content == 1 } },
      Aggregate("contains", live.contains { $0.content == 2 }) { $0.contains { $0.content == 2 } },
      Aggregate("allSatisfy", live.allSatisfy { $0.content < 2 }) {
        $0.allSatisfy { $0.content < 2 }
      },
      Aggregate("sum", live.sum(of: \.content)) { $0.reduce(0) { $0 + $1.content } },
      // All sums are exact.
      Aggregate("sum of doubles", live.sum { Double($0.content) / 4 }) {
        $0.reduce(0.0) { $0 + Double($1.content) / 4 }
      },
      Aggregate("average", live.average(of: \.content)) { elements in
        elements.isEmpty
          ? nil : Double(elements.reduce(0) { $0 + $1.content }) / Double(elements.count)
      },
      Aggregate("average of floats", live.average { Float($0.content) }) { elements in
        elements.isEmpty
          ? nil : elements.reduce(0) { $0 + Float($1.content) } / Float(elements.count)
      },
      Aggregate("min by key", live.min(by: \.content)) { $0.min { $0.content < $1.content } },
      Aggregate("max by key", live.max(by: \.content)) { $0.max { $0.content < $1.content } },
      Aggregate("min", live.min { $0.id % 5 < $1.id % 5 }) { $0.min { $0.id % 5 < $1.id % 5 } },
      Aggregate("max", live.max { $0.id % 5 < $1.id % 5 }) { $0.max { $0.id % 5 < $1.id % 5 } },
      Aggregate("aggregate", live.aggregate(empty: "", value: \.description) { $0 + $1 }) {
        $0.map(\.description).joined()
      },
      Aggregate(
        "tuple",
        live.aggregate(empty: (0, 0), value: { ($0.id, 1) }) { one, other in
          (one.0 &+ other.0, one.1 + other.1)
        }
      ) { ($0.reduce(0) { $0 &+ $1.id }, $0.count) },
    ]
    let observation = source.observe { [weak self] in self?.compare(Array($0.snapshot)) }
    observations.append(observation)
    for aggregate in aggregates {
      let previous = Shared<String?>(nil)
      let observation = aggregate.observe { [weak self] value in
        guard let self else { return }
        // A derived collection is in step with the aggregates of the same pass.
        let expected = aggregate.expected(Array(source.snapshot))
        if value != expected { report("\(aggregate.name) sent \(value), not \(expected)") }
        let isRepeated = previous.exchange(value) == value && aggregate.name != "tuple"
        if isRepeated { report("\(aggregate.name) sent \(value) twice") }
      }
      observations.append(observation)
    }
  }

  private func compare(_ contents: [TestElement]) {
    for aggregate in aggregates {
      let (value, expected) = (aggregate.value(), aggregate.expected(contents))
      if value != expected { report("\(aggregate.name) is \(value), not \(expected)") }
    }
  }

  private func report(_ problem: String) {
    found.modify { $0 = $0 ?? problem }
  }
}
