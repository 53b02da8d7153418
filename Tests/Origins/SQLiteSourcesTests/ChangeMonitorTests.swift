import Foundation
import SwappablePrimitives
import TestSupport
import TestTags
import Testing

@testable import SQLiteSources

@Suite struct ChangeMonitorTests {
  private let database: TemporaryDatabase

  init() throws {
    database = try TemporaryDatabase()
  }

  /// Attaches a client, and returns the versions and errors that it finds.
  private func observe(_ monitor: ChangeMonitor) -> (
    number: Int, calls: AsyncStream<Result<DatabaseReader.Version, SQLiteError>>
  ) {
    let (stream, continuation) = AsyncStream<Result<DatabaseReader.Version, SQLiteError>>
      .makeStream()
    let number = monitor.attach { [weak monitor] _ in
      guard let monitor else { return }
      let seen = Result { () throws(SQLiteError) in
        try monitor.version(including: .all, for: nil)
      }
      // The monitor calls again after the writer's lock is released.
      if case .failure(let error) = seen, error.code == .busy { return }
      continuation.yield(seen)
    }
    return (number, stream)
  }

  @Test(.tags(.system), .timeLimit(.minutes(10)), arguments: TemporaryDatabase.Journal.allCases)
  func `the steady check finds a commit of another process`(
    journal: TemporaryDatabase.Journal
  ) async throws {
    _ = try database.writer(journal)
    let helper = try HelperProcess("sql", database.path)
    let monitor = ChangeMonitor(reader: DatabaseReader(path: ByteString(database.path)))
    let (number, calls) = observe(monitor)
    var iterator = calls.makeAsyncIterator()
    var versions = [try await iterator.next()?.get()]
    for turn in 1...5 {
      try helper.run("INSERT INTO item VALUES (\(turn), 'a')")
      while let version = try await iterator.next()?.get() {
        guard version != versions.last else { continue }
        versions.append(version)
        break
      }
    }
    #expect(Set(versions).count == 6)
    monitor.detach(number)
  }

  @Test(.timeLimit(.minutes(10)))
  func `a file that is removed, replaced and created again is followed`() async throws {
    let monitor = ChangeMonitor(reader: DatabaseReader(path: ByteString(database.path)))
    let (number, calls) = observe(monitor)
    var iterator = calls.makeAsyncIterator()
    var seen: [String] = []
    func next(_ wanted: String) async {
      while let call = await iterator.next() {
        let state =
          switch call {
          case .success(let version): "opening \(version.opening)"
          case .failure(let error): "\(error.code)"
          }
        seen.append(state)
        if state == wanted { return }
      }
    }
    await next("missing")
    try database.writer(.delete).close()
    await next("opening 1")
    try FileManager.default.removeItem(atPath: database.path)
    await next("missing")
    let other = try TemporaryDatabase()
    try other.writer(.delete).close()
    try FileManager.default.moveItem(atPath: other.path, toPath: database.path)
    await next("opening 3")
    try other.writer(.delete).close()
    #expect(rename(other.path, database.path) == 0)
    await next("opening 5")
    monitor.detach(number)
  }

  @Test func `only changes that the monitor has found need no check`() throws {
    let memory = try SQLiteConnection.makeInMemory()
    let monitor = ChangeMonitor.shared(connection: memory)
    // Before the first check, nothing is found.
    let empty = try monitor.version(including: .found, for: nil)
    try memory.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
    #expect(try monitor.version(including: .found, for: nil) == empty)
    let created = try monitor.version(including: .ownCommits, for: nil)
    #expect(created != empty)
    #expect(try monitor.version(including: .found, for: nil) == created)
    try memory.execute("INSERT INTO t VALUES (1)")
    #expect(try monitor.version(including: .all, for: nil) != created)
  }

  @Test func `a client is notified of the changes that other clients find`() throws {
    let memory = try SQLiteConnection.makeInMemory()
    let monitor = ChangeMonitor.shared(connection: memory)
    let seen = Shared<[DatabaseChange.Extent]>([])
    let first = monitor.attach { changes in seen.modify { $0.append(changes) } }
    _ = try monitor.version(including: .all, for: first)
    #expect(seen.value.isEmpty)
    try memory.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
    _ = try monitor.version(including: .all, for: nil)
    _ = try monitor.version(including: .all, for: nil)
    #expect(seen.value == [.ownCommits, .found])
    monitor.detach(first)
  }

  @Test(.timeLimit(.minutes(10)))
  func `nothing is left open after the last reference is released`() async throws {
    // In WAL mode, SQLite would keep a closed descriptor while the writer has its lock.
    let writer = try database.writer(.delete)
    let before = try openDescriptors(below: database.directory).count
    var monitor: ChangeMonitor? = ChangeMonitor.shared(path: ByteString(database.path))
    weak let weakMonitor = monitor
    #expect(monitor === ChangeMonitor.shared(connection: writer))
    if let monitor {
      var iterator = observe(monitor).calls.makeAsyncIterator()
      _ = await iterator.next()
      #expect(try openDescriptors(below: database.directory).count > before)
    }
    monitor = nil
    // The monitor's own queue may release it last.
    try await wait(for: "the monitor to be released") { weakMonitor == nil }
    try await wait(for: "the files of the monitor to be closed") {
      try openDescriptors(below: database.directory).count <= before
    }
  }
}
