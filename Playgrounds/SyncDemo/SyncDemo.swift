import DemoSupport
import Foundation
import Swappable

/// A demo of two clients and a server that edit one list and converge.
@main
struct SyncDemo {
  private static let usage = """
    usage: SyncDemo

    Shows how two people and a server synchronize one list. They edit it at the same time and offline,
    restart their programs, and end with equal lists.
    """

  static func main() async {
    guard CommandLine.arguments.count == 1 else {
      let isHelp = CommandLine.arguments.dropFirst() == ["--help"]
      FileHandle(fileDescriptor: isHelp ? STDOUT_FILENO : STDERR_FILENO).write(
        Data("\(usage)\n".utf8))
      exit(isHelp ? 0 : 2)
    }
    signal(SIGPIPE, SIG_IGN)
    do {
      let directory = try TemporaryDirectory("SyncDemo")
      defer { directory.remove() }
      var story = try await Story(in: directory, say: StandardOutput.write)
      try await story.tell()
    } catch let error as POSIXError where error.code == .EPIPE || error.code == .EIO {
      exit(0)
    } catch {
      StandardError.write("SyncDemo: \(error)")
      exit(1)
    }
  }
}
