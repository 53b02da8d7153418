import Foundation
import RemoteSources
import Swappable

/// A server in a process of its own, whose memory is measured alone.
///
/// It serves two lists: `rows`, a long one, and `short`, one of ten rows. Both change at the same times.
final class ServerProcess {
  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()

  init(_ path: String) {
    process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = ["serve", path]
    (process.standardInput, process.standardOutput) = (input, output)
    try? process.run()
    wait()
  }

  var memory: ProcessMemory { ProcessMemory(process.processIdentifier) }

  /// The processor time of the server until now, in seconds.
  var processorTime: Double {
    let path = "/proc/\(process.processIdentifier)/stat"
    let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    let fields = text.split(separator: " ")
    guard fields.count > 14 else { return 0 }
    return ((Double(fields[13]) ?? 0) + (Double(fields[14]) ?? 0))
      / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  /// Begins to commit.
  func commit(rate: Int, seconds: Int) {
    input.fileHandleForWriting.write(Data("\(rate) \(seconds)\n".utf8))
  }

  /// Waits until the server has started, or has made its commits.
  func wait() { _ = output.fileHandleForReading.availableData }

  func stop() {
    try? input.fileHandleForWriting.close()
    process.waitUntilExit()
  }
}

/// Runs the process of a server until its input ends.
func serve(_ path: String) throws {
  let source = ArrayDataSource(Row.list)
  let short = ArrayDataSource((0..<10).map { Row($0) })
  let server = try FeedServer(
    path: path, feeds: ["rows": Feed(source, key: "id"), "short": Feed(short, key: "id")])
  say("ready")
  while let line = readLine() {
    let numbers = line.split(separator: " ").compactMap { Int($0) }
    guard numbers.count == 2 else { continue }
    commit(source, short, rate: numbers[0], count: numbers[0] * numbers[1])
    say("done")
  }
  server.stop()
}

private func commit(
  _ source: ArrayDataSource<Row>, _ short: ArrayDataSource<Row>, rate: Int, count: Int
) {
  let start = now()
  for index in 0..<count {
    let pause = start + index * 1_000_000_000 / rate - now()
    if pause > 0 { usleep(UInt32(pause / 1_000)) }
    source.transaction { draft in
      for _ in 0..<Int.random(in: 1...5) { edit(draft) }
    }
    change(short, index % 10)
  }
}

/// Changes one row. One of ten edits moves, deletes or inserts it.
private func edit(_ draft: CollectionDraft<Row>) {
  let offset = Int.random(in: 0..<draft.count)
  switch Int.random(in: 0..<30) {
  case 0: draft.move(from: offset, to: Int.random(in: 0..<draft.count))
  case 1: draft.remove(at: offset)
  case 2: draft.insert(Row(Int.random(in: 1_000_000..<1_000_000_000)), at: offset)
  default: draft.update(at: offset) { $0.time = now() }
  }
}

/// Prints a line at once.
func say(_ text: String) {
  print(text)
  fflush(nil)
}
