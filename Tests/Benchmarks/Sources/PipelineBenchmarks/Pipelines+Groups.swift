import Swappable

extension Pipeline {
  /// The pipelines that divide the rows into 1,024 groups. A change of a row is one of its group.
  static let groups: [Pipeline] = [
    Pipeline("sections", groups: { [$0.sections { $0.group }.observe { _ in }] }),
    Pipeline(
      "sections(order:)",
      groups: { rows in
        let sections = rows.sections(by: { $0.group }, order: .ascending { $0 })
        return [sections.observe { _ in }]
      }),
    Pipeline("grouped", groups: { [$0.grouped { $0.group }.observe { _ in }] }),
    // An insertion or deletion changes all chunks after it, so there is no aim.
    Pipeline("chunked") { $0.chunked(into: 10) },
    Pipeline("indexed, 10 observed", groups: { observations(of: 10, in: $0) }),
    Pipeline("indexed, all observed", groups: { observations(of: Row.groups, in: $0) }),
  ]

  /// Observes some groups.
  private static func observations(
    of count: Int, in rows: ArrayDataSource<Row>
  ) -> [Disposable] {
    let index = rows.indexed { $0.group }
    return (0..<count).map { index[$0 * (Row.groups / count)].observe { _ in } }
  }

  /// The pipelines that compare the rows with those of another list, or replace a row by several.
  static let severalLists: [Pipeline] = [
    Pipeline("distinct", .keyed) { $0.distinct() },
    Pipeline("distinct(by:)", .keyed) { $0.distinct { $0.value } },
    Pipeline("union", .keyed) { $0.union(ArrayDataSource(few)) },
    Pipeline("intersection", .keyed) { $0.intersection(ArrayDataSource(Array($0.snapshot))) },
    Pipeline("subtracting", .keyed) { $0.subtracting(ArrayDataSource(few)) },
    // Each row has one match, which it shares with a thousand others.
    Pipeline("joined", .keyed) { $0.joined(with: ArrayDataSource(groupNames)) { $0.group } },
    Pipeline("leftJoined", .keyed) {
      $0.leftJoined(with: ArrayDataSource(groupNames)) { $0.group }
    },
    Pipeline("flatMap", .keyed) { rows in rows.flatMap { [$0] } },
    Pipeline("outline") { rows in
      // A thousand rows below each root.
      rows.outline { $0.id % 1_000 == 0 ? nil : $0.id - $0.id % 1_000 }
    },
  ]

  /// The pipelines of work that people do by hand elsewhere: selections, work for each row, totals as rows.
  static let everyday: [Pipeline] = [
    Pipeline("semiJoined") { $0.semiJoined(with: ArrayDataSource(groupNames)) { $0.group } },
    Pipeline("antiJoined") { $0.antiJoined(with: ArrayDataSource(few)) { $0.group } },
    Pipeline("fullJoined") {
      $0.fullJoined(with: ArrayDataSource(groupNames), on: { $0.group }, equals: \.id)
    },
    Pipeline("map(withPrevious:)") { rows in
      rows.map(withPrevious: {
        Row(id: $0.id, value: $0.value &+ ($1?.value ?? 0), title: $0.title)
      })
    },
    Pipeline("map(each:)") { rows in
      let levels = (0..<Row.groups).map { Property($0) }
      return rows.map(each: { levels[$0.group] }) {
        Row(id: $0.id, value: $0.value + $1, title: $0.title)
      }
    },
    Pipeline("filter(byEach:)") { rows in
      let levels = (0..<Row.groups).map { Property($0 < Row.groups / 2) }
      return rows.filter(byEach: { levels[$0.group] })
    },
    Pipeline("sorted(byEach:)") { rows in
      let levels = (0..<Row.groups).map { Property($0) }
      return rows.sorted(byEach: { levels[$0.group] })
    },
    Pipeline("aggregated") { rows in
      rows.aggregated(by: { $0.group }) { group in
        group.live.sum(of: \.value).map { Row(id: group.key, value: $0, title: "") }
      }
    },
    Pipeline("paused") { $0.paused(while: Property(false)) },
    Pipeline("selection, half selected") { rows in
      let selection = rows.selection()
      selection.selectAll { $0.passes }
      return selection.selected
    },
    Pipeline("live(upTo:)") { rows in
      rows.live(upTo: rows.snapshot[rows.count / 2].id).sum(of: \.value)
    },
    Pipeline("forEach(lifetime:)", work: { [$0.forEach(lifetime: { _ in nil })] }),
  ]

  /// Rows that are in no measured list.
  static let few = (-100..<0).map { Row(id: $0, value: 0, title: "") }

  private static let groupNames = (0..<Row.groups).map { Row(id: $0, value: 0, title: "Group") }
}
