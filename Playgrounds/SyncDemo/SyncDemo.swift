import DemoSupport
import Foundation
import Swappable

/// Two clients and a remote that edit one list at the same time, and end equal.
@main
struct SyncDemo {
  private static let usage = """
    usage: SyncDemo

    Tells how two people and a server keep one list in step: they edit at the same time, go offline,
    are started again, and end equal.
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
      FileHandle.standardError.write(Data("SyncDemo: \(error)\n".utf8))
      exit(1)
    }
  }
}
