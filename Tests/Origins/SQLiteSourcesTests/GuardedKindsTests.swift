import DataSourceTesting
import Diffing
import FileSources
import Foundation
import ObservableCollections
import ReactiveSignals
import SQLiteSources
import SwappableSources
import TestSupport
import Testing

/// A list of ten rows whose source a test changes as a whole, behind a guard.
private protocol GuardedList: AnyObject {
  var shown: any DataSource<Item> { get }
  var pendingChange: ReadOnlyProperty<ChangeGuard<Item>.PendingChange?> { get }
  /// Sets the rows of the source.
  func set(_ identifiers: [Int]) throws
}

extension Item {
  fileprivate static func rows(_ identifiers: [Int]) -> [Item] {
    identifiers.map { Item(id: $0, name: "row \($0)") }
  }
}

/// A swap to an array. After a swap that has ended, the next change is a swap to another array.
private final class SwappedArray: GuardedList {
  private let container = SwappableContainer(ArrayDataSource(Item.rows(Array(0..<10))))
  private let changeGuard: ChangeGuard<Item>
  private var swap: (new: ArrayDataSource<Item>, handle: SwapHandle)?

  init(_ changeGuard: ChangeGuard<Item>) { self.changeGuard = changeGuard }

  var shown: any DataSource<Item> { container }
  var pendingChange: ReadOnlyProperty<ChangeGuard<Item>.PendingChange?> { container.pendingChange }

  func set(_ identifiers: [Int]) throws {
    if let swap, swap.handle.outcomeIfKnown == nil {
      swap.new.replace(with: Item.rows(identifiers))
    } else {
      let new = ArrayDataSource(Item.rows(identifiers))
      swap = (new, container.swap(to: new, guardedBy: changeGuard))
    }
  }
}

/// A JSON file that is saved.
private final class SavedFile: GuardedList {
  private let directory: TemporaryDirectory
  private let guarded: ChangeGuard<Item>.Source

  init(_ changeGuard: ChangeGuard<Item>) async throws {
    directory = try TemporaryDirectory()
    try Self.save(Array(0..<10), directory("a.json"))
    guarded = JSONFileDataSource<Item>(path: directory("a.json")).guarded(by: changeGuard)
    _ = try await guarded.loaded()
  }

  var shown: any DataSource<Item> { guarded }
  var pendingChange: ReadOnlyProperty<ChangeGuard<Item>.PendingChange?> { guarded.pendingChange }

  func set(_ identifiers: [Int]) throws { try Self.save(identifiers, directory("a.json")) }

  /// Saves the first half of the text.
  func truncate() throws {
    try Data(Self.text(Array(0..<10)).utf8.prefix(100)).write(
      to: URL(fileURLWithPath: directory("a.json")), options: .atomic)
  }

  private static func save(_ identifiers: [Int], _ path: String) throws {
    try Data(text(identifiers).utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
  }

  private static func text(_ identifiers: [Int]) -> String {
    let rows = identifiers.map { #"{"id":\#($0),"name":"row \#($0)"}"# }
    return "[\(rows.joined(separator: ","))]"
  }
}

/// A query over a table whose rows are deleted and inserted.
private final class DeletedRows: GuardedList {
  private let database: TemporaryDatabase
  private let writer: SQLiteConnection
  private let guarded: ChangeGuard<Item>.Source

  init(_ changeGuard: ChangeGuard<Item>) async throws {
    database = try TemporaryDatabase()
    writer = try database.writer()
    let source = try SQLiteDataSource<Item>(
      connection: writer, sql: "SELECT id, name FROM item ORDER BY id")
    try Self.set(Array(0..<10), writer)
    guarded = source.guarded(by: changeGuard)
    _ = try await guarded.loaded()
  }

  var shown: any DataSource<Item> { guarded }
  var pendingChange: ReadOnlyProperty<ChangeGuard<Item>.PendingChange?> { guarded.pendingChange }

  func set(_ identifiers: [Int]) throws { try Self.set(identifiers, writer) }

  private static func set(_ identifiers: [Int], _ writer: SQLiteConnection) throws {
    let list = identifiers.map { "\($0)" }.joined(separator: ",")
    try writer.transaction {
      try writer.execute("DELETE FROM item WHERE id NOT IN (\(list))")
      for id in identifiers {
        try writer.execute("INSERT OR IGNORE INTO item VALUES (\(id), 'row \(id)')")
      }
    }
  }
}

/// Rule G1 for each guard and each kind of source.
@Suite(.timeLimit(.minutes(10))) struct GuardedKindsTests {
  enum Kind: CaseIterable { case arraySwap, savedFile, deletedRows }

  /// Guards that allow one of ten rows to disappear, and not all of them.
  enum Limit: CaseIterable {
    case deletedPercent, deletedCount, changes, count, several, closure

    var changeGuard: ChangeGuard<Item> {
      switch self {
      case .deletedPercent: .deletions(atMost: .percent(20))
      case .deletedCount: .deletions(atMost: .elements(3))
      case .changes: .changes(atMost: .elements(3))
      case .count: .count(atLeast: 5)
      case .several: .all([.count(atLeast: 1), .deletions(atMost: .percent(50))])
      case .closure: ChangeGuard { $0.after.count < 4 ? "too few" : nil }
      }
    }
  }

  private func list(_ kind: Kind, _ limit: Limit) async throws -> any GuardedList {
    switch kind {
    case .arraySwap: SwappedArray(limit.changeGuard)
    case .savedFile: try await SavedFile(limit.changeGuard)
    case .deletedRows: try await DeletedRows(limit.changeGuard)
    }
  }

  /// Waits until the pending change leaves some rows, or until there is none.
  private func wait(_ list: any GuardedList, untilPending rows: [Int]?) async throws {
    for await pending in list.pendingChange.values()
    where pending.map({ $0.change.after.map(\.id) }) == rows { return }
  }

  @Test(arguments: Kind.allCases, Limit.allCases)
  func `a refused change is never visible, and is accepted`(kind: Kind, limit: Limit) async throws {
    let list = try await list(kind, limit)
    let recorder = RecordingObserver(list.shown)
    try list.set([])
    try await wait(list, untilPending: [])
    #expect(recorder.eventCount == 1)
    #expect(list.shown.status == .loaded)
    list.pendingChange.value?.accept()
    try await wait(list, untilPending: nil)
    try await recorder.wait { $0.snapshot.isEmpty }
    #expect(recorder.eventCount == 2)
    try recorder.check(against: list.shown)
  }

  @Test(arguments: Kind.allCases, Limit.allCases)
  func `a refused change is satisfied by itself`(kind: Kind, limit: Limit) async throws {
    let list = try await list(kind, limit)
    let recorder = RecordingObserver(list.shown)
    try list.set([])
    try await wait(list, untilPending: [])
    try list.set(Array(1..<10))
    try await wait(list, untilPending: nil)
    try await recorder.wait { $0.snapshot.count == 9 }
    #expect(recorder.changes.map(\.changeset.summary) == ["1 deleted"])
    try recorder.check(against: list.shown)
  }

  @Test(arguments: Kind.allCases, Limit.allCases)
  func `a refused change goes on changing, and is superseded`(kind: Kind, limit: Limit) async throws
  {
    let list = try await list(kind, limit)
    let recorder = RecordingObserver(list.shown)
    for rows in [[], [3], [3, 4], [20]] {
      try list.set(rows)
      try await wait(list, untilPending: rows)
    }
    #expect(recorder.eventCount == 1)
    list.pendingChange.value?.accept()
    try await recorder.wait { $0.snapshot.map(\.id) == [20] }
    #expect(recorder.changes.count == 1)
    try recorder.check(against: list.shown)
  }

  @Test(arguments: Kind.allCases, Limit.allCases)
  func `a rejected change is forgotten, and the next one is judged`(
    kind: Kind, limit: Limit
  ) async throws {
    let list = try await list(kind, limit)
    let recorder = RecordingObserver(list.shown)
    try list.set([])
    try await wait(list, untilPending: [])
    list.pendingChange.value?.reject()
    try await wait(list, untilPending: nil)
    #expect(recorder.eventCount == 1)
    try list.set([1])
    try await wait(list, untilPending: [1])
    try list.set(Array(0..<11))
    try await recorder.wait { $0.snapshot.count == 11 }
    #expect(recorder.changes.map(\.changeset.summary) == ["1 inserted"])
    try recorder.check(against: list.shown)
  }

  @Test(arguments: Limit.allCases)
  func `a truncated file changes nothing, whether a change is pending or not`(limit: Limit)
    async throws
  {
    let file = try await SavedFile(limit.changeGuard)
    let recorder = RecordingObserver(file.shown)
    try file.truncate()
    for await status in file.shown.statuses() where status.error != nil { break }
    #expect(file.pendingChange.value == nil)
    try file.set([])
    try await wait(file, untilPending: [])
    #expect(file.shown.status == .loaded)
    try file.truncate()
    for await status in file.shown.statuses() where status.error != nil { break }
    // The change that is pending is that of the last good contents.
    #expect(file.pendingChange.value?.change.after.isEmpty == true)
    #expect(recorder.eventCount == 1)
    try file.set(Array(0..<9))
    try await wait(file, untilPending: nil)
    try await recorder.wait { $0.snapshot.count == 9 }
    #expect(recorder.changes.map(\.changeset.summary) == ["1 deleted"])
    #expect(file.shown.status == .loaded)
    try recorder.check(against: file.shown)
  }
}
