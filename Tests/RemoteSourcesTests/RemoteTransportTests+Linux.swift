#if os(Linux)
  import Foundation
  @testable import RemoteSources
  import SwappablePrimitives
  import TestSupport
  import TestTags
  import Testing

  @Suite(.tags(.system), .timeLimit(.minutes(10))) struct RemoteTransportTests {
    @Test func `a connection waits while the server's queue is full`() async throws {
      let directory = try TemporaryDirectory()
      let listener = try UnixSocket.makeListener(at: ByteString(directory("s")))
      defer { close(listener.descriptor) }
      listen(listener.descriptor, 0)
      var others: [RawClient] = []
      let full = #expect(throws: SocketError.self) {
        while others.count < 10 { others.append(try RawClient(directory("s"))) }
      }
      #expect(full?.code == EAGAIN)
      #expect(full?.reason.hasPrefix("too many clients wait") == true)
      // A server whose queue is full is a server.
      let second = #expect(throws: SocketError.self) {
        try UnixSocket.makeListener(at: ByteString(directory("s")))
      }
      #expect(second?.reason.hasPrefix("another process listens there") == true)
      let transport = UnixSocketTransport.unixSocket(path: directory("s"), list: "items")
      let task = Task { _ = try await transport.connect(since: nil) }
      for _ in 0..<100 { await Task.yield() }
      var accepted: [Int32] = []
      try await wait(for: "all connections") {
        if let next = try UnixSocket.acceptConnection(listener.descriptor) { accepted.append(next) }
        return accepted.count > others.count
      }
      try await task.value
      for descriptor in accepted { close(descriptor) }
    }
  }
#endif
