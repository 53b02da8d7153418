// Counts the objects that one update allocates, from the edit to the observer, and fails if they are too many.
//
//     swift run -c release --package-path Tests/Benchmarks AllocationCounts [LIST]...
//
// A list of 1,000 rows with distinct keys has one observer. Each update sets a text and adds 2 to the key of a random
// row. The count is the mean of 20,000 updates.
import AllocationMeter
import Foundation
import Swappable

struct Row: Differentiable, Equatable, Sendable {
  let id: Int
  var key: Int
  var text: String
  var differenceIdentifier: Int { id }
}

struct Generator: RandomNumberGenerator {
  var state: UInt64 = 1

  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return (state >> 33) | (state << 31)
  }
}

let rowCount = 1_000
let updateCount = 20_000
let wanted = CommandLine.arguments.dropFirst()
var failed = false

@MainActor func count<Output>(
  _ name: String, atMost limit: Double, _ derive: (ArrayDataSource<Row>) -> LiveCollection<Output>
) {
  count(name, atMost: limit) { rows in
    let list = derive(rows)
    return [
      list.observe { event in
        if case .change(let change) = event { precondition(!change.changeset.isEmpty) }
      }
    ]
  }
}

@MainActor func count(
  _ name: String, atMost limit: Double, _ follow: (ArrayDataSource<Row>) -> [Disposable]
) {
  guard wanted.isEmpty || wanted.contains(name) else { return }
  var generator = Generator()
  var keys = Array(0..<rowCount)
  keys.shuffle(using: &generator)
  let rows = ArrayDataSource(keys.indices.map { Row(id: $0, key: keys[$0], text: "row \($0)") })
  let observations = follow(rows)
  func update(_ number: Int) {
    rows.update(at: Int.random(in: 0..<rowCount, using: &generator)) { row in
      row.text = number % 2 == 0 ? "even" : "odd"
      row.key += 2
    }
  }
  for number in 0..<1_000 { update(number) }
  allocation_meter_start()
  for number in 0..<updateCount { update(number) }
  _ = allocation_meter_stop()
  let objects = Double(allocation_meter_blocks()) / Double(updateCount)
  for observation in observations { observation.dispose() }
  // Other threads allocate an object now and then.
  let isTooMany = objects > limit + 0.05
  failed = failed || isTooMany
  print(
    name.padding(toLength: 24, withPad: " ", startingAt: 0),
    String(format: "%6.1f of at most %4.0f", objects, limit), isTooMany ? "TOO MANY" : "")
}

@Sendable func isEven(_ row: Row) -> Bool { row.key % 2 == 0 }
@Sendable func group(_ row: Row) -> Int { row.id % 32 }

let few = ArrayDataSource((0..<10).map { Row(id: -1 - $0, key: $0, text: "few") })
let levels = (0..<rowCount).map { Property($0) }
let flags = (0..<rowCount).map { Property($0 % 2 == 0) }
let names = ArrayDataSource((0..<32).map { Row(id: $0, key: $0, text: "name") })

count("plain", atMost: 7) { $0.collection }
count("map", atMost: 11) { $0.map { Row(id: $0.id, key: $0.key + 1, text: $0.text) } }
count("filter", atMost: 11) { $0.filter(isEven) }
count("sorted", atMost: 18) { $0.sorted { $0.key } }
count("filter.sorted", atMost: 17) { $0.filter(isEven).sorted { $0.key } }
count("reversed", atMost: 12) { $0.reversed() }
count("prefix", atMost: 10) { $0.prefix(750) }
count("dropFirst", atMost: 11) { $0.dropFirst(250) }
count("concatenated", atMost: 11) { $0.concatenated(with: few) }
count("flatMap", atMost: 16) { $0.flatMap { [$0] } }
count("sections", atMost: 14) { $0.sections(by: group) }
count("grouped", atMost: 9) { $0.grouped(by: group) }
count("chunked", atMost: 17) { $0.chunked(into: 10) }
count("distinct", atMost: 14) { $0.distinct { $0.id } }
count("union", atMost: 14) { $0.union(few) }
count("subtracting", atMost: 14) { $0.subtracting(few) }
count("joined", atMost: 13) { $0.joined(with: names, on: group) }
count("leftJoined", atMost: 13) { $0.leftJoined(with: names, on: group) }
count("outline", atMost: 15) { $0.outline { $0.id % 32 == 0 ? nil : $0.id - $0.id % 32 } }
count("semiJoined", atMost: 13) { $0.semiJoined(with: names, on: group) }
count("antiJoined", atMost: 13) { $0.antiJoined(with: few, on: group) }
count("fullJoined", atMost: 18) { $0.fullJoined(with: names, on: group, equals: \.id) }
count("map(withPrevious:)", atMost: 23) { rows in
  rows.map(withPrevious: { Row(id: $0.id, key: $0.key, text: $1?.text ?? "") })
}
count("map(each:)", atMost: 13) { rows in
  rows.map(each: { levels[$0.id] }) { Row(id: $0.id, key: $0.key + $1, text: $0.text) }
}
count("filter(byEach:)", atMost: 18) { rows in
  rows.filter(byEach: { flags[$0.id] })
}
count("sorted(byEach:)", atMost: 25) { rows in rows.sorted(byEach: { levels[$0.id] }) }
count("aggregated", atMost: 19) { rows in
  rows.aggregated(by: group) { group in
    group.live.sum(of: \.key).map { Row(id: group.key, key: $0, text: "") }
  }
}
count("paused", atMost: 10) { $0.paused(while: Property(false)) }
count("selection", atMost: 17) { rows in
  let selection = rows.selection()
  selection.selectAll(where: isEven)
  return [selection.selected.observe { _ in }]
}
count("live(upTo:)", atMost: 10) { rows in
  [rows.live(upTo: 500).sum(of: \.key).observe { _ in }]
}
count("forEach(lifetime:)", atMost: 10) { rows in
  [rows.forEach(lifetime: { _ in nil })]
}
exit(failed ? 1 : 0)
