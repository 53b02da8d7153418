import Diffing
import Foundation
import ObservableCollections
import ReactiveSignals
import SwappableSources
import TerminalViews
import TestSupport
import TestTags
import Testing

/// The code of the guide "Show a list in a terminal".
@Suite(.tags(.system), .timeLimit(.minutes(10))) struct TerminalListsGuideTests {
  @Test func `the program in the guide is the program of the test helper`() throws {
    let guide = try Guide("TerminalLists")
    #expect(guide.code.count == 9)
    let file = try Guide.package().appendingPathComponent(
      "Tests/Support/TestHelper/TodosCommand.swift")
    let code = try String(contentsOf: file, encoding: .utf8)
    let missing = try Set(guide.paragraphs(missingIn: file.path))
      .intersection(guide.paragraphs(missingIn: #filePath))
    // The test helper has its own entry point.
    let program = try #require(missing.first)
    #expect(missing.count == 1 && program.hasPrefix("@main\n"))
    #expect(code.contains(program.dropFirst("@main\n".count)))
  }

  private struct Todo: Hashable, Identifiable, Differentiable {
    let id: Int
    var title: String
  }

  /// A screen that records its frames.
  @MainActor private final class Screen {
    let size = TerminalSize(rows: 8, columns: 40)
    let (frames, recorder) = AsyncStream<TerminalFrame>.makeStream()

    func show(_ frame: TerminalFrame) { recorder.yield(frame) }
  }

  @Test @MainActor func `a search and a swap show the expected rows`() async {
    let (screen, columns) = (Screen(), Self.columns)
    let draft = ArrayDataSource([Todo(id: 1, title: "Write"), Todo(id: 2, title: "Test")])
    let file = ArrayDataSource([Todo(id: 2, title: "Test"), Todo(id: 3, title: "Rest")])
    let source = SwappableContainer<Todo>(draft)
    let (text, isSearching) = (Property(""), Property(false))
    let found = source.filter(by: text) { $1.isEmpty || $0.title.contains($1) }
    let list = TerminalListView(found, columns: columns) { list in
      let search = isSearching.value ? TerminalLine("/" + text.value) : nil
      screen.show(list.frame(for: screen.size, status: search, cursorColumn: search?.width))
    }

    @MainActor func press(_ key: TerminalKey) {
      switch key {
      case .character("/") where !isSearching.value: isSearching.value = true
      case .character(let letter) where isSearching.value: text.value.append(letter)
      case .pasted(let words) where isSearching.value: text.value += words
      case .backspace where isSearching.value: text.value = String(text.value.dropLast())
      case .enter: isSearching.value = false
      case .escape: (text.value, isSearching.value) = ("", false)
      case .function(1): source.swap(to: draft)
      case .function(2): source.swap(to: file)
      default: list.press(key)
      }
    }

    let question = Property<Todo?>(nil)

    @MainActor func act(on key: TerminalKey) {
      if let todo = question.value {
        if key == .character("y") { draft.remove(identifiedBy: todo.id) }
        question.value = nil
      } else if key == .delete {
        question.value = list.selectedElement
      } else {
        press(key)
      }
    }

    func titles(after key: TerminalKey) -> [String] {
      press(key)
      return found.snapshot.map(\.title)
    }
    #expect(titles(after: .character("s")) == ["Write", "Test"])
    #expect(titles(after: .character("/")) == ["Write", "Test"])
    #expect(titles(after: .character("s")) == ["Test"])
    for await frame in screen.frames where frame.cursor != nil {
      #expect(frame.cursor?.row == 7 && frame.cursor?.column == 2)
      #expect(frame.lines.last?.text.hasPrefix("/s ") == true)
      break
    }
    #expect(titles(after: .function(2)) == ["Test", "Rest"])
    #expect(titles(after: .character("x")) == [])
    #expect(titles(after: .backspace) == ["Test", "Rest"])
    #expect(titles(after: .down) == ["Test", "Rest"])
    #expect(titles(after: .function(1)) == ["Test"])
    #expect(titles(after: .enter) == ["Test"])
    #expect(titles(after: .backspace) == ["Test"])
    #expect(titles(after: .escape) == ["Write", "Test"])
    // Keys that arrive at once act on the rows of the keys before them.
    let keys: [TerminalKey] = [
      .character("/"), .pasted("Te"), .enter, .delete, .character("y"), .escape,
    ]
    for key in keys { act(on: key) }
    #expect(draft.snapshot.map(\.title) == ["Write"])
    for key in [TerminalKey.delete, .character("n")] { act(on: key) }
    #expect(draft.snapshot.map(\.title) == ["Write"])
    withExtendedLifetime(list) {}
  }

  @Test func `sections are shown with headers`() throws {
    let todos = ArrayDataSource([
      Todo(id: 3, title: "Call"), Todo(id: 1, title: "Cook"), Todo(id: 2, title: "Rest"),
    ])
    let rows = todos.sections(by: { $0.title.prefix(1) }, order: .ascending { $0 }).rows()
    var state = TerminalListState(columns: Self.columns) { (letter: Substring, count: Int) in
      "\(letter) (\(count))"
    }
    state.resize(to: TerminalSize(rows: 6, columns: 40), hasStatus: false)
    state.apply(.initial(rows.snapshot, revision: 0))
    state.select(2)
    let lines = state.frame().lines.map { line in
      String(line.text.reversed().drop { $0 == " " }.reversed())
    }
    #expect(try lines == Guide("TerminalLists").output)
  }

  private static let columns = [
    TerminalColumn<Todo>("No.", alignment: .trailing) { "\($0.id)" },
    TerminalColumn("Title") { $0.title },
  ]

  /// This code of the guide is compiled but not run, because it needs a terminal.
  @MainActor private func showSections(
    _ todos: ArrayDataSource<Todo>, _ columns: [TerminalColumn<Todo>], _ screen: TerminalScreen
  ) {
    let rows = todos.sections(by: { $0.title.prefix(1) }, order: .ascending { $0 }).rows()
    let sections = TerminalListView(rows, columns: columns, header: { "\($0) (\($1))" }) { view in
      screen.show(view.frame(for: screen.size))
    }
    withExtendedLifetime(sections) {}
  }

  /// This code of the guide is compiled but not run, because it needs a terminal.
  @MainActor private func showRanking(
    _ todos: ArrayDataSource<Todo>, _ columns: [TerminalColumn<Todo>], _ screen: TerminalScreen
  ) {
    let ranking = TerminalListView(todos, columns: columns, markDuration: .zero) { view in
      screen.show(view.frame(for: screen.size))
    }
    ranking.staysAtTop = true
    withExtendedLifetime(ranking) {}
  }

  /// This code of the guide is compiled but not run, because it needs a terminal.
  @MainActor private func showMessages(
    _ todos: ArrayDataSource<Todo>, _ found: LiveCollection<Todo>,
    _ columns: [TerminalColumn<Todo>], _ screen: TerminalScreen
  ) {
    let message = Property("q quits")
    let tasks = TerminalListView(todos, columns: columns) { tasks in
      let size = screen.size
      let rows = tasks.lines(for: TerminalSize(rows: size.rows - 1, columns: size.columns))
      let status = TerminalLine("\(message.value), \(tasks.position), \(found.count) found")
      screen.show(TerminalFrame(size: size, lines: rows + [status]))
    }
    message.value = "1 task was added"
    withExtendedLifetime(tasks) {}
  }

  @Test func `a column has a color for some elements`() {
    let urgent = TerminalColumn<Todo>(
      "Title", style: { TerminalStyle(foreground: $0.title.hasSuffix("!") ? .red : nil) }
    ) { $0.title }
    #expect(urgent.style(Todo(id: 1, title: "Write!")).foreground == .red)
    #expect(urgent.style(Todo(id: 1, title: "Write")) == .plain)
  }

  @Test func `plain lines replace frames if the output is not a terminal`() async throws {
    let todos = ArrayDataSource([Todo(id: 1, title: "Cook"), Todo(id: 12, title: "Rest")])
    let (print, columns) = (Printed(), Self.columns)
    func show() async throws {
      if TerminalCapabilities.current == .none {
        var state = TerminalListState(columns: columns)
        state.apply(.initial(try await todos.loaded(), revision: 0))
        return state.writePlainLines { print($0) }
      }
    }
    try await show()
    #expect(
      TerminalCapabilities.current != .none
        || print.lines == ["No.  Title", "  1  Cook", " 12  Rest"])
  }

  @Test func `the program prints one line if there is no terminal`() throws {
    let null = try #require(FileHandle(forUpdatingAtPath: "/dev/null"))
    let output = Pipe()
    let program = try Program(
      "TestHelper", ["todos", "tasks.json"], input: null, output: output.fileHandleForWriting)
    try output.fileHandleForWriting.close()
    let text = String(
      decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    #expect(text.hasPrefix("cannot open /dev/tty"))
    #expect(text.split(separator: "\n").count == 1)
    #expect(try program.waitForEnd() == 1)
  }

  /// This code of the guide is compiled but not run, because it needs a terminal.
  @MainActor private func drawLinesAround(
    _ list: TerminalListView<Todo>, _ screen: TerminalScreen
  ) {
    let title = [TerminalLine("Tasks", TerminalStyle(isBold: true)), TerminalLine()]
    let rest = TerminalSize(rows: screen.size.rows - title.count, columns: screen.size.columns)
    screen.show(TerminalFrame(size: screen.size, lines: title + list.lines(for: rest)))
  }

  @Test func `the program shows a saved file and restores the terminal`() throws {
    let terminal = try PseudoTerminal(rows: 8, columns: 40)
    let modes = try terminal.modes
    let directory = try TemporaryDirectory()
    let file = directory("tasks.json")
    func save(_ todos: String) throws {
      try Data(todos.utf8).write(to: URL(fileURLWithPath: file), options: .atomic)
    }
    try save(#"[{"id": 1, "title": "Write"}, {"id": 2, "title": "Test"}]"#)
    let program = try Program("TestHelper", ["todos", file], terminal: terminal)
    func expect(_ lines: [String]) throws {
      try terminal.wait(until: "\(lines) is shown") { Array($0.display.lines.prefix(4)) == lines }
    }
    try expect(["  No.  Title", ">   1  Write", "    2  Test", ""])
    #expect(terminal.display.lines.last == "↑ ↓ move, q quits")
    try terminal.type("\u{1B}[B")
    try expect(["  No.  Title", "    1  Write", ">   2  Test", ""])
    try save(
      #"[{"id": 3, "title": "漢字"}, {"id": 2, "title": "Test"}, {"id": 1, "title": "Write"}]"#)
    // Either of two rows that change places may be marked.
    try terminal.wait(until: "the saved rows are shown") {
      $0.display.text.contains("漢字") && $0.display.lines[2].hasPrefix(">")
        && $0.display.lines[2].hasSuffix("2  Test")
    }
    try save(#"[{"id": 3,"#)
    try terminal.wait(until: "the last lines show the error") {
      $0.display.lines.contains { $0.hasPrefix("cannot read") }
    }
    try terminal.type("q")
    #expect(try program.waitForEnd() == 0)
    try terminal.readRest()
    #expect(try terminal.modes == modes)
    #expect(!terminal.display.isAlternate && terminal.display.isCursorShown)
    #expect(terminal.display.complaints.isEmpty)
  }
}
