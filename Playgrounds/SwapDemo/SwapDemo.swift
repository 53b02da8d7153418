import DemoSupport
import Foundation
import Swappable
import TerminalViews

/// A demo of a list whose source is swapped: live in a terminal, or as a fixed course.
@main
struct SwapDemo {
  private static let usage = """
    usage: SwapDemo [--course]

    Shows a live list. The keys 1, 2 and 3 swap its source between an array, a JSON file and a
    SQLite database. The key 4 swaps it to an empty list, which a guard refuses until you press A to accept it or R to
    reject it. The key S changes its order. With --course, or if standard output is not a terminal, it performs a fixed
    sequence of edits and swaps, prints each event, and exits.
    """

  @MainActor
  static func main() async {
    let arguments = CommandLine.arguments.dropFirst()
    if arguments.contains("--help") {
      print(usage)
      return
    }
    if let unknown = arguments.first(where: { $0 != "--course" }) {
      printError("unknown argument \"\(unknown)\"\n\(usage)")
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
      printError("\(error)")
      exit(1)
    }
  }

  /// Shows the live list.
  ///
  /// - Returns: The exit status.
  @MainActor
  private static func show() async throws -> Int32 {
    // Create the screen first. It receives the signals, so each signal removes the directory.
    let screen = try TerminalScreen()
    defer { screen.close() }
    let directory = try TemporaryDirectory("SwapDemo")
    defer { directory.remove() }
    try await LiveView(try Stores(in: directory), screen).run()
    return 0
  }

  /// Performs the course. A signal cancels it.
  ///
  /// - Returns: The exit status.
  @MainActor
  private static func play() async throws -> Int32 {
    // Receive the signals first: each signal removes the directory.
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

  private static func printError(_ message: String) {
    StandardError.write("SwapDemo: \(message)")
  }
}
