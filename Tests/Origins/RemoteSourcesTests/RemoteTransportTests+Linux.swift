#if os(Linux)
  import Foundation
  import ObservableCollections
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

    @Test(.enabled(if: geteuid() == 0, "only root can become another user"))
    func `both sides say which user they refuse`() async {
      await #expect(processExitsWith: .success) {
        let directory = try TemporaryDirectory()
        chmod(directory.path, 0o777)
        seteuid(12_001)
        let listener = try UnixSocket.makeListener(at: ByteString(directory("s")))
        chmod(directory("s"), 0o777)
        seteuid(0)
        seteuid(12_002)
        let transport = UnixSocketTransport.unixSocket(path: directory("s"), list: "items")
        let error = await #expect(throws: SourceError.self) {
          try await transport.connect(since: nil)
        }
        #expect(
          error?.message
            == "cannot connect: the server runs as user 12001 and the client as user 12002; "
            + "run both as one user")
        seteuid(0)
        seteuid(12_001)
        let descriptor = try #require(try UnixSocket.acceptConnection(listener.descriptor))
        #expect(
          UnixSocket.refusal(of: "client", descriptor, by: "server")
            == "the client runs as user 12002 and the server as user 12001; run both as one user")
        seteuid(0)
      }
    }

    /// Otherwise, a process that another thread starts at the wrong moment keeps it open.
    @Test func `a child process never has a pipe or a socket of the library`() async {
      await #expect(processExitsWith: .success) {
        let directory = try TemporaryDirectory()
        let listener = try UnixSocket.makeListener(at: ByteString(directory("s")))
        let own = try Self.filesOfChild(directory("own"))
        let isOver = Shared(false)
        let worker = Worker {
          while !isOver.value {
            _ = WakePipe()
            let client = try? UnixSocket.makeConnection(to: ByteString(directory("s")))
            if let server = try? UnixSocket.acceptConnection(listener.descriptor) { close(server) }
            if let client { close(client) }
          }
        }
        for _ in 0..<300 {
          #expect(try Self.filesOfChild(directory("files")).isSubset(of: own))
        }
        isOver.value = true
        try worker.join()
      }
    }

    /// Returns the pipes and sockets that a new process has.
    private static func filesOfChild(_ output: String) throws -> Set<Substring> {
      var process: pid_t = 0
      let arguments = ["/bin/sh", "-c", "ls -l /proc/self/fd > '\(output)'"].map { text in
        text.withCString { strdup($0) }
      }
      defer { for argument in arguments { free(argument) } }
      guard posix_spawn(&process, "/bin/sh", nil, nil, arguments + [nil], environ) == 0 else {
        throw POSIXError(.EAGAIN)
      }
      waitpid(process, nil, 0)
      let words = try String(contentsOfFile: output, encoding: .utf8)
        .split(whereSeparator: \.isWhitespace)
      return Set(words.filter { $0.hasPrefix("pipe:") || $0.hasPrefix("socket:") })
    }
  }
#endif
