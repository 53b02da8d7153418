import AsyncHTTPClient
import Foundation
import Hummingbird
import HummingbirdTesting
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
  let service = Service(lists: try ServedLists(lists), options: options)
  try await service.application().test(.ahc()) { client in
    let port = client.port ?? 0
    try await test("http://localhost:\(port)/")
  }
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
  let bytes = try await answer.body.collect(upTo: 1 << 28)
  return Answer(
    status: answer.status.code, headers: answer.headers, body: String(buffer: bytes))
}

/// Sends a request, and receives the head of the answer.
func request(
  _ address: String, method: String = "GET", headers: [String: String] = [:], body: String? = nil
) async throws -> HTTPClientResponse {
  var request = HTTPClientRequest(url: address)
  request.method = .RAW(value: method)
  for (name, value) in headers { request.headers.replaceOrAdd(name: name, value: value) }
  request.body = body.map { .bytes(ByteBuffer(string: $0)) }
  return try await HTTPClient.shared.execute(request, timeout: .seconds(60))
}

/// The events of a stream.
struct Events {
  private var body: HTTPClientResponse.Body.AsyncIterator
  private var parser = EventStreamParser()
  private var pending: [EventStreamParser.Event] = []

  init(_ response: HTTPClientResponse) { body = response.body.makeAsyncIterator() }

  /// Returns the next event, or `nil` at the end.
  mutating func next() async throws -> EventStreamParser.Event? {
    while pending.isEmpty {
      guard let bytes = try await body.next() else { return nil }
      pending = try parser.parse(bytes.readableBytesView)
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

  /// Waits for the first bytes of an answer, at most a minute. The thread that waits is one of its own: the service
  /// that answers may need each thread of tasks.
  func receive() async throws -> String {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(with: Result { try self.nextBytes() })
      }
    }
  }

  private func nextBytes() throws -> String {
    var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&request, 1, 60_000) == 1 else {
      throw Failure(description: "no answer has come within a minute")
    }
    var bytes = [UInt8](repeating: 0, count: 200)
    let count = recv(descriptor, &bytes, bytes.count, 0)
    return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
  }
}
