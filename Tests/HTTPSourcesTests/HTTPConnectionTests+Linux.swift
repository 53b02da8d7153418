#if os(Linux)
  import DataSourceTesting
  import Foundation
  @testable import HTTPSources
  import ObservableCollections
  @testable import RemoteSources
  import SwappableSources
  import TestSupport
  import TestTags
  import Testing

  @Suite(.tags(.system), .timeLimit(.minutes(10))) struct HTTPConnectionTests {
    @Test(arguments: [
      (
        "200 OK\r\nContent-Type: text/event-stream",
        "the server sent gzip, although the request asks for no compression"
      ),
      (
        "200 OK\r\nContent-Type: text/plain",
        "the server sent text/plain, not text/event-stream; check the address"
      ),
      ("500 Oops\r\nContent-Type: text/plain", "the server answered with status 500"),
    ])
    func `a compressed answer is refused`(head: String, message: String) async throws {
      let server = try TestWebServer { _, connection in
        connection.send("HTTP/1.1 \(head)\r\nContent-Encoding: gzip\r\n\r\n\u{1F}\u{8}line\n")
        await connection.ended()
      }
      let recorder = SourceRecorder(RemoteDataSource<Item>(fast: .http(server.url())))
      let record = try await recorder.wait { $0.statuses.last?.error != nil }
      #expect(record.statuses.last?.error?.message == "\(server.url()): \(message)")
    }
  }
#endif
