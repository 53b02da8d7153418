import DataSourceTesting
import Diffing
import Foundation
import ObservableCollections
import SQLiteSources
import SynchronizerStores
import Synchronizers
import TestSupport
import TestTags
import Testing

@Suite struct SQLiteSynchronizationStoreTests {
  private typealias Store = SQLiteSynchronizationStore<Note, Int>

  private let directory: TemporaryDirectory
  private var path: String { directory("state.db") }

  init() throws { directory = try TemporaryDirectory() }

  private func notes(_ range: Range<Int>) -> [Note] {
    range.map { Note(id: $0, text: "note \($0)") }
  }

  private func push(
    _ client: some Sequence<Note>, _ merged: some Sequence<Note>
  ) -> SynchronizationState<Note, Int>.PendingPush {
    .init(
      id: "\(UInt64.random(in: 0 ... .max))", version: 1, client: Snapshot(client),
      merged: Snapshot(merged))
  }

  /// Returns the number of rows that a body writes.
  private func rows(
    _ connection: SQLiteConnection, _ body: () async throws -> Void
  ) async throws -> Int {
    func count() throws -> Int {
      try connection.query("SELECT total_changes()") { try $0.value(at: 0) }[0]
    }
    let before = try count()
    try await body()
    return try count() - before
  }

  @Test func `a store without a saved state returns nil`() async throws {
    let connection = try SQLiteConnection(path: path)
    #expect(try await Store(connection: connection, name: "a").load() == nil)
    #expect(try connection.query("SELECT * FROM sqlite_master").isEmpty)
  }

  @Test(.reaches(StateGenerator.cases)) func `random states survive saving and loading`()
    async throws
  {
    for seed in 1...6 as ClosedRange<UInt64> {
      var generator = StateGenerator(seed: seed)
      var state = NoteState(client: Snapshot(generator.list(5)), shadow: Snapshot())
      let connection = try SQLiteConnection.makeInMemory()
      var store = Store(connection: connection, name: "a")
      for step in 0..<200 {
        state = generator.next(after: state)
        try await store.save(state)
        if generator.random.oneIn(3) { store = Store(connection: connection, name: "a") }
        let loaded = try await store.load()
        try #require(
          loaded.map(StateValue.init) == StateValue(state), "seed \(seed), step \(step)")
      }
    }
  }

  @Test func `states are saved without loading in between`() async throws {
    var generator = StateGenerator(seed: 8)
    var state = NoteState(client: Snapshot(generator.list(5)), shadow: Snapshot())
    let connection = try SQLiteConnection.makeInMemory()
    let store = Store(connection: connection, name: "a")
    for step in 0..<500 {
      state = generator.next(after: state)
      try await store.save(state)
      let loaded = try await Store(connection: connection, name: "a").load()
      try #require(loaded.map(StateValue.init) == StateValue(state), "seed 8, step \(step)")
    }
  }

  @Test func `a save writes only changed rows`() async throws {
    let connection = try SQLiteConnection.makeInMemory()
    let store = Store(connection: connection, name: "a")
    var list = notes(0..<10_000)
    let shadow = Snapshot(list)
    func save(_ client: [Note], _ push: SynchronizationState<Note, Int>.PendingPush? = nil)
      async throws -> Int
    {
      try await rows(connection) {
        try await store.save(
          NoteState(client: Snapshot(client), shadow: shadow, version: 1, push: push))
      }
    }
    // The rows of both lists, and the row of the session twice.
    #expect(try await save(list) <= 20_003)
    #expect(try await save(list) == 1)
    list[5_000].text = "edited"
    #expect(try await save(list) == 2)
    list.insert(Note(id: -1, text: "first"), at: 0)
    #expect(try await save(list) == 2)
    list.remove(at: 7_000)
    #expect(try await save(list) == 2)
    list.append(list.remove(at: 3))
    #expect(try await save(list) == 2)
    // A push has four lists of 10,000 elements. Shared rows are not written again.
    let pending = push(list, list)
    #expect(try await save(list, pending) <= 10)
    list[1].text = "during the push"
    #expect(try await save(list, pending) == 3)
    list[1].text = "again"
    #expect(try await save(list, pending) == 2)
    let last = try await save(list, nil)
    #expect(last <= 16)
    let loaded = try #require(try await Store(connection: connection, name: "a").load())
    #expect(Array(loaded.client) == list)
    #expect(Array(loaded.shadow) == Array(shadow))
  }

  @Test func `an insertion at the front writes one row`() async throws {
    let connection = try SQLiteConnection.makeInMemory()
    let store = Store(connection: connection, name: "a")
    var list = notes(0..<20_000)
    try await store.save(NoteState(client: Snapshot(list), shadow: Snapshot()))
    for number in 1...20 {
      list.insert(Note(id: -number, text: "new"), at: 0)
      let written = try await rows(connection) {
        try await store.save(NoteState(client: Snapshot(list), shadow: Snapshot()))
      }
      #expect(written == 2)
    }
    #expect(try await store.load().map { Array($0.client) } == list)
  }

  @Test func `an insertion without a gap writes few neighbors`() async throws {
    let connection = try SQLiteConnection.makeInMemory()
    let store = Store(connection: connection, name: "a")
    var list = notes(0..<500)
    let pending = push(list, list)
    var written = 0
    for number in 0..<300 {
      list.insert(Note(id: 10_000 + number, text: "new"), at: 250)
      let state = NoteState(
        client: Snapshot(list), shadow: Snapshot(notes(0..<500)),
        push: number > 100 ? pending : nil)
      let rows = try await rows(connection) { try await store.save(state) }
      if number > 0 { written += rows }
      let loaded = try await Store(connection: connection, name: "a").load()
      try #require(loaded.map(StateValue.init) == StateValue(state), "insertion \(number)")
    }
    #expect(written < 300 * 20)
  }

  @Test func `several sessions do not mix`() async throws {
    let names = ["a", "b", "A", "", "é", "e\u{301}", "'; DROP TABLE x; --", "n\0m", "n"]
    do {
      for (number, name) in names.enumerated() {
        let store = try Store(path: path, name: name)
        #expect(try await store.load() == nil)
        try await store.save(NoteState(client: Snapshot(notes(0..<number)), shadow: Snapshot()))
      }
    }
    for (number, name) in names.enumerated() {
      #expect(try await Store(path: path, name: name).load()?.client.count == number)
    }
  }

  @Test func `a save of another store is never overwritten`() async throws {
    let first = try Store(path: path, name: "a")
    let second = try Store(path: path, name: "a")
    let state = NoteState(client: Snapshot(notes(0..<3)), shadow: Snapshot())
    #expect(try await first.load() == nil)
    #expect(try await second.load() == nil)
    try await first.save(state)
    let other = NoteState(client: Snapshot(notes(5..<9)), shadow: Snapshot())
    let error = await storeError { try await second.save(other) }
    #expect(error?.code == .overtaken)
    #expect(error?.place == "session \"a\"")
    // Saves fail until the state is loaded.
    #expect(await storeError { try await second.save(other) }?.code == .overtaken)
    #expect(try await first.load().map(StateValue.init) == StateValue(state))
    _ = try await second.load()
    try await second.save(other)
    #expect(await storeError { try await first.save(state) }?.code == .overtaken)
    // Other sessions are not affected.
    try await Store(path: path, name: "b").save(state)
    try await second.save(state)
  }

  @Test func `a state that was not loaded is never overwritten`() async throws {
    let state = NoteState(client: Snapshot(notes(0..<3)), shadow: Snapshot())
    try await Store(path: path, name: "a").save(state)
    let store = try Store(path: path, name: "a")
    #expect(await storeError { try await store.save(state) }?.code == .notLoaded)
    _ = try await store.load()
    try await store.save(state)
  }

  @Test func `damage is detected`() async throws {
    let pending = push(notes(0..<4), notes(0..<5))
    let state = NoteState(
      client: Snapshot(notes(0..<3)), shadow: Snapshot(notes(0..<4)), version: 3, push: pending)
    let elements = "swappable_sync_elements"
    let sessions = "swappable_sync_sessions"
    let damages: [(String, StoreError.Code)] = [
      ("DELETE FROM \(elements) WHERE id = 2", .damaged),
      ("UPDATE \(elements) SET rank = rank + 1 WHERE id = 2", .damaged),
      ("UPDATE \(elements) SET mark = 0 WHERE mark = 2", .damaged),
      ("UPDATE \(elements) SET mark = 9 WHERE id = 1", .damaged),
      ("UPDATE \(elements) SET element = replace(element, 'note', 'nope')", .damaged),
      ("UPDATE \(elements) SET element = '{' WHERE id = 1", .undecodable),
      ("UPDATE \(elements) SET element = element || ',' || element WHERE id = 1", .undecodable),
      ("UPDATE \(elements) SET element = x'00' WHERE id = 1", .damaged),
      ("UPDATE \(elements) SET list = 1 WHERE id = 1", .damaged),
      ("UPDATE \(sessions) SET header = replace(header, '3', '4')", .damaged),
      ("UPDATE \(sessions) SET header_check = 0", .damaged),
      ("UPDATE swappable_sync_schema SET version = 2", .newer),
      ("DROP TABLE \(elements)", .foreign),
      ("ALTER TABLE \(sessions) RENAME COLUMN header TO head", .foreign),
    ]
    for (sql, code) in damages {
      let connection = try SQLiteConnection.makeInMemory()
      try await Store(connection: connection, name: "a").save(state)
      try connection.execute(sql)
      let store = Store(connection: connection, name: "a")
      let error = await storeError { _ = try await store.load() }
      #expect(error?.code == code, "\(sql): \(error?.description ?? "no error")")
      #expect(await storeError { try await store.save(state) } != nil, "\(sql)")
    }
  }

  @Test func `a removed session begins again`() async throws {
    let connection = try SQLiteConnection(path: path)
    try await Store(connection: connection, name: "a").save(
      NoteState(client: Snapshot(notes(0..<3)), shadow: Snapshot(notes(0..<3))))
    try connection.execute("DELETE FROM swappable_sync_sessions")
    let state = NoteState(client: Snapshot(notes(5..<7)), shadow: Snapshot())
    try await Store(connection: connection, name: "a").save(state)
    let loaded = try await Store(connection: connection, name: "a").load()
    #expect(loaded.map(StateValue.init) == StateValue(state))
  }

  @Test func `a file that is not a database is an error`() async throws {
    try directory.write(String(repeating: "no database at all. ", count: 100), to: "text")
    try directory.makeDirectory("folder")
    let cases: [(String, StoreError.Code)] = [
      (directory("text"), .foreign), (directory("folder"), .notAFile),
    ]
    for (path, code) in cases {
      #expect(await storeError { _ = try Store(path: path, name: "a") }?.code == code)
    }
  }

  @Test func `a failed save keeps the last state, and the next save succeeds`() async throws {
    let connection = try SQLiteConnection(path: path)
    let store = Store(connection: connection, name: "a")
    var list = notes(0..<50)
    try await store.save(NoteState(client: Snapshot(list), shadow: Snapshot()))
    for number in 0..<10 {
      // Simulate a disk that is full in the middle of a save.
      try connection.execute(
        """
        CREATE TRIGGER full BEFORE UPDATE ON swappable_sync_elements
        WHEN new.id = \(number * 5 + 1) BEGIN SELECT RAISE(ABORT, 'no room'); END
        """)
      let before = list
      for offset in list.indices { list[offset].text = "edit \(number)" }
      let state = NoteState(client: Snapshot(list), shadow: Snapshot())
      let error = await storeError { try await store.save(state) }
      #expect(error?.code == .database)
      #expect(error?.description.contains("no room") == true)
      let other = Store(connection: connection, name: "a")
      #expect(try await other.load().map { Array($0.client) } == before)
      try connection.execute("DROP TRIGGER full")
      try await store.save(state)
      #expect(try await store.load().map(StateValue.init) == StateValue(state))
    }
  }
}
