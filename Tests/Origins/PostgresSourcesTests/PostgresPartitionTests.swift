import DataSourceTesting
import ObservableCollections
import PostgresSources
import TestSupport
import TestTags
import Testing

@Suite(.tags(.system), .requiresPostgres, .timeLimit(.minutes(10))) struct PostgresPartitionTests {
  @Test(arguments: [true, false])
  func `a query of a partition or child sees writes to its parent`(isPartition: Bool) async throws {
    let database = try await TestDatabase(
      isPartition
        ? """
        CREATE TABLE item (id integer PRIMARY KEY, title text NOT NULL) PARTITION BY LIST (id);
        CREATE TABLE item_1 PARTITION OF item DEFAULT
        """
        : """
        CREATE TABLE item (id integer, title text PRIMARY KEY);
        CREATE TABLE item_1 (PRIMARY KEY (id)) INHERITS (item)
        """)
    try await database.connection.installChangeTriggers(on: ["item"])
    let hour = Duration.seconds(3600)
    let source = try PostgresDataSource(
      pool: try database.makePool(polling: hour, safety: hour),
      sql: "SELECT id, title FROM item_1 ORDER BY id"
    ) { try Item($0) }
    let recorder = SourceRecorder(source)
    try await recorder.wait(for: [])
    let explanation = try await source.explainQuery()
    #expect(explanation.mode == (isPartition ? .keyed : .refetch))
    #expect(explanation.relations == ["item_1"])
    try await database.connection.execute(
      "INSERT INTO \(isPartition ? "item" : "item_1") VALUES (1, 'a'), (2, 'b')")
    try await recorder.wait(for: [Item(id: 1, title: "a"), Item(id: 2, title: "b")])
    try await database.connection.execute("UPDATE item SET title = 'c' WHERE id = 1")
    try await recorder.wait(for: [Item(id: 1, title: "c"), Item(id: 2, title: "b")])
    try await database.connection.execute("DELETE FROM item WHERE id = 2")
    let record = try await recorder.wait(for: [Item(id: 1, title: "c")])
    #expect(record.violations.isEmpty)
  }
}
