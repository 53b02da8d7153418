import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import RemoteSources
import TestSupport
import Testing

/// Explanations of lists that another process serves.
@Suite(.timeLimit(.minutes(1))) struct RemoteGraphTests {
  @Test func `a remote list is explained with its server`() async throws {
    let directory = try TemporaryDirectory()
    let source = CollectionProperty([Item(1), Item(2)])
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
}
