import DataSourceTesting
import Dispatch
import FileSources
import Foundation
import ObservableCollections
import ReactiveSignals
import SQLiteSources
import SwappableSources
import Synchronization
import TestSupport
import TestTags
import Testing

/// Counts the living sources by objects that they capture.
private final class Census: Sendable {
  private let living = Atomic<Int>(0)
  private let allGone = DispatchSemaphore(value: 0)

  /// An object that a source captures.
  final class Member: Sendable {
    private let census: Census

    fileprivate init(_ census: Census) {
      self.census = census
      census.living.add(1, ordering: .relaxed)
    }

    deinit {
      if census.living.subtract(1, ordering: .relaxed).newValue == 0 { census.allGone.signal() }
    }
  }

  func member() -> Member { Member(self) }

  /// Waits until all sources are released, including the ones that a queue still keeps.
  func waitForNone() -> Bool {
    while living.load(ordering: .relaxed) > 0 {
      guard allGone.wait(timeout: .now() + 60) == .success else { return false }
    }
    return true
  }
}

/// A Boolean value that threads share.
private final class Flag: Sendable {
  private let isRaised = Atomic(false)

  var value: Bool { isRaised.load(ordering: .acquiring) }

  func raise() { isRaised.store(true, ordering: .releasing) }
}

/// Files and a database that a second process writes, and sources for them.
private struct Stage: Sendable {
  let database: TemporaryDatabase
  let json: String
  let lines: String
  let sql: HelperProcess
  let saving: HelperProcess
  let appending: HelperProcess
  let census = Census()

  init() throws {
    database = try TemporaryDatabase()
    try database.writer().execute("INSERT INTO item VALUES (1, 'a')")
    json = database.directory.appendingPathComponent("items.json").path
    lines = database.directory.appendingPathComponent("items.jsonl").path
    try Data("[]".utf8).write(to: URL(fileURLWithPath: json))
    try Data().write(to: URL(fileURLWithPath: lines))
    sql = try HelperProcess("sql", database.path)
    saving = try HelperProcess("save", json)
    appending = try HelperProcess("save", lines, "append")
  }

  /// The items that the second process saves in a turn.
  func items(_ turn: Int) -> [Item] {
    (0..<(turn % 7)).map { Item(id: ($0 * 3 + turn) % 7, name: "j\(turn)") }
  }

  /// The line that the second process appends in a turn, or `nil` to keep the file short.
  func line(_ turn: Int) -> String? {
    turn % 100 < 5 ? "{\"id\": \(turn), \"name\": \"l\(turn)\"}" : nil
  }

  /// Tells each of the other processes to write once.
  func write(_ turn: Int) throws {
    let text = items(turn).map { "{\"id\": \($0.id), \"name\": \"\($0.name)\"}" }
    try sql.send("INSERT OR REPLACE INTO item VALUES (\(turn % 7), 's\(turn)')")
    try saving.send("[" + text.joined(separator: ", ") + "]")
    if let line = line(turn) {
      try appending.send(line + "\u{1E}")
      try appending.waitForOK()
    }
    try sql.waitForOK()
    try saving.waitForOK()
  }

  func makeJSON() -> any DataSource<Item> {
    let member = census.member()
    return JSONFileDataSource(path: json) { element in
      withExtendedLifetime(member) {}
      return try JSONDecoder().decode(Item.self, from: Data(element.utf8))
    }
  }

  func makeLines() -> any DataSource<Item> {
    let member = census.member()
    return JSONLinesDataSource(path: lines) { element in
      withExtendedLifetime(member) {}
      return try JSONDecoder().decode(Item.self, from: Data(element.utf8))
    }
  }

  func makeQuery() throws -> any DataSource<Item> {
    let member = census.member()
    return try SQLiteDataSource(path: database.path, sql: "SELECT id, name FROM item ORDER BY id") {
      withExtendedLifetime(member) {}
      return Item(id: try $0.value(at: 0), name: try $0.value(at: 1))
    }
  }

  /// Creates a source for one of the files or the database.
  func makeSource(_ kind: Int) throws -> any DataSource<Item> {
    switch kind {
    case 0: makeJSON()
    case 1: makeLines()
    default: try makeQuery()
    }
  }

  /// Returns the final contents of each file.
  func stored(_ turns: Int) throws -> [[Item]] {
    let appended = (1...turns).filter { line($0) != nil }.map { Item(id: $0, name: "l\($0)") }
    let rows = try database.writer().query("SELECT id, name FROM item ORDER BY id").map {
      Item(id: try $0.value("id"), name: try $0.value("name"))
    }
    return [items(turns), appended, rows]
  }
}

@Suite(.tags(.concurrency, .system), .timeLimit(.minutes(60))) struct ContainerConcurrencyTests {
  /// The number of writes of each process, and the least number of swaps of each thread.
  private static let turns = TestRun.isLong ? 10_000 : 100
  private static let swaps = TestRun.isLong ? 1_000 : 100

  @Test func `all kinds of sources are swapped while other processes write them`() async throws {
    let stage = try Stage()
    try await run(on: stage)
    #expect(stage.census.waitForNone(), "a source was not released")
  }

  private func run(on stage: Stage) async throws {
    let array = ArrayDataSource([Item(id: 1, name: "a"), Item(id: 2, name: "b")])
    let sources: [any DataSource<Item>] = [
      stage.makeJSON(), stage.makeLines(), try stage.makeQuery(), array,
    ]
    let container = SwappableContainer<Item>(array)
    let queue = DispatchQueue(label: "ContainerConcurrencyTests", attributes: .concurrent)
    let recorders =
      (sources + [container]).map { RecordingObserver($0, keeps: 16) } + [
        RecordingObserver(container, on: .queue(queue), keeps: 16),
        RecordingObserver(container, on: .queue(queue), policy: .everything, keeps: 16),
      ]
    let hasWritten = Flag()

    try await withThrowingTaskGroup(of: Void.self) { group in
      for seed in 1...2 {
        group.addTask {
          var random = SeededGenerator(seed: UInt64(seed))
          var turn = 0
          while turn < Self.swaps || !hasWritten.value {
            turn += 1
            let kind = random.below(sources.count + 2)
            let source =
              kind < sources.count ? sources[kind] : try stage.makeSource(random.below(3))
            let handle = container.swap(to: source)
            array.replace(with: (0..<random.below(6)).map { Item(id: $0, name: "r\(turn)") })
            if random.oneIn(8) { try RecordingObserver(container).check() }
            if random.oneIn(2) { _ = await handle.outcome }
          }
        }
      }
      group.addTask {
        for turn in 1...Self.turns { try stage.write(turn) }
        hasWritten.raise()
      }
      try await group.waitForAll()
    }

    let stored = try stage.stored(Self.turns) + [Array(array.snapshot)]
    for (source, contents) in zip(sources, stored) {
      let outcome = await container.swap(to: source).outcome
      #expect(outcome == .swapped || outcome == .unchanged)
      for recorder in recorders.suffix(3) { try await recorder.wait(forContents: contents) }
    }
    await container.flush()
    for (recorder, source) in zip(recorders, sources) {
      await source.flush()
      try recorder.check(against: source)
    }
    for recorder in recorders.suffix(3) { try recorder.check(against: container) }
  }
}
