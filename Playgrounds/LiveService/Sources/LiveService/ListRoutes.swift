import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import RemoteSources
import Swappable

/// The routes below `/lists`.
struct ListRoutes: Sendable {
  private static let bodyLimit = 4096

  let lists: ServedLists
  let streams: StreamLimit
  let stallLimit: TimeAmount

  func add(to group: RouterGroup<ServiceContext>) {
    group.get("/") { _, _ in try describe() }
    group.get("/:name") { request, context in try snapshot(request, context) }
    group.get("/:name/events") { request, context in try events(request, context) }
    group.add(middleware: CrossOriginCheck())
      .post("/:name/swap") { request, context in try await swap(request, context) }
  }

  private func list(_ context: ServiceContext) throws -> ServedList {
    let name = context.parameters.get("name") ?? ""
    guard let list = lists[name] else {
      let names = lists.all.map(\.name).joined(separator: ", ")
      throw HTTPError(.notFound, message: "there is no list \"\(name)\"; the lists are \(names)")
    }
    return list
  }

  private func describe() throws -> Response {
    .json(try JSONEncoder().encode(["lists": lists.all.map(\.description)]))
  }

  // MARK: The contents

  private func snapshot(_ request: Request, _ context: ServiceContext) throws -> Response {
    let list = try list(context)
    let conditions = request.headers[values: .ifNoneMatch]
    if let tag = conditions.lazy.compactMap({ currentTag(in: $0, of: list.feed) }).first {
      return Response(status: .notModified, headers: headers(tag))
    }
    guard let line = list.feed.snapshot(), let token = line.token else {
      let reason = list.status.error.map { ": \($0.message)" } ?? ""
      throw HTTPError(
        .serviceUnavailable, headers: [.retryAfter: "1"],
        message: "the list has not loaded\(reason)")
    }
    let writer = StalledWriteGuard(channel: context.channel, limit: stallLimit)
    return Response(
      status: .ok, headers: headers("\"\(token)\""),
      body: ResponseBody(contentLength: line.bytes.count) { output in
        try await writer.write([line.bytes], to: &output)
        try await output.finish(nil)
      })
  }

  private func headers(_ tag: String) -> HTTPFields {
    [.eTag: tag, .cacheControl: "private, no-cache", .contentType: "application/json"]
  }

  /// Returns the first tag in an `If-None-Match` field whose contents are the present ones, or `nil`.
  ///
  /// A tag is a token. After a restart with equal contents, the tags of the previous run are still current.
  private func currentTag(in field: String, of feed: Feed) -> String? {
    for candidate in field.split(separator: ",") {
      var tag = candidate.trimmingPrefix { $0 == " " || $0 == "\t" }
      while tag.last == " " || tag.last == "\t" { tag.removeLast() }
      if tag == "*" { return feed.snapshot()?.token.map { "\"\($0)\"" } }
      // A proxy that compresses makes a tag weak.
      if tag.hasPrefix("W/") { tag.removeFirst(2) }
      guard tag.count > 2, tag.first == "\"", tag.last == "\"" else { continue }
      if feed.isCurrent(String(tag.dropFirst().dropLast())) { return String(tag) }
    }
    return nil
  }

  // MARK: Events

  private func events(_ request: Request, _ context: ServiceContext) throws -> Response {
    let list = try list(context)
    guard let slot = streams.claim() else {
      throw HTTPError(
        .serviceUnavailable, headers: [.retryAfter: "5"],
        message: "the limit of open event streams, \(streams.limit), is reached; try again later")
    }
    let token = request.headers[named: "Last-Event-ID"] ?? request.uri.queryParameters.get("since")
    let writer = StalledWriteGuard(channel: context.channel, limit: stallLimit)
    var headers: HTTPFields = [.contentType: "text/event-stream", .cacheControl: "no-store"]
    // Proxies must pass each event on at once.
    headers[named: "X-Accel-Buffering"] = "no"
    return Response(
      status: .ok, headers: headers,
      body: ResponseBody { output in
        // The slot is released with the response.
        defer { withExtendedLifetime(slot) {} }
        try await request.body.consumeWithCancellationOnInboundClose { _ in
          var stream = EventStream(list: list, since: token, writer: writer)
          try await stream.run(&output)
        }
        try await output.finish(nil)
      })
  }

  // MARK: Swapping

  private struct SwapRequest: Decodable { let source: String }

  private func swap(_ request: Request, _ context: ServiceContext) async throws -> Response {
    let list = try list(context)
    var request = request
    let body = try await request.collectBody(upTo: Self.bodyLimit)
    let data = Data(body.readableBytesView)
    guard let wanted = try? JSONDecoder().decode(SwapRequest.self, from: data) else {
      throw HTTPError(.badRequest, message: "the body must be {\"source\": \"NAME\"}")
    }
    let sources = list.description.sources.joined(separator: ", ")
    switch await list.swap(toSource: wanted.source) {
    case nil:
      throw HTTPError(
        .badRequest,
        message: "the list has no source \"\(wanted.source)\"; its sources are \(sources)")
    case .failed(let error): throw HTTPError(.badGateway, message: error.message)
    case .superseded, .cancelled, .cycle:
      throw HTTPError(.conflict, message: "another swap has replaced this one")
    case .swapped, .unchanged:
      return .json(try JSONEncoder().encode(list.description))
    }
  }
}

extension HTTPFields {
  /// The value of a field that has no constant.
  subscript(named name: String) -> String? {
    get { HTTPField.Name(name).flatMap { self[$0] } }
    set {
      if let name = HTTPField.Name(name) { self[name] = newValue }
    }
  }
}
