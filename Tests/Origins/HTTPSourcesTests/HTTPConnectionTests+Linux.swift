#if os(Linux)
  import DataSourceTesting
  import Foundation
  @testable import HTTPSources
  import ObservableCollections
  import ReactiveSignals
  @testable import RemoteSources
  import SwappableSources
  import TestSupport
  import TestTags
  import Testing

  @Suite(.tags(.system), .timeLimit(.minutes(10))) struct HTTPConnectionTests {
    @Test func `hundreds of connections leave Dispatch its threads`() async throws {
      // Nobody accepts the connections, so each has three descriptors of this process. Dispatch has at most 255 threads.
      let (listener, port) = try TestWebServer.makeSocket()
      defer { close(listener) }
      #expect(listen(listener, 512) == 0)
      let url = try #require(URL(string: "http://127.0.0.1:\(port)/list"))
      let remotes = (0..<260).map { _ in RemoteDataSource<Item>(.http(url)) }
      let observations = remotes.map { $0.observe { _ in } }
      let remoteAddress = "0100007F:" + String(format: "%04X", port)
      try await wait(for: "all connections") {
        // A string of the file would have its first block only.
        let sockets = try? FileHandle(forReadingAtPath: "/proc/self/net/tcp")?.readToEnd()
        let lines = String(decoding: sockets ?? Data(), as: UTF8.self).split(separator: "\n")
        return lines.count { $0.split(separator: " ")[2] == remoteAddress } == 260
      }
      let hasRun = Shared(false)
      DispatchQueue(label: "swappable.test").async { hasRun.value = true }
      try await wait(for: "a block on a queue") { hasRun.value }
      for observation in observations { observation.dispose() }
      withExtendedLifetime(remotes) {}
    }

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

    @Test(arguments: [
      (56, "Recv failure: Connection reset by peer", "the server closed the connection too early"),
      (
        56, "OpenSSL SSL_read: error:0A000126:SSL routines::unexpected eof while reading, errno 0",
        "the server closed the connection too early"
      ),
      (56, "", "the server closed the connection too early"),
      (
        56, "CONNECT tunnel failed, response 407",
        "the connection broke: CONNECT tunnel failed, response 407"
      ),
      (1, "Received HTTP/0.9 when not allowed", "the server does not answer with HTTP"),
      (1, "Protocol \"https\" not supported", "the connection broke: known"),
      (
        1, "Unsupported response code in HTTP response",
        "the server does not answer with valid HTTP: Unsupported response code in HTTP response"
      ),
      (
        8, "Header without colon",
        "the server does not answer with valid HTTP: Header without colon"
      ),
      (8, "", "the server does not answer with valid HTTP: known"),
      (
        5, "Could not resolve proxy: proxy.example",
        "there is no host proxy.example:8080, the proxy of this machine"
      ),
      (
        97, "connection to proxy closed",
        "the proxy proxy.example:8080 does not connect: connection to proxy closed"
      ),
      (
        7, "Failed to connect to proxy.example port 8080 after 1 ms: Couldn't connect to server",
        "cannot connect to proxy.example:8080, the proxy of this machine"
      ),
      (
        7, "Failed to connect to host port 443 via proxy.example after 1 ms: no server",
        "cannot connect to proxy.example:8080, the proxy of this machine"
      ),
      (7, "Failed to connect to host port 443 after 1 ms: no server", "cannot connect to host"),
      (
        7, "Unsupported proxy scheme for 'foo://proxy.example'",
        "cannot connect to proxy.example:8080, the proxy of this machine"
      ),
      (7, "Failed to connect to proxy.example port 80: no server", "cannot connect to host"),
      (7, "", "cannot connect to host"),
      (28, "Operation timed out after 12345 milliseconds", "the connection broke: known"),
    ])
    func `an error of libcurl says what happened`(
      code: Int32, text: String, message: String
    ) throws {
      let url = try #require(URL(string: "https://host/list"))
      let error = TransportError(
        code: code, url, message: text, known: "known",
        environment: ["https_proxy": "http://me:p@ss@proxy.example:8080"])
      #expect(error.description == message)
    }

    @Test(arguments: [
      ("https", ["https_proxy": "http://me:p@ss@one:1", "http_proxy": "two"], "one:1"),
      ("HTTPS", ["HTTPS_PROXY": "http://one:1", "https_proxy": ""], "one:1"),
      ("https", ["all_proxy": "socks5://me@one:1", "http_proxy": "two"], "one:1"),
      ("https", ["ALL_PROXY": "one:1", "HTTPS_PROXY": ""], "one:1"),
      ("http", ["http_proxy": "http://one:1", "https_proxy": "two"], "one:1"),
      ("http", ["HTTP_PROXY": "two", "all_proxy": "one"], "one"),
      ("http", ["http_proxy": "http://me:a/b@c@one:1/?key=secret"], "one:1"),
    ])
    func `the proxy is named without a password`(
      scheme: String, environment: [String: String], proxy: String
    ) throws {
      let url = try #require(URL(string: "\(scheme)://host/list"))
      let error = TransportError(
        code: 5, url, message: "", known: "", environment: environment)
      #expect(error.description == "there is no host \(proxy), the proxy of this machine")
    }

    @Test(arguments: [
      ("http://127.0.0.1:1", "127.0.0.1", 1), ("http://[::1]:2", "::1", 2),
      ("socks5://localhost", "localhost", 1080), ("https://host", "host", 443),
    ])
    func `a proxy on the host of the service is told apart by its port`(
      proxy: String, host: String, port: Int
    ) throws {
      let address = host.contains(":") ? "[\(host)]" : host
      let url = try #require(URL(string: "http://\(address):9301/list"))
      for (port, isProxy) in [(port, true), (9_301, false)] {
        let error = TransportError(
          code: 7, url, message: "Failed to connect to \(host) port \(port) after 0 ms: no server",
          known: "", environment: ["http_proxy": proxy])
        #expect(error.description.hasSuffix(", the proxy of this machine") == isProxy, "\(error)")
      }
    }

    @Test func `only a missing library is final`() throws {
      let directory = try TemporaryDirectory()
      let path = directory("libcurl.so.4")
      try Data("no library".utf8).write(to: URL(fileURLWithPath: path))
      let missing = #expect(throws: TransportError.self) {
        try LibCurl(["libcurl-that-is-not-there.so", "libcurl-neither.so"])
      }
      #expect(missing?.retry == .never && missing?.description.contains("install it") == true)
      let damaged = #expect(throws: TransportError.self) {
        try LibCurl([path, "libcurl-that-is-not-there.so"])
      }
      #expect(damaged?.retry == .afterPause)
      #expect(damaged?.description.hasPrefix("cannot load libcurl: \(path): ") == true)
      #expect(throws: Never.self) { try LibCurl() }
    }

    @Test(arguments: ["HTTP/1.1 42", "HTTP/1.1", "HTTP/9.9 200 OK", "HTTP/1.1 200 OK\r\nheader"])
    func `an answer that is not valid HTTP is reported`(head: String) async throws {
      let server = try TestWebServer { _, connection in connection.send("\(head)\r\n\r\n") }
      let remote = RemoteDataSource<Item>(.http(server.url()), clock: ManualClock())
      let recorder = SourceRecorder(remote)
      let record = try await recorder.wait { $0.statuses.last?.error != nil }
      #expect(
        record.statuses.last?.error?.message
          .hasPrefix("\(server.url()): the server does not answer with valid HTTP: ") == true)
    }

    @Test(arguments: 0...4)
    func `a lack of file descriptors is reported with a remedy`(free: Int) async {
      await #expect(processExitsWith: .success) { [free] in
        let url = URL(string: "http://127.0.0.1:1/list")
        guard let url else { exit(1) }
        // A connection would load it, too, but gives its descriptors back on a thread of its own, a little later.
        #expect(throws: Never.self) { try LibCurl.loaded() }
        UnixSocket.setFileLimit(64)
        var files: [Int32] = []
        while let file = Optional(open("/dev/null", O_RDONLY)), file >= 0 { files.append(file) }
        for _ in 0..<free { close(files.removeLast()) }
        let error = await #expect(throws: TransportError.self) {
          try await HTTPTransport(url, headers: { [:] }).connect(since: nil)
        }
        // With enough descriptors, nobody listens at the port.
        let messages = [
          "Too many open files; raise their limit (ulimit -n), or use fewer sources",
          "cannot connect to 127.0.0.1",
        ]
        guard let error, messages[free < 3 ? 0 : 1] == error.description else {
          print(error?.description ?? "")
          exit(1)
        }
      }
    }

    @Test(arguments: 1...12)
    func `a process may exit while connections use TLS`(count: Int) async {
      await #expect(processExitsWith: .success) { [count] in
        let (listener, port) = try TestWebServer.makeSocket()
        let url = try #require(URL(string: "https://127.0.0.1:\(port)/list"))
        #expect(listen(listener, 64) == 0)
        for _ in 0..<8 {
          Task {
            while true { _ = try? await HTTPTransport(url, headers: { [:] }).connect(since: nil) }
          }
        }
        for _ in 0..<count { close(accept(listener, nil, nil)) }
        exit(0)
      }
    }

    @Test func `the socket of a connection is closed in child processes`() async throws {
      let feed = Feed(ArrayDataSource([Item(1)]))
      let server = try TestWebServer(["list": { feed }])
      let recorder = SourceRecorder(RemoteDataSource<Item>(fast: .http(server.url())))
      try await recorder.wait(for: [Item(1)])
      let remoteAddress = "0100007F:" + String(format: "%04X", server.port)
      let sockets = try FileHandle(forReadingAtPath: "/proc/self/net/tcp")?.readToEnd() ?? Data()
      let inodes = String(decoding: sockets, as: UTF8.self).split(separator: "\n")
        .map { $0.split(separator: " ") }.filter { $0[2] == remoteAddress }.map { $0[9] }
      let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        .compactMap { Int32($0) }
        .filter { descriptor in
          let link = try? FileManager.default.destinationOfSymbolicLink(
            atPath: "/proc/self/fd/\(descriptor)")
          return inodes.contains { link == "socket:[\($0)]" }
        }
      #expect(!descriptors.isEmpty)
      for descriptor in descriptors { #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0) }
    }

    @Test func `a server of another protocol is reported`() async throws {
      let server = try TestWebServer { _, connection in connection.send("220 ready\r\n") }
      let remote = RemoteDataSource<Item>(.http(server.url()), clock: ManualClock())
      let recorder = SourceRecorder(remote)
      let record = try await recorder.wait { $0.statuses.last?.error != nil }
      #expect(
        record.statuses.last?.error?.message
          == "\(server.url()): the server does not answer with HTTP")
    }
  }
#endif
