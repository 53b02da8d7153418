import Foundation
import HTTPSources
import HTTPTypes
import Hummingbird
import NIOCore
import NIOEmbedded
import NIOHTTP1
import RemoteSources
import Swappable
import Testing

@testable import LiveService

@Suite(.timeLimit(.minutes(10))) struct ListRoutesTests {
  // MARK: The contents

  @Test func `the contents have their token as the tag`() async throws {
    let list = try TestList()
    try await serve(list.served) { address in
      let answer = try await send(address + "lists/numbers")
      #expect(answer.status == 200)
      #expect(answer.body.contains(#""elements":[{"id":1},{"id":2},{"id":3}]"#))
      let tag = try #require(answer.headers.first(name: "ETag"))
      #expect(answer.body.contains(#""token":\#(tag)"#))
      #expect(answer.headers.first(name: "Cache-Control") == "private, no-cache")
    }
  }

  @Test(arguments: ["TAG", "W/TAG", "\"other\", TAG", "*"])
  func `a page that has the contents receives nothing`(condition: String) async throws {
    let list = try TestList()
    try await serve(list.served) { address in
      let tag = try await send(address + "lists/numbers").headers.first(name: "ETag") ?? ""
      let condition = condition.replacing("TAG", with: tag)
      let same = try await send(address + "lists/numbers", headers: ["If-None-Match": condition])
      #expect(same.status == 304)
      #expect(same.headers.first(name: "ETag") == tag)
      #expect(same.body.isEmpty)
      list.original.append(try TestList.element(4))
      let changed = try await send(address + "lists/numbers", headers: ["If-None-Match": tag])
      #expect(changed.status == 200)
      #expect(changed.headers.first(name: "ETag") != tag)
    }
  }

  @Test func `after a restart with equal contents, a page receives nothing`() async throws {
    let tags = Shared<[String]>([])
    try await serve(TestList().served) { address in
      let answer = try await send(address + "lists/numbers")
      tags.append(try #require(answer.headers.first(name: "ETag")))
    }
    let tag = try #require(tags.value.first)
    let list = try TestList()
    try await serve(list.served) { address in
      #expect(try await send(address + "lists/numbers").headers.first(name: "ETag") != tag)
      for condition in [tag, "W/" + tag, "\"x\" , \(tag)", "x, \"\", \"-\", W/\(tag) "] {
        let same = try await send(address + "lists/numbers", headers: ["If-None-Match": condition])
        #expect(same.status == 304, "\(condition)")
        // The browser keeps the answer that has this tag.
        #expect(same.headers.first(name: "ETag") == tag)
      }
      // The kept contents have the old token, from which the events continue.
      let token = tag.dropFirst().dropLast()
      var events = Events(try await request(address + "lists/numbers/events?since=\(token)"))
      #expect(try await events.nextLine()?.data.contains(#""event":"alive""#) == true)
      list.original.append(try TestList.element(4))
      #expect(try await events.nextLine()?.data.contains(#""event":"change""#) == true)
      let changed = try await send(address + "lists/numbers", headers: ["If-None-Match": tag])
      #expect(changed.status == 200)
    }
  }

  @Test func `an unknown list is not found`() async throws {
    try await serve(TestList().served, TestList(name: "others").served) { address in
      for path in ["lists/nothing", "lists/nothing/events"] {
        let answer = try await send(address + path)
        #expect(answer.status == 404)
        #expect(
          answer.body.contains(#"there is no list \"nothing\"; the lists are numbers, others"#))
      }
    }
  }

  @Test func `a list that has not loaded says why`() async throws {
    let source = JSONFileDataSource<JSONElement>(path: "/nowhere/list.json", key: "id")
    let list = try ServedList(name: "missing", key: "id", sources: [("original", source)])
    try await serve(list) { address in
      // The status of the source arrives as an event.
      var events = Events(try await request(address + "lists/missing/events"))
      while let event = try await events.nextLine(), !event.data.contains("missing") {
        #expect(event.id.isEmpty)
      }
      let answer = try await send(address + "lists/missing")
      #expect(answer.status == 503)
      #expect(answer.headers.first(name: "Retry-After") == "1")
      #expect(answer.body.contains("/nowhere/list.json"))
      let health = try await send(address + "health")
      #expect(health.body == #"{"lists":{"missing":"missing"}}"#)
    }
  }

  @Test func `the lists name their sources`() async throws {
    try await serve(TestList().served) { address in
      let answer = try await send(address + "lists")
      #expect(answer.body.contains(#""sources":["original","updated","missing"]"#))
      #expect(answer.body.contains(#""source":"original""#))
    }
  }

  // MARK: Events

  @Test func `events begin with the contents and continue with changes`() async throws {
    let list = try TestList()
    try await serve(list.served) { address in
      let response = try await request(address + "lists/numbers/events")
      #expect(response.headers.first(name: "Content-Type") == "text/event-stream")
      #expect(response.headers.first(name: "Cache-Control") == "no-store")
      #expect(response.headers.first(name: "X-Accel-Buffering") == "no")
      var events = Events(response)
      let source = try await events.next()
      #expect(source?.type == "source")
      #expect(source?.data == #""original""#)
      let initial = try #require(try await events.next())
      #expect(initial.data.contains(#""event":"initial""#))
      #expect(initial.data.contains(#""token":"\#(initial.id)""#))
      list.original.append(try TestList.element(4))
      let change = try #require(try await events.next())
      #expect(change.data.contains(#""inserts":[{"at":3,"element":{"id":4}}]"#))
      #expect(change.data.contains(#""token":"\#(change.id)""#))
      #expect(change.id != initial.id)
    }
  }

  @Test(arguments: [true, false])
  func `a client that returns receives one change`(usesHeader: Bool) async throws {
    let list = try TestList()
    try await serve(list.served) { address in
      var first = Events(try await request(address + "lists/numbers/events"))
      let token = try #require(try await first.nextLine()).id
      for number in 4...9 { list.original.append(try TestList.element(number)) }
      let response =
        usesHeader
        ? try await request(address + "lists/numbers/events", headers: ["Last-Event-ID": token])
        : try await request(address + "lists/numbers/events?since=\(token)")
      var events = Events(response)
      #expect(try await events.nextLine()?.data.contains(#""event":"alive""#) == true)
      let change = try #require(try await events.nextLine()).data
      for number in 4...9 { #expect(change.contains(#"{"id":\#(number)}"#)) }
    }
  }

  @Test func `an unknown token begins with the contents`() async throws {
    try await serve(TestList().served) { address in
      for token in ["nothing", "a-1-b", "%F0%9F%98%80", String(repeating: "x", count: 4000)] {
        var events = Events(try await request(address + "lists/numbers/events?since=\(token)"))
        #expect(try await events.nextLine()?.data.contains(#""event":"initial""#) == true)
      }
    }
  }

  @Test func `streams beyond the limit are refused until one ends`() async throws {
    let options = Service.Options(maxStreams: 1)
    try await serve(TestList().served, options: options) { address in
      // A request for the head alone takes no stream.
      for _ in 1...3 {
        #expect(try await send(address + "lists/numbers/events", method: "HEAD").status == 200)
      }
      do {
        var events = Events(try await request(address + "lists/numbers/events"))
        _ = try await events.nextLine()
        let refused = try await send(address + "lists/numbers/events")
        #expect(refused.status == 503)
        #expect(refused.headers.first(name: "Retry-After") == "5")
        #expect(refused.body.contains("the limit of open event streams, 1, is reached"))
        #expect(try await send(address + "lists/numbers").status == 200)
      }
      // The client closes the first stream when it is released.
      var status: UInt = 503
      while status == 503 {
        status = try await request(address + "lists/numbers/events").status.code
      }
      #expect(status == 200)
    }
  }

  @Test func `a client that does not read is disconnected`() async throws {
    // More than the buffers of both ends hold.
    let text = String(repeating: "x", count: 1 << 20)
    let elements = try (0..<24).map {
      try JSONElement(members: [("id", .integer($0)), ("text", .string(text))], key: "id")
    }
    let list = try ServedList(
      name: "large", key: "id", sources: [("original", ArrayDataSource(elements))])
    let options = Service.Options(maxStreams: 1, stallLimit: .milliseconds(200))
    try await serve(list, options: options) { address in
      let stalled = try await request(address + "lists/large/events")
      while try await request(address + "lists/large/events").status.code == 503 {}
      withExtendedLifetime(stalled) {}
    }
  }

  /// A writer that hands parts over to a loop, as that of a connection does.
  private struct RecordingWriter: ResponseBodyWriter {
    let loop: NIOAsyncTestingEventLoop
    /// The sizes of the parts, and the number of parts that the loop has taken.
    let sizes = Shared<[Int]>([])
    let taken = Shared<[Int]>([])
    /// The numbers of parts that the loop had not taken when the next one came.
    let waiting = Shared<[Int]>([])

    func write(_ buffer: ByteBuffer) async throws {
      waiting.append(sizes.value.count - taken.value.count)
      sizes.append(buffer.readableBytes)
      loop.execute { taken.append(buffer.readableBytes) }
    }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {}
  }

  @Test func `each part of a long line waits until the connection has taken the last one`()
    async throws
  {
    let loop = NIOAsyncTestingEventLoop()
    let channel = NIOAsyncTestingChannel(loop: loop)
    let recorder = RecordingWriter(loop: loop)
    let line = [UInt8](repeating: 0, count: 1 << 20)
    let running = Task {
      while !Task.isCancelled {
        await loop.run()
        await Task.yield()
      }
    }
    var output: any ResponseBodyWriter = recorder
    try await StalledWriteGuard(channel: channel, limit: .hours(1)).write([line], to: &output)
    running.cancel()
    #expect(recorder.sizes.value.reduce(0, +) == line.count)
    #expect(recorder.sizes.value.allSatisfy { $0 <= 8 << 10 })
    #expect(recorder.waiting.value.allSatisfy { $0 == 0 }, "\(recorder.waiting.value)")
  }

  /// The test ends only if the service closes the connections of these clients when it stops.
  @Test(.timeLimit(.minutes(10)), arguments: ["reads nothing", "half a body", "half a head"])
  func `a service stops although a client is not done`(client: String) async throws {
    let text = String(repeating: "x", count: 1 << 20)
    let elements = try (0..<24).map {
      try JSONElement(members: [("id", .integer($0)), ("text", .string(text))], key: "id")
    }
    let list = try ServedList(
      name: "large", key: "id", sources: [("original", ArrayDataSource(elements))])
    let options = Service.Options(stallLimit: .hours(1), stopLimit: .milliseconds(50))
    let clients = Shared<[RawConnection]>([])
    try await serve(list, options: options) { address in
      let connection = try RawConnection(to: address)
      clients.append(connection)
      let head = "Host: localhost\r\n\r\n"
      switch client {
      case "reads nothing": try connection.send("GET /lists/large/events HTTP/1.1\r\n" + head)
      case "half a body":
        try connection.send(
          "GET /health HTTP/1.1\r\n" + head
            + "POST /lists/large/swap HTTP/1.1\r\nContent-Type: application/json\r\n"
            + "Content-Length: 100\r\n" + head + "{")
      default:
        try connection.send("GET /health HTTP/1.1\r\n" + head + "GET /lists/large HTTP/1.1\r\nHo")
      }
      #expect(try await connection.receive().starts(with: "HTTP/1.1 200 OK".utf8))
    }
    withExtendedLifetime(clients) {}
  }

  @Test func `the name of a source may have any characters`() async throws {
    let name = "a \"b\" \\ c\nd"
    let list = try ServedList(
      name: "numbers", key: "id",
      sources: [(name, ArrayDataSource([try TestList.element(1)]))])
    try await serve(list) { address in
      var events = Events(try await request(address + "lists/numbers/events"))
      let event = try #require(try await events.next())
      #expect(event.type == "source")
      #expect(try JSONElement(parsing: event.data).scalar == .string(name))
    }
  }

  @Test func `a remote data source follows a list over HTTP`() async throws {
    let list = try TestList()
    try await serve(list.served) { address in
      let url = try #require(URL(string: address + "lists/numbers/events"))
      let remote = RemoteDataSource<JSONElement>(.http(url))
      var contents = remote.snapshots().makeAsyncIterator()
      func wait(for expected: [Int]) async throws {
        let expected = try expected.map(TestList.element)
        while let snapshot = await contents.next(), Array(snapshot) != expected {}
      }
      try await wait(for: [1, 2, 3])
      list.original.append(try TestList.element(4))
      try await wait(for: [1, 2, 3, 4])
    }
  }

  // MARK: Swapping

  @Test func `a swap sends the difference to every stream`() async throws {
    let list = try TestList()
    try await serve(list.served) { address in
      var events = Events(try await request(address + "lists/numbers/events"))
      _ = try await events.nextLine()
      let answer = try await swap(address, to: "updated")
      #expect(answer.status == 200)
      #expect(answer.body.contains(#""source":"updated""#))
      var next = try await events.next()
      #expect(next?.type == "source")
      #expect(next?.data == #""updated""#)
      next = try await events.next()
      let change = next?.data ?? ""
      #expect(change.contains(#""deletes":[{"at":1,"element":{"id":2}}]"#))
      #expect(change.contains(#""inserts":[{"at":2,"element":{"id":4}}]"#))
      #expect(try await swap(address, to: "updated").status == 200)
    }
  }

  @Test func `a swap to a source that cannot be loaded changes nothing`() async throws {
    try await serve(TestList().served) { address in
      let answer = try await swap(address, to: "missing")
      #expect(answer.status == 502)
      #expect(answer.body.contains("/nowhere/list.json"))
      #expect(try await send(address + "lists").body.contains(#""source":"original""#))
    }
  }

  @Test func `a swap names one of the sources`() async throws {
    try await serve(TestList().served) { address in
      let unknown = try await swap(address, to: "/etc/passwd")
      #expect(unknown.status == 400)
      #expect(unknown.body.contains("its sources are original, updated, missing"))
      let headers = ["Content-Type": "application/json"]
      let other = try await send(
        address + "lists/numbers/swap", method: "POST", headers: headers, body: "[1]")
      #expect(other.status == 400)
      let large = try await send(
        address + "lists/numbers/swap", method: "POST", headers: headers,
        body: String(repeating: " ", count: 5000))
      #expect(large.status == 413)
    }
  }

  @Test func `a page of another origin cannot swap`() async throws {
    try await serve(TestList().served) { address in
      let foreign = try await swap(address, to: "updated", origin: "https://example.com")
      #expect(foreign.status == 403)
      #expect(try await swap(address, to: "updated", origin: "null").status == 403)
      let form = try await send(
        address + "lists/numbers/swap", method: "POST", headers: ["Content-Type": "text/plain"],
        body: #"{"source":"updated"}"#)
      #expect(form.status == 415)
      let own = String(address.dropLast())
      #expect(try await swap(address, to: "updated", origin: own).status == 200)
    }
  }
}

/// Requests a swap of the list `numbers`.
private func swap(
  _ address: String, to source: String, origin: String? = nil
) async throws -> Answer {
  var headers = ["Content-Type": "application/json"]
  headers["Origin"] = origin
  return try await send(
    address + "lists/numbers/swap", method: "POST", headers: headers,
    body: #"{"source":"\#(source)"}"#)
}
