import DataSourceTesting
import Diffing
import FileSources
import FileWatching
import Foundation
import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// The changes of a source for a sequence of versions of its file.
@Suite(.timeLimit(.minutes(10)))
struct JSONReloadTests {
  struct Item: Codable, Hashable, Identifiable, Differentiable, Sendable {
    var id: Int
    var text: String
  }

  let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  /// Deletes, inserts, updates and moves random items.
  private func edit(
    _ items: inout [Item], _ version: Int, repeatsIDs: Bool, using random: inout SeededGenerator
  ) {
    for number in 0..<Int.random(in: 1..<8, using: &random) {
      let place = items.isEmpty ? 0 : Int.random(in: 0..<items.count, using: &random)
      switch Int.random(in: 0..<5, using: &random) {
      case 0 where !items.isEmpty: items.remove(at: place)
      case 1 where !items.isEmpty:
        items.insert(
          items.remove(at: place), at: Int.random(in: 0..<items.count + 1, using: &random))
      case 2, 3:
        if !items.isEmpty {
          items[place].text =
            ["", "]\\\"[,", "é€😀", "\(version)"].randomElement(using: &random) ?? ""
        }
      default:
        let id =
          repeatsIDs ? Int.random(in: 0..<300, using: &random) : 1_000 + 10 * version + number
        items.insert(Item(id: id, text: "new"), at: place)
      }
    }
    if random.next() % 40 == 0 { items.shuffle(using: &random) }
  }

  @Test func `random versions of a list in a document cause exact changes`() async throws {
    let seed = TestRun.seed ?? .random(in: 0 ... .max)
    var random = SeededGenerator(seed: seed)
    var items = (0..<100).map { Item(id: $0, text: "\($0)") }
    var (before, after) = (0, 0)
    func save(_ items: [Item]) throws {
      // What is around the list changes, too.
      if random.next() % 4 == 0 { before = Int.random(in: 0..<2_000, using: &random) }
      if random.next() % 4 == 0 { after = Int.random(in: 0..<2_000, using: &random) }
      let list = String(decoding: try JSONEncoder().encode(items), as: UTF8.self)
      try directory.write(
        #"{"kind": "[{", "n": [\#(before)], "data": {"a/b": \#(list) , "x": {"y": \#(after)}}}"#,
        to: "a.json")
    }
    try save(items)
    let log = try await SourceLog.afterLoading(
      JSONFileDataSource<Item>(path: directory("a.json"), at: "/data/a~1b"))
    for version in 0..<(TestRun.isLong ? 400 : 100) {
      let old = items
      while items == old { edit(&items, version, repeatsIDs: false, using: &random) }
      // Sometimes, all items go.
      if version % 20 == 19 { items = [] }
      if items == old { continue }
      try save(items)
      let change = try await log.nextChange()
      try #require(Array(change.before) == old, "seed \(seed)")
      try #require(Array(change.after) == items, "seed \(seed)")
    }
  }

  @Test(.reaches(.changes), arguments: [false, true])
  func `random versions cause exact changes`(repeatsIDs: Bool) async throws {
    let seed = TestRun.seed ?? .random(in: 0 ... .max)
    var random = SeededGenerator(seed: seed)
    var items = (0..<200).map { Item(id: $0, text: "\($0)") }
    func save(_ items: [Item]) throws {
      // The white space changes sometimes, which changes no element.
      let encoder = JSONEncoder()
      if random.next() % 8 == 0 { encoder.outputFormatting = .prettyPrinted }
      try encoder.encode(items).write(
        to: URL(fileURLWithPath: directory("a.json")), options: .atomic)
    }
    try save(items)
    let log = try await SourceLog.afterLoading(
      JSONFileDataSource<Item>(path: directory("a.json")))
    for version in 0..<(TestRun.isLong ? 200 : 70) {
      let old = items
      while items == old { edit(&items, version, repeatsIDs: repeatsIDs, using: &random) }
      try save(items)
      let change = try await log.nextChange()
      try #require(Array(change.before) == old, "seed \(seed)")
      try #require(Array(change.after) == items, "seed \(seed)")
      Coverage.note(change.changeset)
      // The change contains exactly the differences.
      let expected = Changeset(from: old, to: items)
      try #require(
        change.changeset.deletions.count == expected.deletions.count
          && change.changeset.insertions.count == expected.insertions.count, "seed \(seed)")
      if !repeatsIDs {
        // There may be several minimal sets of moves.
        try #require(
          change.changeset.deletions == expected.deletions
            && change.changeset.insertions == expected.insertions
            && change.changeset.updates == expected.updates
            && change.changeset.moves.count == expected.moves.count, "seed \(seed)")
      }
      try #require(
        change.changeset.applying(to: old, with: items) == items, "seed \(seed)")
    }
  }

  @Test func `an observer that is added during the load receives the contents`() async throws {
    try directory.write(#"[{"id":1,"text":""}]"#, to: "a.json")
    for _ in 0..<(TestRun.isLong ? 500 : 150) {
      let source = JSONFileDataSource<Item>(path: directory("a.json"))
      let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
      let observation = source.observe { continuation.yield($0.snapshot.count) }
      var counts: [Int] = []
      for await count in stream {
        counts.append(count)
        if count == 1 { break }
      }
      #expect(counts == [1] || counts == [0, 1])
      observation.dispose()
    }
  }
}
