import DataSourceTesting
import Diffing
import ObservableCollections
import SwappableSources
import TerminalViews
import TestSupport
import Testing

/// The number of bytes that a list of 50 visible rows sends to the terminal.
@Suite struct TerminalListBytesTests {
  private static let size = TerminalSize(rows: 52, columns: 120)
  private let source = ArrayDataSource((0..<1000).map { TestElement(1000 + $0, 7) })
  private var state = TerminalListState<TestElement>(
    columns: [
      TerminalColumn("Key", alignment: .trailing) { "\($0.id)" },
      TerminalColumn("Name") { "the name of \($0.id)" },
      TerminalColumn("Content") { "a content that takes some room: \($0.content)" },
    ])
  private var writer = FrameWriter()
  private var display = TerminalModel(rows: 52, columns: 120)

  init() {
    state.resize(to: Self.size)
    state.apply(.initial(source.snapshot, revision: 0))
    state.select(500)
    display.show("\u{1B}[?7l")
    draw()
  }

  /// Draws the current state, and checks that the terminal shows it.
  ///
  /// - Returns: The number of bytes sent.
  @discardableResult
  private mutating func draw(sourceLocation: SourceLocation = #_sourceLocation) -> Int {
    let position = state.selection.map { "\($0 + 1)/\(state.contents.count)" } ?? ""
    let frame = state.frame(
      status: TerminalLine("the source \(position)", TerminalStyle(isReversed: true)))
    let bytes = writer.bytes(for: frame)
    display.show(bytes)
    let expected = frame.lines.map { line in
      var text = line.text[...]
      while text.last == " " { text.removeLast() }
      return String(text)
    }
    #expect(display.lines == expected, sourceLocation: sourceLocation)
    #expect(display.complaints.isEmpty, sourceLocation: sourceLocation)
    return bytes.count
  }

  /// Edits the source, and applies the change to the list.
  private mutating func edit(_ body: (ArrayDataSource<TestElement>) -> Void) {
    let before = (source.snapshot, source.revision)
    body(source)
    state.apply(
      .change(
        CollectionChange(
          before: before.0, after: source.snapshot, revisionBefore: before.1,
          revision: source.revision,
          changeset: Changeset(from: before.0, to: source.snapshot))))
  }

  @Test mutating func `nothing is sent while nothing visible changes`() {
    for _ in 0..<3 { #expect(draw() == 0) }
    // A change of an invisible row does not change the screen.
    edit { $0.update(at: 20) { $0.content = 8 } }
    #expect(draw() == 0)
  }

  @Test mutating func `a changed row takes few bytes`() {
    for content in 0..<20 {
      edit { $0.update(at: 490 - content) { $0.content = content } }
      #expect(draw() < 200)
      state.expireMarks(at: .seconds(100))
      #expect(draw() < 200)
    }
  }

  @Test mutating func `an inserted row that scrolls takes few bytes`() {
    for step in 0..<20 {
      edit { $0.insert(TestElement(2000 + step, 7), at: step.isMultiple(of: 2) ? 480 : 510) }
      #expect(draw() < 300)
      state.expireMarks(at: .seconds(100))
      #expect(draw() < 200)
    }
  }

  @Test mutating func `a deleted or moved row takes few bytes`() {
    for step in 0..<20 {
      edit { _ = $0.remove(at: 485) }
      #expect(draw() < 300)
      edit { $0.move(from: 470 + step / 2, to: 478) }
      #expect(draw() < 300)
      state.expireMarks(at: .seconds(100))
      draw()
    }
  }

  @Test mutating func `scrolling by a row takes few bytes`() {
    for _ in 0..<100 {
      state.perform(.down)
      #expect(draw() < 300)
    }
  }
}
