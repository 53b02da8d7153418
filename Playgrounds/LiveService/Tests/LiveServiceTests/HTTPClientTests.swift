import Foundation
import HTTPSources
import RemoteSources
import Swappable
import Testing

/// A reader in Swift, and a service that is killed and started again.
@Suite(.timeLimit(.minutes(10))) struct HTTPClientTests {
  @Test func `a reader survives a service that is killed, and receives the net change`()
    async throws
  {
    let file = FileManager.default.temporaryDirectory
      .appendingPathComponent("swappable-\(UUID().uuidString).json")
    defer { try? FileManager.default.removeItem(at: file) }
    func save(_ text: String) throws { try Data(text.utf8).write(to: file, options: .atomic) }
    try save(#"[{"id": 1}, {"id": 2}]"#)
    let first = try ServiceProcess(list: file.path, port: 0)
    let url = try #require(URL(string: "\(first.address)lists/numbers/events"))
    let numbers = RemoteDataSource<JSONElement>(.http(url))
    let (wakes, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let (events, event) = AsyncStream.makeStream(of: CollectionEvent<JSONElement>.self)
    let statuses = numbers.observeStatus { _ in wake.yield() }
    let changes = numbers.observe {
      event.yield($0)
      wake.yield()
    }
    var iterator = wakes.makeAsyncIterator()
    func wait(until isDone: () -> Bool) async {
      while !isDone(), await iterator.next() != nil {}
    }
    await wait { numbers.snapshot.count == 2 && numbers.status == .loaded }

    first.kill()
    await wait { numbers.status.error != nil }
    #expect(numbers.snapshot.count == 2)
    // Two edits while the service is away are one change.
    try save(#"[{"id": 2}]"#)
    try save(#"[{"id": 2}, {"id": 3}]"#)
    let second = try ServiceProcess(list: file.path, port: try #require(url.port))
    await wait { numbers.snapshot.map(\.description) == [#"{"id":2}"#, #"{"id":3}"#] }
    await wait { numbers.status.error == nil }
    changes.dispose()
    event.finish()
    var found: [CollectionEvent<JSONElement>] = []
    for await event in events { found.append(event) }
    // The initial event is empty or has the first contents.
    guard case .change(let change)? = found.last else {
      Issue.record("the last event is no change")
      return
    }
    #expect(change.changeset.deletions == [0])
    #expect(change.changeset.insertions == [1])
    #expect(found.count(where: { !$0.snapshot.isEmpty }) == 2)

    // The reader takes the only stream that the service allows.
    second.kill()
    await wait { numbers.status.error != nil }
    let third = try ServiceProcess(
      list: file.path, port: try #require(url.port), "--max-streams", "1")
    await wait { numbers.status.error == nil }
    let other = RemoteDataSource<JSONElement>(.http(url))
    let error = await #expect(throws: SourceError.self) { try await other.loaded() }
    #expect(error?.message.contains("status 503: ") == true)
    #expect((error?.underlying as? TransportError)?.retry == .after(.seconds(5)))
    statuses.dispose()
    third.kill()
  }
}

/// The program LiveService, which serves the file of a list named `numbers`.
private final class ServiceProcess: Sendable {
  struct Failure: Error { let description: String }

  /// The address of the service.
  let address: String
  private let process = Process()

  init(list: String, port: Int, _ options: String...) throws {
    // Tests and programs are in the same folder.
    let folders = (CommandLine.arguments + [Bundle.main.executablePath ?? ""])
      .filter { $0.contains("/") }
      .flatMap { path in
        sequence(first: URL(fileURLWithPath: path).deletingLastPathComponent()) {
          $0.path == "/" ? nil : $0.deletingLastPathComponent()
        }
      }
    let programs = folders.map { $0.appendingPathComponent("LiveService") }
    let program = programs.first {
      (try? $0.resourceValues(forKeys: [.isRegularFileKey]))?.isRegularFile == true
    }
    guard let program else { throw Failure(description: "no LiveService beside the tests") }
    process.executableURL = program
    process.arguments =
      ["--key", "id", "--list", "numbers=json:\(list)", "--port", "\(port)"] + options
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    var line = Data()
    while let byte = try output.fileHandleForReading.read(upToCount: 1), byte != Data("\n".utf8) {
      line += byte
    }
    let words = String(decoding: line, as: UTF8.self).split(separator: " ")
    guard let address = words.last, address.hasPrefix("http://") else {
      throw Failure(description: "the service has not started: \(words)")
    }
    self.address = String(address)
  }

  deinit { kill() }

  /// Ends the process like a crash.
  func kill() {
    guard process.isRunning else { return }
    Foundation.kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }
}
