import Foundation
import TestSupport
import Testing

/// A view that runs in a terminal of 12 lines.
struct LiveView {
  let terminal: PseudoTerminal
  private let program: Program

  /// Starts a view, and waits until it shows its position in the last line.
  init(_ arguments: [String], columns: Int = 60) throws {
    terminal = try PseudoTerminal(rows: 12, columns: columns)
    program = try Program(
      "livelist", ["view"] + arguments, environment: ["NO_COLOR": nil], terminal: terminal)
    try terminal.wait(until: "the list is drawn") { $0.display.lines[11].contains("1/") }
  }

  var lines: [String] { terminal.display.lines }

  /// The lines at the bottom that a message can take.
  var bottom: String { lines.suffix(4).joined(separator: "\n") }

  func type(_ keys: String) throws { try terminal.type(keys) }

  /// Types keys, and waits until the screen contains a text.
  func type(_ keys: String, until text: String) throws {
    try terminal.type(keys)
    try expect(text)
  }

  /// Waits until the screen contains a text.
  func expect(_ text: String) throws {
    try terminal.wait(until: "\"\(text)\" is shown") { $0.display.text.contains(text) }
  }

  /// Waits until the first lines of the screen begin with texts.
  func expectLines(_ texts: String...) throws {
    try terminal.wait(until: "the lines are \(texts)") {
      zip($0.display.lines, texts).allSatisfy { $0 == $1 }
    }
  }

  func quit() throws {
    try terminal.type("q")
    #expect(try program.waitForEnd() == 0)
    #expect(try terminal.leftovers.isEmpty)
    #expect(terminal.display.complaints.isEmpty, "\(terminal.display.complaints)")
  }
}
