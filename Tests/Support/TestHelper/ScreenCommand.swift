import Dispatch
import Foundation
import TerminalViews

/// `screen [fail | PATH]`: shows the size, and the last key or `resized`, until `q` is pressed or a
/// signal ends it.
///
/// With `fail`, it ends with an error. The key `f` shows a thousand frames, and then writes to the
/// pipe at the path. The key `t` is a trap.
func runScreenCommand(_ arguments: [String]) -> Int32 {
  Task { @MainActor in
    do {
      try await showScreen(arguments.first)
      exitHelper(0)
    } catch {
      FileHandle.standardError.write(Data("error: \(error)\n".utf8))
      exitHelper(1)
    }
  }
  dispatchMain()
}

/// `closed`: shows a frame, closes the screen, and then calls its other methods.
func runClosedCommand(_: [String]) -> Int32 {
  Task { @MainActor in
    do {
      let screen = try TerminalScreen()
      let size = screen.size
      screen.show(TerminalFrame(size: size, lines: [TerminalLine("open")]))
      screen.close()
      screen.suspend()
      screen.redraw()
      screen.show(TerminalFrame(size: size, lines: [TerminalLine("late")]))
      exitHelper(0)
    } catch {
      exitHelper(1)
    }
  }
  dispatchMain()
}

@MainActor
private func showScreen(_ argument: String?) async throws {
  struct RequestedError: Error {}

  let screen = try TerminalScreen()
  defer { screen.close() }
  var last = "nothing"
  func draw() {
    let size = screen.size
    var lines = [
      TerminalLine("\(size.rows) rows of \(size.columns)", TerminalStyle(foreground: .red))
    ]
    lines.append(TerminalLine(last))
    lines += Array(repeating: TerminalLine("filling"), count: max(0, size.rows - 2))
    screen.show(TerminalFrame(size: size, lines: lines))
  }
  draw()
  if argument == "fail" { throw RequestedError() }
  for await input in screen.inputs {
    switch input {
    case .ended, .key(.character("q")): return
    case .key(.control("z")): screen.suspend()
    case .key(.character("t")): preconditionFailure("the user requested a trap")
    case .key(.character("f")):
      for number in 1...1000 {
        last = "frame \(number)"
        draw()
        screen.redraw()
      }
      if let argument { try FileHandle(forWritingAtPath: argument)?.write(contentsOf: Data([0])) }
    case .key(let key): last = "key \(key)"
    case .resized: last = "resized"
    }
    draw()
  }
}
