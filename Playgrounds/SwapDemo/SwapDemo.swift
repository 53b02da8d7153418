import Foundation
import Swappable

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
      // First, so that the directory is removed whenever a signal comes.
      let signals = try Signals()
      let directory = try TemporaryDirectory()
      let status: Int32
      do {
        defer { directory.remove() }
        let stores = try Stores(in: directory)
        if arguments.isEmpty, Terminal.isOutput {
          try await LiveView.run(stores, signals)
          status = 0
        } else {
          status = try await play(stores, signals)
        }
      }
      exit(status)
    } catch let error as Terminal.Failure where error.isReaderGone {
      exit(0)
    } catch {
      complain("\(error)")
      exit(1)
    }
  }

  /// Plays the course, and gives it up at a signal.
  ///
  /// - Returns: The exit status.
  @MainActor
  private static func play(_ stores: Stores, _ signals: Signals) async throws -> Int32 {
    let course = Task.detached {
      var course = Course(stores) { try Terminal.write($0 + "\n") }
      try await course.play()
    }
    var stoppedBy: Int32?
    signals.deliver { signal in
      guard Signals.ends.contains(signal) else { return }
      stoppedBy = signal
      course.cancel()
    }
    defer { signals.cancel() }
    do {
      try await course.value
    } catch is CancellationError {
      return 128 + (stoppedBy ?? SIGTERM)
    }
    return 0
  }

  private static func complain(_ message: String) {
    FileHandle.standardError.write(Data("SwapDemo: \(message)\n".utf8))
  }
}
