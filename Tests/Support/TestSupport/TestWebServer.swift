package import Foundation
package import RemoteSources

/// A web server in which a test writes each byte of the answers.
///
/// It keeps its port until it is released, also while it is stopped.
package final class TestWebServer: Sendable {
  package struct Failure: Error, CustomStringConvertible {
    package let description: String

    package init(description: String) { self.description = description }
  }

  /// The head of a request.
  package struct Request: Sendable {
    /// The path and the query.
    package let target: String
    /// The headers, by their names in lower case.
    package let headers: [String: String]

    package init(head: String) {
      let lines = head.components(separatedBy: "\r\n")
      target = lines[0].split(separator: " ").dropFirst().first.map(String.init) ?? ""
      headers = Dictionary(
        lines.dropFirst().compactMap { line in
          line.firstIndex(of: ":").map {
            let value = line[$0...].dropFirst().trimmingCharacters(in: .whitespaces)
            return (line[..<$0].lowercased(), value)
          }
        }, uniquingKeysWith: { $1 })
    }
  }

  /// A connection that has sent a request. It is closed when it is released.
  package final class Connection: Sendable {
    package let descriptor: Int32

    package init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Sends bytes.
    ///
    /// - Returns: A Boolean value that indicates whether the client has not closed the connection.
    @discardableResult
    package func send(_ bytes: some Collection<UInt8>) -> Bool {
      var rest = Array(bytes)[...]
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes {
          Foundation.send(descriptor, $0.baseAddress, $0.count, noSignal)
        }
        guard count > 0 else { return false }
        rest = rest.dropFirst(count)
      }
      return true
    }

    @discardableResult
    package func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    /// Waits until the client or the server closes the connection.
    package func ended() async {
      await withCheckedContinuation { continuation in
        Thread.detachNewThread { [self] in
          while !receive().isEmpty {}
          continuation.resume()
        }
      }
    }

    package func receive() -> [UInt8] {
      [UInt8](unsafeUninitializedCapacity: 1 << 12) { buffer, count in
        count = max(recv(descriptor, buffer.baseAddress, buffer.count, 0), 0)
      }
    }
  }

  package typealias Handler = @Sendable (Request, Connection) async -> Void

  package let port: UInt16
  /// The requests so far.
  package let requests = Shared<[Request]>([])
  /// The number of connections that are open.
  package let connectionCount = Shared(0)
  private let handler: Handler
  /// A socket that keeps the port, and never listens.
  private let placeholder: Int32
  /// Ends the listener.
  private let stopListening = Shared<(@Sendable () -> Void)?>(nil)
  private let connections = Shared<[Int32: @Sendable () -> Void]>([:])

  /// - Parameter handler: A closure that answers a request. The connection is closed when it returns.
  package init(_ handler: @escaping Handler) throws {
    self.handler = handler
    (placeholder, port) = try Self.makeSocket()
    try start()
  }

  /// Creates a server that sends the lines of feeds as events. The list of a request is its path without the slash.
  package convenience init(
    _ feeds: [String: @Sendable () -> Feed], aliveEvery interval: Duration = .milliseconds(20)
  ) throws {
    try self.init { request, connection in
      guard let feed = feeds[String(request.target.dropFirst())] else {
        connection.send("HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\nno such list\nat all")
        return
      }
      connection.send(TestWebServer.eventHead)
      await connection.send(feed(), since: request.headers["last-event-id"], aliveEvery: interval)
    }
  }

  deinit {
    stop()
    close(placeholder)
  }

  package static let eventHead =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nConnection: close\r\n\r\n"

  package func url(_ path: String = "/list", host: String = "127.0.0.1") -> URL {
    URL(string: "http://\(host):\(port)\(path)") ?? URL(fileURLWithPath: path)
  }

  // MARK: Starting and stopping

  /// Accepts connections.
  package func start() throws {
    let (descriptor, _) = try Self.makeSocket(port: port)
    guard listen(descriptor, 64) == 0 else { throw Failure(description: "no listener: \(errno)") }
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    // A dispatch source can be canceled on any thread.
    nonisolated(unsafe) let source = DispatchSource.makeReadSource(fileDescriptor: descriptor)
    source.setEventHandler { [weak self] in
      let connection = accept(descriptor, nil, nil)
      if connection >= 0 { self?.serve(connection) }
    }
    source.setCancelHandler { close(descriptor) }
    stopListening.value = { source.cancel() }
    source.activate()
  }

  /// Refuses connections, and ends the open ones.
  package func stop() {
    stopListening.exchange(nil)?()
    for end in connections.value.values { end() }
  }

  private func serve(_ descriptor: Int32) {
    _ = fcntl(descriptor, F_SETFL, 0)
    let connection = Connection(descriptor)
    connectionCount.modify { $0 += 1 }
    connections.modify {
      $0[descriptor] = { [weak connection] in
        if let connection { shutdown(connection.descriptor, Int32(SHUT_RDWR)) }
      }
    }
    Thread.detachNewThread { [handler, requests, connectionCount] in
      var head: [UInt8] = []
      while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
        let part = connection.receive()
        if part.isEmpty { break }
        head += part
      }
      guard !head.isEmpty else { return connectionCount.modify { $0 -= 1 } }
      let request = Request(head: String(decoding: head, as: UTF8.self))
      requests.append(request)
      Task {
        await handler(request, connection)
        shutdown(connection.descriptor, Int32(SHUT_RDWR))
        connectionCount.modify { $0 -= 1 }
      }
    }
  }

  /// Returns a Boolean value that indicates whether a server of this machine accepts connections on a port.
  package static func isListening(_ port: UInt16) -> Bool {
    guard let descriptor = try? openSocket() else { return false }
    defer { close(descriptor) }
    var address = localAddress(port)
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
  }

  /// Creates a socket with a port of this machine, which others can listen on.
  ///
  /// - Parameter port: The port, or 0 for a port that the system chooses.
  package static func makeSocket(port: UInt16 = 0) throws -> (descriptor: Int32, port: UInt16) {
    let descriptor = try openSocket()
    var yes: Int32 = 1
    for option in [SO_REUSEADDR, SO_REUSEPORT] {
      setsockopt(descriptor, SOL_SOCKET, option, &yes, socklen_t(MemoryLayout<Int32>.size))
    }
    var address = localAddress(port)
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, size) == 0 ? getsockname(descriptor, $0, &size) : -1
      }
    }
    guard status == 0 else { throw Failure(description: "cannot bind port \(port): \(errno)") }
    return (descriptor, UInt16(bigEndian: address.sin_port))
  }

  private static func openSocket() throws -> Int32 {
    #if canImport(Darwin)
      let descriptor = socket(AF_INET, SOCK_STREAM, 0)
    #else
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #endif
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    guard descriptor >= 0 else { throw Failure(description: "no socket: \(errno)") }
    return descriptor
  }

  private static func localAddress(_ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
  }
}

extension TestWebServer.Connection {
  /// Sends the lines of a feed as events, until the client closes the connection.
  package func send(_ feed: Feed, since token: String?, aliveEvery interval: Duration) async {
    for await line in feed.lines(since: token, aliveEvery: interval) {
      guard send(line.serverSentEvent) else { return }
    }
  }
}

#if canImport(Darwin)
  private let noSignal: Int32 = 0
#else
  private let noSignal = Int32(MSG_NOSIGNAL)
#endif
