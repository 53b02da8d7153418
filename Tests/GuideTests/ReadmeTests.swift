import Foundation
import Swappable
import TestSupport
import Testing

/// The code of the README. `.ci/links.swift` checks its links.
@Suite(.timeLimit(.minutes(10))) struct ReadmeTests {
  struct Todo: Codable, Hashable, Identifiable, Sendable, Differentiable {
    let id: Int
    var title: String
  }

  /// Reads a file in the folder of the test. The program of the README reads it in the present folder.
  private final class JSONFileDataSource<Element>: DataSource
  where Element: Differentiable & Sendable & Decodable {
    private let file: Swappable.JSONFileDataSource<Element>

    init(path: String) {
      file = Swappable.JSONFileDataSource(path: ReadmeTests.$folder.get() + path)
    }

    var collection: LiveCollection<Element> { file.collection }
    func start() { file.start() }
  }

  @TaskLocal private static var folder = ""

  @Test func `the README's code is compiled here`() throws {
    let readme = try Guide("README", in: ".")
    #expect(readme.code.count == 2)
    let missing = try readme.paragraphs(missingIn: #filePath)
    #expect(missing.count == 2)
    #expect(
      missing.allSatisfy { $0.hasPrefix("// swift-tools-version") || $0.hasPrefix("let package") })
  }

  @Test func `the README has at most 120 lines of at most 120 columns`() throws {
    let lines = try Guide("README", in: ".").lines
    #expect(lines.count <= 121)
    #expect(lines.filter { $0.count > 120 } == [])
  }

  @Test func `the README lists ten pages to read on`() throws {
    let lines = try Guide("README", in: ".").lines
    let list = try #require(lines.firstIndex(of: "## Read on"))
    #expect(lines[list...].filter { $0.firstMatch(of: /^[0-9]+\. \[/) != nil }.count == 10)
  }

  @Test func `the program prints what the README says`() async throws {
    let directory = try TemporaryDirectory()
    let readme = try Guide("README", in: ".")
    let echo = try #require(readme.lines.first { $0.hasPrefix("echo '") })
    let json = echo.dropFirst("echo '".count).prefix { $0 != "'" }
    try directory.write(String(json), to: "todos.json")
    await ReadmeTests.$folder.withValue(directory("")) {
      let print = Printed()
      let draft = ArrayDataSource([
        Todo(id: 1, title: "Write"), Todo(id: 2, title: "Test"), Todo(id: 3, title: "Ship"),
      ])
      let list = SwappableContainer<Todo>(draft)
      let observation = list.observe { event in
        switch event {
        case .initial(let contents, _): print("initial:", contents.map(\.title))
        case .change(let change): print(change)
        }
      }
      let file = JSONFileDataSource<Todo>(path: "todos.json")
      print(await list.swap(to: file).outcome)
      observation.dispose()
      #expect(print.lines.flatMap { $0.components(separatedBy: "\n") } == readme.output)
    }
  }
}
