import Foundation
import SQLiteSources
import Swappable
import SynchronizerStores
import Synchronizers
import TestSupport
import Testing

/// The code of the README, whose comments stand in columns.
// swift-format-ignore
@Suite struct ReadmeTests {
  struct Todo: Codable, Hashable, Identifiable, Sendable, Differentiable {
    var id: Int
    var title: String
  }

  @Test func itsCodeIsWhatIsCompiledHere() throws {
    let readme = try Guide("README", in: ".")
    #expect(readme.code.count == 4)
    let missing = try readme.paragraphs(missingIn: #filePath)
    #expect(missing.count == 2)
    #expect(
      missing.allSatisfy { $0.hasPrefix("// swift-tools-version") || $0.hasPrefix("let package") })
  }

  @Test func itsLinksLeadSomewhere() throws {
    let package = try Guide.package()
    let text = try Guide("README", in: ".").lines.joined(separator: "\n")
    let links = text.matches(of: /\]\(([^)#]+)\)/).map { String($0.1) }
    #expect(links.count > 10)
    for link in links where !link.contains("://") {
      let path = package.appendingPathComponent(link).path
      #expect(FileManager.default.fileExists(atPath: path), "\(link)")
    }
  }

  @Test func bindingAndSwapping() async {
    let print = Printed()
    let draft = ArrayDataSource([Todo(id: 1, title: "Write"), Todo(id: 2, title: "Test")])
    let saved = JSONFileDataSource<Todo>(path: "tasks.json")
    let container = SwappableContainer<Todo>(draft)

    let observation = container.sorted { $0.title < $1.title }.observe { event in
      switch event {
      case .initial(let tasks, _): print("at first", tasks.map(\.title))
      case .change(let change): for step in change.patch.steps { print(step) }
      }
    }
    draft.append(Todo(id: 3, title: "Ship"))   // one insert
    let swap = container.swap(to: saved)       // what differs, once the file is read
    print(await swap.outcome)                  // "swapped", or why the draft is still shown
    observation.dispose()
    #expect(print.lines.first == #"at first ["Test", "Write"]"#)
    #expect(print.lines.count == 3)
    #expect(print.lines.last?.contains("tasks.json") == true)
  }

  /// Compiled, and not run: it would make a database where the tests are started.
  private func serving() async throws {
    func publish(_ todos: [Todo]) async {}
    let database = try SQLiteConnection(path: "shop.db")
    try database.execute(
      "CREATE TABLE IF NOT EXISTS tasks (id INTEGER PRIMARY KEY, title TEXT, done INTEGER)")
    let open = try SQLiteDataSource(
      connection: database, sql: "SELECT id, title FROM tasks WHERE done = ? ORDER BY id",
      arguments: [0]
    ) { row in Todo(id: try row.value("id"), title: try row.value("title")) }

    for await event in open.events() {         // initial, then changes: of this connection, of others,
      guard case .change(let change) = event else { continue }   // and of other processes
      await publish(change.inserted.map { $0.element })         // slow is fine: what comes meanwhile
    }                                                            // waits as one change
  }

  @Test func keepingInStep() async throws {
    let server = InMemoryRemote([Todo(id: 1, title: "Write")])
    let directory = try TemporaryDirectory()
    let store = try FileSynchronizationStore<Todo, Int>(path: directory("state.json"))
    let todo = Todo(id: 2, title: "Test")
    let session = try await SynchronizationSession(remote: server, store: store)   // a remote is two methods
    session.client.append(todo)                  // online or not; a data source like any other
    try await session.synchronize()              // merged, pushed, saved: one change for whoever observes
    #expect(Set(server.contents.snapshot.map(\.id)) == [1, 2])
  }
}
