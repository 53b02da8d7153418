import DemoSupport
import Foundation
import Swappable
import TerminalViews

/// A list that stays while its source is exchanged: live in a terminal, otherwise a fixed course.
@main
struct SwapDemo {
  private static let usage = """
    usage: SwapDemo [--course]

    Shows a live list that is held three ways, and swaps between them by the keys 1, 2 and 3.
    With --course, or where the output is no terminal, it plays a fixed course and ends.
    """

  @MainActor
  static func main() async {
    let arguments = CommandLine.arguments.dropFirst()
    if arguments.contains("--help") {
      print(usage)
      return
    }
    if let unknown = arguments.first(where: { $0 != "--course" }) {
      complain("unknown argument \(unknown)\n\(usage)")
      exit(2)
    }
    do {
      let isLive = arguments.isEmpty && TerminalCapabilities.current != .none
      exit(try await isLive ? show() : play())
    } catch let error as TerminalError where error.isReaderGone {
      exit(0)
    } catch let error as POSIXError where error.code == .EPIPE || error.code == .EIO {
      exit(0)
    } catch {
      complain("\(error)")
      exit(1)
    }
  }

  /// Shows the live list.
  ///
  /// - Returns: The exit status.
  @MainActor
  private static func show() async throws -> Int32 {
    // First, as it takes the signals: the directory is removed whenever one comes.
    let screen = try TerminalScreen()
    defer { screen.close() }
    let directory = try TemporaryDirectory("SwapDemo")
    defer { directory.remove() }
    try await LiveView(try Stores(in: directory), screen).run()
    return 0
  }

  /// Plays the course, and gives it up at a signal.
  ///
  /// - Returns: The exit status.
  @MainActor
  private static func play() async throws -> Int32 {
    // First, as above.
    let signals = try TerminalSignals([.interrupt, .terminate, .hangup])
    defer { withExtendedLifetime(signals) {} }
    let directory = try TemporaryDirectory("SwapDemo")
    defer { directory.remove() }
    let stores = try Stores(in: directory)
    let course = Task.detached {
      var course = Course(stores, say: StandardOutput.write)
      try await course.play()
    }
    let watching = Task { () -> TerminalSignals.Signal? in
      for await signal in signals.signals {
        course.cancel()
        return signal
      }
      return nil
    }
    defer { watching.cancel() }
    do {
      try await course.value
    } catch is CancellationError {
      watching.cancel()
      return 128 + (await watching.value ?? .terminate).number
    }
    return 0
  }

  private static func complain(_ message: String) {
    FileHandle.standardError.write(Data("SwapDemo: \(message)\n".utf8))
  }
}
