import Dispatch
import Foundation
import TerminalViews

/// `screen [fail]`: shows the size, and the last key or signal, until `q` is pressed or a signal
/// ends it.
///
/// With `fail`, it ends with an error.
func runScreenCommand(_ arguments: [String]) -> Int32 {
  let status = Outcome()
  Task { @Sendable in
    do {
      try await Screen().run(fails: arguments.first == "fail")
      status.end(with: 0)
    } catch {
      FileHandle.standardError.write(Data("error: \(error)\n".utf8))
      status.end(with: 1)
    }
  }
  return status.wait()
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

/// The result of a task, which the main thread waits for.
private final class Outcome: @unchecked Sendable {
  // Sendable: written once before the semaphore is signaled, and read once afterwards.
  private var status: Int32 = 0
  private let hasEnded = DispatchSemaphore(value: 0)

  func end(with status: Int32) {
    self.status = status
    hasEnded.signal()
  }

  func wait() -> Int32 {
    hasEnded.wait()
    return status
  }
}

private struct Screen {
  private enum Event: Sendable {
    case key(TerminalKey)
    case signal(TerminalSignals.Signal)
    case end
  }

  struct RequestedError: Error {}

  func run(fails: Bool) async throws {
    let signals = try TerminalSignals()
    let terminal = try Terminal()
    try terminal.enter()
    defer { terminal.leave() }
    let (events, send) = AsyncStream<Event>.makeStream()
    let readings = [
      Task {
        for await key in terminal.keys() { send.yield(.key(key)) }
        send.yield(.end)
      },
      Task { for await signal in signals.signals { send.yield(.signal(signal)) } },
    ]
    defer { for reading in readings { reading.cancel() } }

    var writer = FrameWriter(isColorless: TerminalCapabilities.current == .colorless)
    var last = "nothing"
    func draw() throws {
      let size = terminal.size
      var lines = [
        TerminalLine("\(size.rows) rows of \(size.columns)", TerminalStyle(foreground: .red))
      ]
      lines.append(TerminalLine(last))
      lines += Array(repeating: TerminalLine("filling"), count: max(0, size.rows - 2))
      try terminal.write(writer.bytes(for: TerminalFrame(size: size, lines: lines)))
    }
    try draw()
    if fails { throw RequestedError() }
    for await event in events {
      switch event {
      case .end, .key(.character("q")): return
      case .key(.control("z")), .signal(.suspend):
        try terminal.suspend()
        writer.forget()
      case .key(let key): last = "key \(key)"
      case .signal(.resume):
        try terminal.enter()
        writer.forget()
        last = "resumed"
      case .signal(let signal):
        if signal.isEnd { return }
        last = "signal \(signal)"
      }
      try draw()
    }
  }
}
