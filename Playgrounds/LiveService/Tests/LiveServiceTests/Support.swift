import AsyncHTTPClient
import Hummingbird
import HummingbirdTesting
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
