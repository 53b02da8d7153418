import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import Testing

/// Operators whose parameters change: rules O1, O6 and T12.
@Suite struct ParameterTests {
  @Test func `a filter follows its inputs and its parameter`() throws {
    try checkOperator(
      overSeveralInputs: { first, _, limit in
        first.filter(by: limit) { $0.content >= $1 }
      }, is: { first, _, limit in first.filter { $0.content >= limit } }, seeds: 0..<60)
  }

  @Test func `a filter over two roots follows both, and its parameter`() throws {
    try checkOperator(
      overSeveralInputs: { first, second, limit in
        first.concatenated(with: second).filter(by: limit) { $0.content >= $1 }
      }, is: { first, second, limit in (first + second).filter { $0.content >= limit } },
      seeds: 0..<60)
  }

  @Test func `a filter that is told the effect tests only what it can affect`() throws {
    try checkOperator(
      overSeveralInputs: { first, _, limit in
        first.filter(by: limit, effect: { old, new in new >= old ? .narrowing : .widening }) {
          $0.content >= $1
        }
      }, is: { first, _, limit in first.filter { $0.content >= limit } }, seeds: 0..<60)
  }

  @Test func `a filter by a property of predicates follows both`() throws {
    try checkOperator(
      overSeveralInputs: { first, _, limit in
        first.filter(
          by: limit.map { limit in
            { @Sendable (element: TestElement) in element.content >= limit }
          })
      }, is: { first, _, limit in first.filter { $0.content >= limit } }, seeds: 0..<60)
  }

  @Test func `a sort follows its input and its order`() throws {
    try checkOperator(
      overSeveralInputs: { first, _, kind in first.sorted(by: kind.map(order)) },
      is: { first, _, kind in
        first.enumerated().sorted { one, other in
          let order = order(kind)
          if order.precedes(one.element, other.element) { return true }
          return !order.precedes(other.element, one.element) && one.offset < other.offset
        }.map(\.element)
      }, seeds: 0..<60)
  }

  @Test func `windows follow their input and their range`() throws {
    try checkOperator(
      overSeveralInputs: { first, _, length in first.prefix(length) },
      is: { first, _, length in Array(first.prefix(length)) }, seeds: 0..<60)
    try checkOperator(
      overSeveralInputs: { first, _, length in first.suffix(length) },
      is: { first, _, length in Array(first.suffix(length)) }, seeds: 0..<60)
    try checkOperator(
      overSeveralInputs: { first, _, count in first.dropFirst(count) },
      is: { first, _, count in Array(first.dropFirst(count)) }, seeds: 0..<60)
    try checkOperator(
      overSeveralInputs: { first, _, page in first.window(page.map { $0 * 3..<$0 * 4 + 2 }) },
      is: { first, _, page in
        Array(first[(page * 3..<page * 4 + 2).clamped(to: 0..<first.count)])
      }, seeds: 0..<60)
  }
}

/// An order for each number.
private func order(_ kind: Int) -> ElementOrder<TestElement> {
  switch kind {
  case 0: .ascending(\.content)
  case 1: .descending(\.content)
  case 2: ElementOrder.ascending(\.content).then(.descending(\.id))
  default: ElementOrder.ascending(\.id).reversed
  }
}
