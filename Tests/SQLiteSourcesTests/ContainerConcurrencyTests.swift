import DataSourceTesting
import Dispatch
import FileSources
import Foundation
import ObservableCollections
import ReactiveSignals
import SQLiteSources
import SwappableSources
import Testing

@Suite(.timeLimit(.minutes(5))) struct ContainerConcurrencyTests {
  private static let turns =
    ProcessInfo.processInfo.environment["SWAPPABLE_LONG"] == "1" ? 2_000 : 100

  /// What the second process makes of a file in its last turn.
  private func lines(_ turn: Int) -> String {
    let items = (0..<(turn % 7)).map { "{\"id\": \(($0 * 3 + turn) % 7), \"name\": \"j\(turn)\"}" }
    return "[" + items.joined(separator: ", ") + "]"
  }

  @Test func allKindsOfSourcesSwapWhileOtherProcessesWriteThem() async throws {
    let database = try TemporaryDatabase()
    try database.writer().execute("INSERT INTO item VALUES (1, 'a')")
    let file = database.directory.appendingPathComponent("items.json").path
    try Data("[]".utf8).write(to: URL(fileURLWithPath: file))
    let sql = try HelperProcess("sql", database.path)
    let save = try HelperProcess("save", file)

    let array = ArrayDataSource([Item(id: 1, name: "a"), Item(id: 2, name: "b")])
    let json = JSONFileDataSource<Item>(path: file)
    let query = try SQLiteDataSource<Item>(
      path: database.path, sql: "SELECT id, name FROM item ORDER BY id")
    let sources: [any DataSource<Item>] = [array, json, query]
    let container = SwappableContainer<Item>(array)
    let queue = DispatchQueue(label: "ContainerConcurrencyTests", attributes: .concurrent)
    let recorders =
      (sources + [container]).map { RecordingObserver($0) } + [
        RecordingObserver(container, on: .queue(queue)),
        RecordingObserver(container, on: .queue(queue), policy: .everything),
      ]

    try await withThrowingTaskGroup(of: Void.self) { group in
      for seed in 1...2 {
        group.addTask {
          var random = SeededGenerator(seed: UInt64(seed))
          for turn in 0..<Self.turns {
            container.swap(to: sources[random.below(3)])
            array.replace(with: (0..<random.below(6)).map { Item(id: $0, name: "r\(turn)") })
            if random.oneIn(8) { try RecordingObserver(container).check() }
          }
        }
      }
      group.addTask {
        for turn in 1...Self.turns {
          try sql.send("INSERT OR REPLACE INTO item VALUES (\(turn % 7), 's\(turn)')")
          try save.send(lines(turn))
          try sql.waitForOK()
          try save.waitForOK()
        }
      }
      try await group.waitForAll()
    }

    let saved = try JSONDecoder().decode([Item].self, from: Data(lines(Self.turns).utf8))
    let stored = try database.writer().query("SELECT id, name FROM item ORDER BY id").map {
      Item(id: try $0.value("id"), name: try $0.value("name"))
    }
    for (source, contents) in [
      (sources[1], saved), (sources[2], stored), (sources[0], Array(array.snapshot)),
    ] {
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
