import Foundation
import Swappable
import TestSupport
import Testing

/// The code of the guide "JSON files".
@Suite(.timeLimit(.minutes(10))) struct JSONFilesGuideTests {
  struct Person: Codable, Hashable, Identifiable, Sendable, Differentiable {
    let id: Int
    var name: String
  }

  struct Item: Codable, Hashable, Identifiable, Sendable, Differentiable {
    let id: Int
    var name: String
    var price: Double?
  }

  private let print = Printed()

  @Test func `the guide's code is compiled here`() throws {
    let guide = try Guide("JSONFiles")
    #expect(guide.code.count == 7)
    #expect(try guide.paragraphs(missingIn: #filePath) == [])
  }

  func follow(_ path: String) async throws {
    let people = JSONFileDataSource<Person>(path: path)
    try await people.loaded()
    let statuses = people.observeStatus { status in
      if let error = status.error { print(error.message) }
    }
    for await event in people.events() {
      switch event {
      case .initial(let contents, _): print("at first:", contents.map(\.name))
      case .change(let change): print(change)
      }
    }
    statuses.dispose()
  }

  /// The start of the program. The test has a file of its own.
  private func program() async {
    do {
      try await follow("people.json")
    } catch {
      print(error)
    }
  }

  @Test func `the program prints what the guide says`() async throws {
    let guide = try Guide("JSONFiles")
    let saves = guide.lines.filter { $0.hasPrefix("echo '") }
      .map { $0.dropFirst("echo '".count).prefix { $0 != "'" } + "\n" }
    #expect(saves.count == 4)
    let directory = try TemporaryDirectory()
    func lines() -> [String] {
      print.lines.flatMap { $0.components(separatedBy: "\n") }
        .map { $0.replacing(directory.path, with: "…") }
    }
    // A writer that is held up between emptying and writing the file would cause another error.
    func save(_ text: some StringProtocol) throws {
      let file = URL(fileURLWithPath: directory("people.json"))
      try Data(text.utf8).write(to: file, options: .atomic)
    }
    try save(saves[0])
    let program = Task { try await follow(directory("people.json")) }
    // Each save is a change or an error before the next one.
    for (text, count) in zip(saves.dropFirst(), [1, 4, 5]) {
      try await wait(for: "\(count) lines") { lines().count >= count }
      try save(text)
    }
    try await wait(for: "the last change") { lines().count >= guide.output.count }
    program.cancel()
    try await program.value
    #expect(lines() == guide.output)
  }

  func rename(_ id: Int, to name: String, in file: URL) throws {
    var people = try JSONDecoder().decode([Person].self, from: Data(contentsOf: file))
    guard let offset = people.firstIndex(where: { $0.id == id }) else { return }
    people[offset].name = name
    try JSONEncoder().encode(people).write(to: file, options: .atomic)
  }

  @Test func `an edit begins with the file, and leaves a malformed one`() async throws {
    let directory = try TemporaryDirectory()
    let file = URL(fileURLWithPath: directory("people.json"))
    try Data(#"[{"id": 1, "name": "Ada"}, {"id": 2, "name": "Grace"}]"#.utf8).write(to: file)
    try rename(2, to: "Grace H.", in: file)
    try rename(3, to: "Nobody", in: file)
    let people = JSONFileDataSource<Person>(path: file.path)
    #expect(try await people.loaded().map(\.name) == ["Ada", "Grace H."])
    let malformed = Data(#"[{"id": 1,"#.utf8)
    try malformed.write(to: file)
    #expect(throws: (any Error).self) { try rename(1, to: "Ada L.", in: file) }
    #expect(try Data(contentsOf: file) == malformed)
  }

  @Test func `the rows of CSV are what the guide says`() async throws {
    let text = try Guide("JSONFiles").lines.drop { $0 != "id,name,price,note" }
      .prefix { $0 != "```" }.joined(separator: "\n")
    let directory = try TemporaryDirectory()
    try directory.write(text, to: "stock.csv")
    let items = CSVFileDataSource<Item>(path: directory("stock.csv"))
    #expect(
      Array(try await items.loaded()) == [
        Item(id: 7, name: "Lamp, red", price: 19.9), Item(id: 8, name: "Chair", price: nil),
      ])
    let rows = CSVFileDataSource(path: directory("stock.csv"), key: "id")
    #expect(
      "\(try await rows.loaded()[0])"
        == #"{"id":"7","name":"Lamp, red","price":"19.90","note":""}"#)
  }

  @Test func `sources of files are idle when they are created`() {
    let items = CSVFileDataSource<Item>(path: "stock.csv")
    let rows = CSVFileDataSource(path: "stock.csv", key: "id")  // {"id":"7","name":"Lamp, red",…
    let export = CSVFileDataSource(path: "export.tsv", delimiter: "\t", key: "id", hasNumbers: true)
    let entries = JSONLinesDataSource<Person>(path: "people.jsonl")
    let anything = JSONFileDataSource(path: "any.json", key: "id")  // JSON elements
    let names = JSONLinesDataSource<String>(path: "names.jsonl") { $0["name"]?.string ?? "" }
    let payments = JSONLinesDataSource<Person>(path: "payments.jsonl", isStrict: true)
    let services = JSONFileDataSource<Person>.files(matching: "conf.d/*.json")
    let log = JSONLinesDataSource<Person>(path: "service.jsonl", rotation: .keep(last: 1_000))
    #expect(
      [
        entries.status, anything.status, names.status, payments.status, log.status, items.status,
        rows.status, export.status,
      ] == Array(repeating: .idle, count: 8))
    // It is made from another list, so it reads.
    #expect([.loading, .loaded].contains(services.status.state))
  }
}
