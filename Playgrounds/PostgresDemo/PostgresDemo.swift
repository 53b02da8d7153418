import DemoSupport
import Foundation
import PostgresSources
import Swappable
import TestSupport

/// A demo of three processes that observe one query of a PostgreSQL server, while other processes write and the server
/// restarts.
@main
struct PostgresDemo {
  private static let usage = """
    usage: PostgresDemo

    Starts a private PostgreSQL server in a temporary directory. Three processes observe a query. Other
    processes write, and the server restarts in between.
    """

  static func main() async {
    signal(SIGPIPE, SIG_IGN)
    do {
      let arguments = Array(CommandLine.arguments.dropFirst())
      switch (arguments.first, arguments.count) {
      case (nil, 0): try await tell()
      case ("observe", 3): try await Observer(name: arguments[1]).observe(arguments[2])
      case ("write", 3):
        try await PostgresConnection(arguments[1]).executeScript(arguments[2])
      default:
        let isHelp = arguments == ["--help"]
        FileHandle(fileDescriptor: isHelp ? STDOUT_FILENO : STDERR_FILENO).write(
          Data("\(usage)\n".utf8))
        exit(isHelp ? 0 : 2)
      }
    } catch let error as POSIXError where error.code == .EPIPE || error.code == .EIO {
      exit(0)
    } catch {
      StandardError.write("PostgresDemo: \(error)")
      exit(1)
    }
  }

  /// Tells the story, with one paragraph for each step.
  private static func tell() async throws {
    let say = StandardOutput.write
    guard PostgresServer.programs != nil else {
      throw Failure(
        description: "PostgreSQL is not installed. Install the package postgresql "
          + "(Debian, Ubuntu: apt-get install postgresql; Homebrew: brew install postgresql).")
    }
    try say("A private PostgreSQL server starts in a temporary directory.")
    let server = try PostgresServer()
    let address = server.connectionString(database: "postgres")
    let connection = try PostgresConnection(address)
    try await connection.executeScript(
      """
      CREATE TABLE task (id integer PRIMARY KEY, title text NOT NULL, done boolean DEFAULT false);
      INSERT INTO task VALUES (1, 'Write'), (2, 'Test'), (3, 'Ship');
      """)
    try await connection.installChangeTriggers(on: ["task"])
    connection.close()

    try say("\nThree processes observe the open tasks.")
    let observers = try ["Ada", "Bob", "Cem"].map {
      try ChildProcess(["observe", $0, address], readsOutput: true)
    }
    func report() throws {
      for observer in observers { try say("  " + observer.nextLine()) }
    }
    func write(_ sql: String) throws {
      try ChildProcess(["write", address, sql], readsOutput: false).waitForEnd()
    }
    try report()

    try say("\nAnother process adds two tasks and finishes one, in one transaction.")
    try write(
      """
      INSERT INTO task VALUES (4, 'Plan'), (5, 'Rest');
      UPDATE task SET done = true WHERE id = 1;
      """)
    try report()

    try say("\nA transaction is rolled back, and a task changes its title.")
    try write("BEGIN; DELETE FROM task; ROLLBACK; UPDATE task SET title = 'Ship it' WHERE id = 3")
    try report()

    try say("\nThe server stops.")
    try server.stop(.fast)
    try report()

    try say("\nThe server starts again.")
    try server.start()
    try report()

    try say("\nA process writes again.")
    try write("DELETE FROM task WHERE id = 2; UPDATE task SET title = 'Celebrate' WHERE id = 5")
    try report()

    for observer in observers { try observer.waitForEnd() }
  }
}

private struct Failure: Error, CustomStringConvertible {
  let description: String
}

/// A process that observes the open tasks, and prints a line for each event, until its input ends.
private struct Observer {
  struct Task: Decodable, Identifiable, Hashable, Differentiable {
    let id: Int
    let title: String
  }

  let name: String

  func observe(_ address: String) async throws {
    let tasks = try PostgresDataSource<Task>(
      connectionString: address, sql: "SELECT id, title FROM task WHERE NOT done ORDER BY id")
    let observations = [
      tasks.observe { event in
        guard case .change(let change) = event else { return }
        say("\(change.changeset.summary) -> \(titles(change.after))")
      },
      Self.observeFailures(of: tasks) { hasFailed in
        say(
          hasFailed
            ? "no connection, still shows \(titles(tasks.snapshot))"
            : "connected again, shows \(titles(tasks.snapshot))")
      },
    ]
    // Without `readLine()`: it would keep the lock that flushing all streams needs.
    _ = try FileHandle.standardInput.readToEnd()
    for observation in observations { observation.dispose() }
  }

  private func titles(_ tasks: Snapshot<Task>) -> String {
    tasks.map(\.title).joined(separator: ", ")
  }

  private func say(_ text: String) {
    // Without a reader, the process ends as soon as its input does.
    try? StandardOutput.write("\(name): \(text)")
  }

  /// Calls a closure when a source begins to fail, and when it has recovered.
  private static func observeFailures(
    of source: some DataSource, _ handler: @escaping @Sendable (Bool) -> Void
  ) -> Disposable {
    let wasFailed = Property(false)
    return source.observeStatus { status in
      let hasFailed = status.error != nil
      guard hasFailed != wasFailed.value, hasFailed || status == .loaded else { return }
      wasFailed.value = hasFailed
      handler(hasFailed)
    }
  }
}

/// Another process of this program.
private final class ChildProcess {
  private let process = Process()
  private let input = Pipe()
  private let output: Pipe?

  init(_ arguments: [String], readsOutput: Bool) throws {
    process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
    process.arguments = arguments
    process.standardInput = input
    output = readsOutput ? Pipe() : nil
    if let output { process.standardOutput = output }
    try process.run()
  }

  /// Waits for the next line of the output.
  func nextLine() throws -> String {
    var line = Data()
    while let byte = try output?.fileHandleForReading.read(upToCount: 1)?.first {
      if byte == UInt8(ascii: "\n") { break }
      line.append(byte)
    }
    return String(decoding: line, as: UTF8.self)
  }

  /// Ends the input of the process, and waits for its end.
  func waitForEnd() throws {
    try input.fileHandleForWriting.close()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw Failure(description: "a process of the demo failed")
    }
  }
}
