import Swappable

extension Pipeline {
  /// All pipelines. The first is the list without operators, which the others are compared with.
  static let all = oneList + groups + severalLists + everyday

  private static let oneList: [Pipeline] = [
    Pipeline("plain") { $0.collection },
    Pipeline("map", .unary) { $0.map(incremented) },
    Pipeline("compactMap", .unary) { $0.compactMap { $0.passes ? incremented($0) : nil } },
    Pipeline("filter", .filter) { $0.filter { $0.passes } },
    Pipeline("filter(by:)", .filter, parameter: { _ in Property(Row.values / 2) }, changes: halves)
    {
      $0.filter(by: $1) { $0.value < $1 }
    },
    Pipeline(
      "filter(by:effect:)", .filter, parameter: { _ in Property(Row.values / 2) },
      changes: narrowing
    ) {
      $0.filter(by: $1, effect: { $1 <= $0 ? .narrowing : .widening }) { $0.value < $1 }
    },
    Pipeline("sorted(by: key)", .sorted) { $0.sorted { $0.value } },
    Pipeline("sorted(by: closure)", .sorted) { $0.sorted { $0.value < $1.value } },
    Pipeline(
      "sorted(by: property)", .sorted,
      parameter: { _ in Property(ElementOrder<Row>.ascending { $0.value }) }, changes: orders
    ) {
      $0.sorted(by: $1)
    },
    Pipeline("filter.sorted", .filterAndSort) { $0.filter { $0.passes }.sorted { $0.value } },
    Pipeline("concatenated") { $0.concatenated(with: ArrayDataSource(few)) },
    Pipeline("prefix", .unary) { $0.prefix($0.count * 3 / 4) },
    Pipeline("suffix", .unary) { $0.suffix($0.count * 3 / 4) },
    Pipeline("dropFirst", .unary) { $0.dropFirst($0.count / 4) },
    Pipeline(
      "window", .unary, parameter: { Property($0.count / 4..<$0.count * 3 / 4) }, changes: pages
    ) {
      $0.window($1)
    },
  ]

  @Sendable private static func incremented(_ row: Row) -> Row {
    Row(id: row.id, value: row.value &+ 1, title: row.title)
  }

  @Sendable private static func halves(_ limit: Property<Int>, _ count: Int) -> [ParameterChange] {
    [
      ParameterChange(name: "filter(by:), of all rows, half stay") {
        limit.value = Row.values
      } run: {
        limit.value = Row.values / 2
      },
      ParameterChange(name: "filter(by:), of half the rows, the others come") {
        limit.value = Row.values / 2
      } run: {
        limit.value = Row.values
      },
    ]
  }

  @Sendable private static func narrowing(_ limit: Property<Int>, _ count: Int) -> [ParameterChange]
  {
    let thousand = Row.values / count * min(count, 1_000)
    return [
      ParameterChange(name: "filter(by:effect:), of 1,000 rows, 900 stay") {
        limit.value = thousand
      } run: {
        limit.value = thousand / 10 * 9
      }
    ]
  }

  @Sendable private static func orders(
    _ order: Property<ElementOrder<Row>>, _ count: Int
  ) -> [ParameterChange] {
    [
      ParameterChange(name: "sorted(by: property), reversed") {
        order.value = order.value.reversed
      },
      ParameterChange(name: "sorted(by: property), by another key") {
        order.value = .ascending { $0.value }
      } run: {
        order.value = .ascending { $0.id }
      },
    ]
  }

  @Sendable private static func pages(_ range: Property<Range<Int>>, _ count: Int)
    -> [ParameterChange]
  {
    [
      ParameterChange(name: "window, 100 rows further") {
        range.value = count / 4..<count * 3 / 4
      } run: {
        range.value = count / 4 + 100..<count * 3 / 4 + 100
      }
    ]
  }
}
