import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import RemoteSources
import TestSupport
import TestTags
import Testing

/// Explanations of lists that another process serves.
@Suite(.tags(.system), .timeLimit(.minutes(10))) struct RemoteGraphTests {
  @Test func `a remote list is explained with its server`() async throws {
    let directory = try TemporaryDirectory()
    let source = ArrayDataSource([Item(1), Item(2)])
    let server = try FeedServer(path: directory("s"), feeds: ["items": Feed(source, key: "id")])
    let remote = RemoteDataSource<Item>(.unixSocket(path: server.path, list: "items"))
    let recorder = SourceRecorder(remote)
    try await recorder.wait(for: [Item(1), Item(2)])
    let node = remote.explain().nodes[0]
    #expect(node.kind == "RemoteDataSource")
    #expect(node.source?.location?.contains(server.path) == true)
    #expect(node.source?.mode == "streamed")
    #expect(node.source?.loadCount == 1)
  }

  @Test func `the time of a load includes the wait for the server`() async throws {
    let initial = #"{"event":"initial","revision":0,"elements":[{"id":1,"n":0}]}"#
    let remote = RemoteDataSource<Item>(SlowTransport(.milliseconds(200), [initial]))
    _ = try await remote.loaded()
    let source = try #require(remote.explain().nodes[0].source)
    #expect(source.loadCount == 1)
    #expect(source.loadTime >= .milliseconds(200))
  }
}

/// A connection that takes a while, and then sends lines.
private final class SlowTransport: RemoteTransport {
  private let delay: Duration
  private let lines: [String]
  let description = "slow"

  init(_ delay: Duration, _ lines: [String]) {
    (self.delay, self.lines) = (delay, lines)
  }

  func connect(since token: String?) async throws -> any AsyncSequence<[UInt8], any Error> {
    try await Task.sleep(for: delay)
    return try await ScriptedTransport([lines], isKept: true).connect(since: token)
  }
}
