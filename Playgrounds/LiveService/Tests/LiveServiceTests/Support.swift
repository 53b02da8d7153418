import Foundation
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import RemoteSources
import Swappable

@testable import LiveService

/// A list in memory, with two sources.
struct TestList {
  let original: ArrayDataSource<JSONElement>
  let updated: ArrayDataSource<JSONElement>
  let served: ServedList

  init(name: String = "numbers", _ original: [Int] = [1, 2, 3], updated: [Int] = [1, 3, 4]) throws {
    self.original = ArrayDataSource(try original.map(Self.element))
    self.updated = ArrayDataSource(try updated.map(Self.element))
    served = try ServedList(
      name: name, key: "id",
      sources: [
        ("original", self.original), ("updated", self.updated),
        ("missing", JSONFileDataSource<JSONElement>(path: "/nowhere/list.json", key: "id")),
      ])
  }

  static func element(_ number: Int) throws -> JSONElement {
    try JSONElement(members: [("id", .integer(number))], key: "id")
  }
}

/// Runs a service, and calls a closure with its address.
func serve(
  _ lists: ServedList..., options: Service.Options = Service.Options(),
  _ test: @escaping @Sendable (String) async throws -> Void
) async throws {
  try await run(Service(lists: try ServedLists(lists), options: options).application(), test)
}

/// An answer that was received completely.
struct Answer {
  let status: UInt
  let headers: HTTPHeaders
  let body: String
}

/// Sends a request, and receives the answer completely.
func send(
  _ address: String, method: String = "GET", headers: [String: String] = [:], body: String? = nil
) async throws -> Answer {
  let answer = try await request(address, method: method, headers: headers, body: body)
  var (text, parts) = ([UInt8](), answer.body)
  while let part = try await parts.next() { text += part }
  return Answer(
    status: answer.status.code, headers: answer.headers, body: String(decoding: text, as: UTF8.self)
  )
}

/// Sends a request on a connection of its own, and receives the head of the answer.
func request(
  _ address: String, method: String = "GET", headers: [String: String] = [:], body: String? = nil
) async throws -> OpenAnswer {
  let url = address.dropFirst("http://".count)
  let (host, target) = (url.prefix { $0 != "/" }, url.drop { $0 != "/" })
  var fields = ["Host": String(host), "Connection": "close"]
  if let body { fields["Content-Length"] = "\(body.utf8.count)" }
  fields.merge(headers) { $1 }
  let lines = fields.map { "\($0): \($1)\r\n" }.joined()
  let connection = try RawConnection(to: address)
  try connection.send("\(method) \(target) HTTP/1.1\r\n\(lines)\r\n\(body ?? "")")
  return try await OpenAnswer(to: method, on: connection)
}

/// An answer whose body is received as far as a test asks for it. Releasing it closes the connection.
struct OpenAnswer {
  let status: HTTPResponseStatus
  let headers: HTTPHeaders
  let body: Body

  init(to method: String, on connection: RawConnection) async throws {
    var body = Body(connection: connection)
    let first = try await body.line().split(separator: " ")
    status = HTTPResponseStatus(statusCode: first.count > 1 ? Int(first[1]) ?? 0 : 0)
    var headers = HTTPHeaders()
    while case let line = try await body.line(), !line.isEmpty {
      let (name, value) = (line.prefix { $0 != ":" }, line.drop { $0 != ":" }.dropFirst())
      headers.add(name: String(name), value: value.trimmingCharacters(in: .whitespaces))
    }
    self.headers = headers
    if method == "HEAD" || status == .notModified {
      body.remaining = 0
    } else if headers.first(name: "Transfer-Encoding") == "chunked" {
      body.isChunked = true
    } else {
      body.remaining = headers.first(name: "Content-Length").flatMap { Int($0) } ?? .max
    }
    self.body = body
  }

  /// The parts of a body, as they come.
  struct Body {
    let connection: RawConnection
    var isChunked = false
    /// The number of bytes until the end of the body, or of its chunk.
    var remaining = 0
    private var received: ArraySlice<UInt8> = []

    init(connection: RawConnection) { self.connection = connection }

    /// Returns the next bytes, or `nil` at the end.
    mutating func next() async throws -> [UInt8]? {
      if isChunked, remaining == 0 {
        remaining = Int(try await line(), radix: 16) ?? 0
        if remaining == 0 { isChunked = false }
      }
      if remaining == 0 { return nil }
      if received.isEmpty { received = try await connection.receive()[...] }
      if received.isEmpty {
        guard remaining == .max else { throw RawConnection.Failure(description: "the body is cut") }
        return nil
      }
      let part = Array(received.prefix(remaining))
      received.removeFirst(part.count)
      if remaining != .max { remaining -= part.count }
      if isChunked, remaining == 0 { _ = try await line() }
      return part
    }

    /// Returns the next line, without its end.
    mutating func line() async throws -> String {
      var line: [UInt8] = []
      while true {
        if received.isEmpty { received = try await connection.receive()[...] }
        guard let byte = received.popFirst() else {
          throw RawConnection.Failure(description: "the answer is cut")
        }
        line.append(byte)
        if line.suffix(2) == [13, 10] { return String(decoding: line.dropLast(2), as: UTF8.self) }
      }
    }
  }
}

/// The events of a stream.
struct Events {
  private var body: OpenAnswer.Body
  private var parser = EventStreamParser()
  private var pending: [EventStreamParser.Event] = []

  init(_ answer: OpenAnswer) { body = answer.body }

  /// Returns the next event, or `nil` at the end.
  mutating func next() async throws -> EventStreamParser.Event? {
    while pending.isEmpty {
      guard let bytes = try await body.next() else { return nil }
      pending = try parser.parse(bytes)
    }
    return pending.removeFirst()
  }

  /// Returns the next event with a line of the feed.
  mutating func nextLine() async throws -> EventStreamParser.Event? {
    while let event = try await next() {
      if event.type == "message" { return event }
    }
    return nil
  }
}

/// A value that several tasks share.
final class Shared<Value: Sendable>: Sendable {
  private let box: NIOLockedValueBox<Value>

  init(_ value: Value) { box = NIOLockedValueBox(value) }

  var value: Value { box.withLockedValue { $0 } }
}

extension Shared {
  func append<Element>(_ element: Element) where Value == [Element] {
    box.withLockedValue { $0.append(element) }
  }
}

/// A TCP connection that sends and receives only what a test says.
final class RawConnection: Sendable {
  struct Failure: Error { let description: String }

  private let descriptor: Int32

  /// - Parameter address: The address of a service on this machine, such as `http://localhost:8080/`.
  init(to address: String) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var peer = sockaddr_in()
    peer.sin_family = sa_family_t(AF_INET)
    peer.sin_port = UInt16(URL(string: address)?.port ?? 0).bigEndian
    peer.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let result = withUnsafePointer(to: &peer) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    if result != 0 { throw Failure(description: "cannot connect to \(address): \(errno)") }
  }

  deinit { close(descriptor) }

  func send(_ text: String) throws {
    let bytes = Array(text.utf8)
    guard write(descriptor, bytes, bytes.count) == bytes.count else {
      throw Failure(description: "cannot send \(text): \(errno)")
    }
  }

  /// Waits for the next bytes, at most a minute. There are none if the service has closed the connection. The thread
  /// that waits is one of its own: the service that answers may need each thread of tasks.
  func receive() async throws -> [UInt8] {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(with: Result { try self.nextBytes() })
      }
    }
  }

  private func nextBytes() throws -> [UInt8] {
    var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&request, 1, 60_000) == 1 else {
      throw Failure(description: "no answer has come within a minute")
    }
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    let count = recv(descriptor, &bytes, bytes.count, 0)
    guard count >= 0 else { throw Failure(description: "cannot receive: \(errno)") }
    return Array(bytes.prefix(count))
  }
}
