import TestSupport
import DataSourceTesting
import Diffing
import Foundation
import ObservableCollections
import ReactiveSignals
import SQLiteSources
import SwappableSources
import Testing

/// Calls of observers inside their callbacks: no deadlock and no lost event.
@Suite(.serialized, .timeLimit(.minutes(10))) struct SQLiteFaultObserverTests {
  typealias Setting = ObservedQuery.Setting

  @Test(arguments: Setting.all)
  func `writes of an observer are delivered to all in order`(setting: Setting) async throws {
    let live = try await ObservedQuery(
      setting, setup: "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT)")
    let writes = live.source.observe { event in
      let count = event.snapshot.count
      guard (1..<8).contains(count) else { return }
      #expect(throws: Never.self) {
        try live.write("BEGIN; INSERT INTO item VALUES (\(count + 1), 'n\(count + 1)'); COMMIT")
      }
    }
    let late = RecordingObserver(live.source)
    try live.own.execute("INSERT INTO item VALUES (1, 'n1')")
    try await live.observer.wait { $0.snapshot.count == 8 }
    await live.source.refresh()
    #expect(late.changes.map(\.brief) == (0..<8).map { "+\($0) \($0 + 1).n\($0 + 1)" })
    try late.check(against: live.source)
    try live.check()
    writes.dispose()
  }

  @Test(arguments: ObservedQuery.Journal.allCases)
  func `an observer may call everything`(journal: ObservedQuery.Journal) async throws {
    let live = try await ObservedQuery(.init(journal: journal, writer: .own))
    let container = SwappableContainer<TestRow>(live.source)
    let shown = RecordingObserver(container)
    let other = ArrayDataSource<TestRow>([])
    let done = AsyncStream<Void>.makeStream()
    let held = Shared<[Disposable]>([])
    held.value = [
      live.source.observe { event in
        guard case .change = event else { return }
        #expect(throws: Never.self) {
          // A transaction that reads, writes and is rolled back, a nested transaction, a new source
          // that loads, a swap back and forth, and the end of the observation.
          try? live.own.transaction {
            try live.own.execute("DELETE FROM item")
            throw CancellationError()
          }
          try live.own.transaction {
            let rows = try live.own.query("SELECT * FROM item")
            guard rows.count == 4 else { throw CancellationError() }
            try live.own.transaction { _ = try live.own.execute("DELETE FROM item WHERE id = 2") }
          }
          let another = try SQLiteDataSource(connection: live.own, sql: "SELECT id FROM item") {
            TestRow($0)
          }
          another.observe { _ in }.dispose()
          container.swap(to: other)
          container.swap(to: live.source)
        }
        held.value.forEach { $0.dispose() }
        held.value = []
        done.continuation.finish()
      }
    ]
    try live.write("UPDATE item SET name = 'aa' WHERE id = 1")
    for await _ in done.stream {}
    try await live.observer.wait { $0.snapshot.count == 3 }
    await live.source.refresh()
    #expect(live.observer.changes.suffix(2).map(\.brief) == ["~0>0 1.a→1.aa", "-1 2.b"])
    try live.check()
    try await shown.wait(forContents: live.source.snapshot)
    await container.flush()
    try shown.check(against: container)
  }

  @Test(arguments: Setting.all)
  func `an observer that is disposed of inside is not called again`(setting: Setting) async throws {
    let live = try await ObservedQuery(setting)
    let calls = Shared(0)
    let held = Shared<Disposable?>(nil)
    held.value = live.source.observe { event in
      calls.modify { $0 += 1 }
      guard case .change = event else { return }
      held.value?.dispose()
      #expect(throws: Never.self) { try live.own.execute("DELETE FROM item WHERE id = 1") }
    }
    try live.write("UPDATE item SET name = 'dd' WHERE id = 4")
    try await live.observer.wait { $0.snapshot.count == 3 }
    try await live.expect("DELETE FROM item WHERE id = 4", changes: "-2 4.dd")
    #expect(calls.value == 2)
  }

  @Test(arguments: Setting.all)
  func `an observer that releases its source ends it immediately`(setting: Setting) async throws {
    let live = try await ObservedQuery(setting)
    var source: SQLiteDataSource<TestRow>? = try SQLiteDataSource(
      path: live.database.path, sql: "SELECT name FROM item"
    ) { TestRow($0) }
    weak let weakSource = source
    let held = Shared<Disposable?>(nil)
    let ended = AsyncStream<Void>.makeStream()
    held.value = source?.observe { event in
      guard event.snapshot.count == 3 else { return }
      held.value = nil
      ended.continuation.finish()
    }
    try await source?.loaded()
    source = nil
    try await live.expect("DELETE FROM item WHERE id = 3", changes: "-2 3.c")
    for await _ in ended.stream {}
    try await wait(for: "the source to be released") { weakSource == nil }
    try await live.expectSilence("UPDATE item SET name = name")
  }
}
