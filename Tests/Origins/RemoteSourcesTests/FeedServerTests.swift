import Diffing
import Foundation
import ObservableCollections
@testable import RemoteSources
import SwappablePrimitives
import TestSupport
import TestTags
import Testing

@Suite(.tags(.system), .timeLimit(.minutes(10))) struct FeedServerTests {
  /// A server of one list, with a good client that must not notice what others do.
  struct Served {
    let directory: TemporaryDirectory
    let source: ArrayDataSource<Item>
    /// A list whose `initial` line is larger than what the system buffers for a socket.
    let large = ArrayDataSource((0..<20_000).map { Item($0) })
    let server: FeedServer

    init(_ items: [Item] = [Item(1)], limits: FeedServer.Limits = .init()) throws {
      directory = try TemporaryDirectory()
      source = ArrayDataSource(items)
      server = try FeedServer(
        path: directory("s"),
        feeds: ["items": Feed(source, key: "id"), "large": Feed(large, key: "id")], limits: limits)
    }

    func client(_ request: String? = nil) throws -> RawClient {
      let client = try RawClient(server.path)
      if let request { try client.send(request) }
      return client
    }

    /// Checks that a new client and its changes work.
    func check(with client: RawClient) throws {
      source.append(Item(source.count + 1_000))
      #expect(try client.line().hasPrefix(#"{"event":"change""#))
    }
  }

  static let request = #"{"list":"items"}"# + "\n"
  static let largeRequest = #"{"list":"large"}"# + "\n"

  @Test func `a client receives the contents and the changes`() throws {
    let served = try Served()
    let client = try served.client(Self.request)
    let initial = try client.line()
    #expect(initial.hasPrefix(#"{"event":"initial","revision":0,"key":"id","token":""#))
    #expect(initial.hasSuffix(#""elements":[{"id":1,"n":0}]}"#))
    try served.check(with: client)
    #expect(served.server.connectionCount == 1)
  }

  @Test func `a client that has shut down its writing side still receives`() throws {
    let served = try Served()
    let client = try served.client(Self.request)
    shutdown(client.descriptor, Int32(SHUT_WR))
    _ = try client.line()
    try served.check(with: client)
  }

  @Test func `the socket is for this user only`() throws {
    let served = try Served()
    let attributes = try FileManager.default.attributesOfItem(atPath: served.server.path)
    #expect(attributes[.posixPermissions] as? Int == 0o600)
  }

  @Test func `stopping closes connections and removes the socket`() throws {
    let served = try Served()
    let client = try served.client(Self.request)
    _ = try client.line()
    served.server.stop()
    #expect(try client.rest() == "")
    #expect(!FileManager.default.fileExists(atPath: served.server.path))
    served.server.stop()
  }

  @Test func `releasing a server stops it`() throws {
    var served: Served? = try Served()
    let client = try served?.client(Self.request)
    _ = try client?.line()
    let directory = served?.directory
    served = nil
    #expect(try client?.rest() == "")
    withExtendedLifetime(directory) {}
  }

  /// A clock that calls a closure whenever somebody reads the time.
  struct CallingClock: Clock {
    let call: @Sendable () -> Void

    var now: ContinuousClock.Instant {
      call()
      return .now
    }

    var minimumResolution: Duration { .zero }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
      try await ContinuousClock().sleep(until: deadline, tolerance: tolerance)
    }
  }

  @Test func `a server that its own thread releases ends`() async throws {
    let directory = try TemporaryDirectory()
    let source = ArrayDataSource([Item(1)])
    let server = Shared<FeedServer?>(nil)
    let (isArmed, test) = (Shared(false), ThreadID.current)
    let clock = CallingClock {
      if isArmed.value, ThreadID.current != test { _ = server.exchange(nil) }
    }
    server.value = try FeedServer(
      path: directory("s"),
      feeds: ["items": Feed(source, key: "id", retaining: .init(age: .seconds(60)), clock: clock)])
    let client = try RawClient(directory("s"))
    try client.send(Self.request)
    _ = try client.line()
    isArmed.value = true
    source.append(Item(2))
    _ = try client.rest()
    try await wait(for: "the end of the server") {
      !FileManager.default.fileExists(atPath: directory("s"))
    }
    #expect(server.value == nil)
  }

  @Test func `a server without a valid limit is a mistake`() async {
    let results = [
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        try Self.serve { $0.aliveInterval = .zero }
      },
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        try Self.serve { $0.stallTime = .seconds(-1) }
      },
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        try Self.serve { $0.connections = 0 }
      },
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        _ = Feed(ArrayDataSource([Item(1)])).lines(aliveEvery: .zero)
      },
    ]
    let messages = [
      "limits.aliveInterval must be above 0, but is 0.0 seconds",
      "limits.stallTime must be above 0, but is -1.0 seconds",
      "limits.connections must be above 0, but is 0",
      "the interval must be above 0 seconds, but is 0.0 seconds",
    ]
    for (result, message) in zip(results, messages) {
      let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
      #expect(text.contains(message), "\(text)")
    }
  }

  @Test func `a limit may be longer than any wait`() throws {
    let directory = try TemporaryDirectory()
    var limits = FeedServer.Limits()
    limits.aliveInterval = .seconds(Int64.max)
    limits.requestTime = .seconds(Int64.max)
    let server = try FeedServer(
      path: directory("s"), feeds: ["items": Feed(ArrayDataSource([Item(1)]))], limits: limits)
    let client = try RawClient(server.path)
    try client.send(Self.request)
    #expect(try client.line().hasPrefix(#"{"event":"initial""#))
  }

  private static func serve(_ change: (inout FeedServer.Limits) -> Void) throws {
    let directory = try TemporaryDirectory()
    var limits = FeedServer.Limits()
    change(&limits)
    let server = try FeedServer(path: directory("s"), feeds: [:], limits: limits)
    server.stop()
  }

  @Test func `a socket that is left behind is replaced, one in use is not`() throws {
    let directory = try TemporaryDirectory()
    // A listener that is closed without removing its file.
    close(try UnixSocket.makeListener(at: ByteString(directory("s"))).descriptor)
    #expect(FileManager.default.fileExists(atPath: directory("s")))
    let feed = Feed(ArrayDataSource([Item(1)]))
    let server = try FeedServer(path: directory("s"), feeds: ["items": feed])
    let error = #expect(throws: SourceError.self) {
      try FeedServer(path: directory("s"), feeds: ["items": feed])
    }
    #expect(error?.message.contains("another process listens there") == true)
    let client = try RawClient(server.path)
    try client.send(Self.request)
    #expect(try client.line().hasPrefix(#"{"event":"initial""#))
  }

  @Test func `a server does not remove the socket that has replaced its own`() throws {
    let directory = try TemporaryDirectory()
    let feed = Feed(ArrayDataSource([Item(1)]))
    let old = try FeedServer(path: directory("s"), feeds: ["items": feed])
    try directory.remove("s")
    let new = try FeedServer(path: directory("s"), feeds: ["items": feed])
    old.stop()
    let client = try RawClient(new.path)
    try client.send(Self.request)
    #expect(try client.line().hasPrefix(#"{"event":"initial""#))
  }

  @Test func `a path that cannot be used is reported`() throws {
    let directory = try TemporaryDirectory()
    try directory.write("text", to: "file")
    for (path, reason) in [
      (directory("file"), "a file that is no socket"),
      (directory("missing/s"), "No such file or directory"),
      (directory(String(repeating: "x", count: 200)), "use a shorter path"),
      ("", "the path is empty"),
    ] {
      let error = #expect(throws: SourceError.self) { try FeedServer(path: path, feeds: [:]) }
      #expect(error?.message.contains(reason) == true, "\(path): \(error?.message ?? "")")
    }
  }

  @Test(arguments: [
    ("{\"list\":\"nothing\"}\n", "there is no list"), ("{}\n", "no member \"list\""),
    ("[]\n", "is not a JSON object"), ("{\"list\":1}\n", "must be a string"),
    ("{\"list\":\"items\",\"since\":[]}\n", "must be a string"),
    ("\n", "not valid JSON"), ("{\"list\n", "not valid JSON"),
    ("\u{0}\u{1}\u{FF}\n", "not valid JSON"), ("GET / HTTP/1.1\r\n", "not valid JSON"),
    ("{\"list\":\"items\"}\n{\"list\":\"items\"}\n", "accepts one line"),
  ])
  func `a bad request is answered and ends its connection`(
    request: String, reason: String
  ) throws {
    let served = try Served()
    let good = try served.client(Self.request)
    _ = try good.line()
    let bad = try served.client(request)
    let line = try bad.line()
    #expect(line.hasPrefix(#"{"event":"error","message":""#))
    #expect(line.replacing("\\\"", with: "\"").contains(reason), "\(line)")
    #expect(try bad.rest() == "")
    try served.check(with: good)
  }

  @Test func `a gigabyte without a line break is refused after the first bytes`() throws {
    let served = try Served()
    let good = try served.client(Self.request)
    _ = try good.line()
    let bad = try served.client()
    let part = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20)
    var isOpen = true
    var count = 0
    while isOpen, count < 1024 {
      isOpen = try bad.send(part)
      count += 1
    }
    #expect(count < 16)
    #expect(try bad.line().contains("longer than 4096 bytes"))
    try served.check(with: good)
  }

  @Test func `half a request and silence is ended after a time`() throws {
    var limits = FeedServer.Limits()
    limits.requestTime = .milliseconds(20)
    let served = try Served(limits: limits)
    let bad = try served.client(#"{"list":"#)
    #expect(try bad.line().contains("no request has come within 0.02 seconds"))
    #expect(try bad.rest() == "")
  }

  @Test func `half a request and an end is refused`() throws {
    let served = try Served()
    let bad = try served.client(#"{"list":"items"}"#)
    shutdown(bad.descriptor, Int32(SHUT_WR))
    #expect(try bad.line().contains("no line break"))
  }

  @Test func `connections beyond the limit are refused, and the next one after that is served`()
    async throws
  {
    var limits = FeedServer.Limits()
    limits.connections = 3
    let served = try Served(limits: limits)
    var clients = try (0..<3).map { _ in try served.client(Self.request) }
    for client in clients { _ = try client.line() }
    let refused = try served.client()
    #expect(try refused.line().contains("has 3 connections, which is its limit"))
    clients.removeFirst()
    // The server notices the closed connection before or after the next one.
    try await wait(for: "a client that is served") {
      try served.client(Self.request).line().hasPrefix(#"{"event":"initial""#)
    }
    try served.check(with: clients[0])
  }

  @Test func `a client that reads nothing is ended, and delays nobody`() throws {
    var limits = FeedServer.Limits()
    limits.stallTime = .milliseconds(100)
    let served = try Served(limits: limits)
    let stalled = try served.client(Self.largeRequest)
    let good = try served.client(Self.request)
    _ = try good.line()
    try served.check(with: good)
    try stalled.waitUntilClosed()
    try served.check(with: good)
  }

  @Test func `a request has at most as many bytes as the limit, with its line break`() throws {
    var limits = FeedServer.Limits()
    limits.requestSize = Self.request.utf8.count
    let served = try Served(limits: limits)
    #expect(try served.client(Self.request).line().contains("initial"))
    let longer = try served.client(" " + Self.request).line()
    #expect(longer.contains("the request is longer than \(limits.requestSize) bytes"), "\(longer)")
    let endless = try served.client(String(repeating: " ", count: limits.requestSize)).line()
    #expect(endless.contains("the request is longer"), "\(endless)")
  }

  @Test func `the memory of lines that nobody reads is limited`() throws {
    var limits = FeedServer.Limits()
    limits.pendingBytes = 1 << 20
    limits.stallTime = .seconds(1)
    let served = try Served(limits: limits)
    let good = try served.client(Self.request)
    _ = try good.line()
    var stalled: [RawClient] = []
    for round in 1...4 {
      // So many changes that the next client receives a new line.
      served.large.transaction { draft in
        for offset in 0..<4_000 { draft.update(at: offset) { $0.n = round } }
      }
      stalled.append(try served.client(Self.largeRequest))
      // The first byte has come, so the line is pending.
      try stalled[round - 1].waitForBytes()
    }
    try stalled[0].waitUntilClosed()
    try served.check(with: good)
  }

  @Test func `clients that read slowly wait for memory, and all receive their lines`() throws {
    var limits = FeedServer.Limits()
    limits.pendingBytes = 1
    let served = try Served(limits: limits)
    let clients = try (0..<4).map { round in
      served.large.transaction { draft in
        for offset in 0..<4_000 { draft.update(at: offset) { $0.n = round } }
      }
      return try served.client(Self.largeRequest)
    }
    let good = try served.client(Self.request)
    _ = try good.line()
    try served.check(with: good)
    // One line at a time has room. The others follow when it was read.
    for client in clients { #expect(try client.line().hasPrefix(#"{"event":"initial""#)) }
  }

  @Test func `a server without free descriptors refuses clients, and serves them later`() async {
    await #expect(processExitsWith: .success) {
      let directory = try TemporaryDirectory()
      let feed = Feed(ArrayDataSource([Item(1)]), key: "id")
      let server = try FeedServer(path: directory("s"), feeds: ["items": feed])
      let first = try RawClient(server.path)
      try first.send(Self.request)
      _ = try first.line()
      UnixSocket.setFileLimit(64)
      var files = Self.openAll()
      // One descriptor for the client, and none for the server.
      close(files.removeLast())
      let refused = try RawClient(server.path)
      let line = try refused.line()
      guard line.contains("has no free file descriptors; try again later") else { exit(1) }
      for file in files { close(file) }
      // The server may refuse another client before it notices the free descriptors.
      while true {
        let client = try RawClient(server.path)
        try client.send(Self.request)
        let line = try client.line()
        if line.hasPrefix(#"{"event":"initial""#) { break }
        guard line.contains("has no free file descriptors") else { exit(2) }
      }
    }
  }

  @Test func `a server that was started without free descriptors serves clients later`() async {
    await #expect(processExitsWith: .success) {
      let directory = try TemporaryDirectory()
      let feed = Feed(ArrayDataSource([Item(1)]), key: "id")
      UnixSocket.setFileLimit(64)
      var files = Self.openAll()
      // Two descriptors for the pipe, one for the listener, and none to keep as a spare.
      for _ in 0..<3 { close(files.removeLast()) }
      let server = try FeedServer(path: directory("s"), feeds: ["items": feed])
      close(files.removeLast())
      let client = try RawClient(server.path)
      try client.send(Self.request)
      // The server cannot accept, refuse or answer. It tries again after some time.
      for file in files { close(file) }
      guard try client.line().hasPrefix(#"{"event":"initial""#) else { exit(1) }
    }
  }

  /// Opens files until there are no descriptors.
  private static func openAll() -> [Int32] {
    // Dispatch opens a descriptor for each clock on a thread of its own, when a timer first uses the clock. It must not
    // take those that a test frees. When the timers have fired, it has them.
    let timers = DispatchGroup()
    let queue = DispatchQueue.global()
    for _ in 0..<2 { timers.enter() }
    queue.asyncAfter(deadline: .now() + .milliseconds(1)) { timers.leave() }
    queue.asyncAfter(wallDeadline: .now() + .milliseconds(1)) { timers.leave() }
    timers.wait()
    var files: [Int32] = []
    while true {
      let file = open("/dev/null", O_RDONLY)
      guard file >= 0 else { return files }
      files.append(file)
    }
  }

  @Test func `a server whose socket or directory was removed goes on, and stops`() throws {
    for name in ["d/s", "d"] {
      let directory = try TemporaryDirectory()
      try FileManager.default.createDirectory(
        atPath: directory("d"), withIntermediateDirectories: true)
      let source = ArrayDataSource([Item(1)])
      let server = try FeedServer(path: directory("d/s"), feeds: ["items": Feed(source, key: "id")])
      let client = try RawClient(server.path)
      try client.send(Self.request)
      _ = try client.line()
      try directory.remove(name)
      source.append(Item(2))
      #expect(try client.line().hasPrefix(#"{"event":"change""#))
      server.stop()
      #expect(try client.rest() == "")
    }
  }

  @Test func `an empty list and a list with equal identities are served`() throws {
    let served = try Served([])
    let client = try served.client(Self.request)
    #expect(try client.line().hasSuffix(#""elements":[]}"#))
    served.source.transaction { draft in
      for number in 0..<3 { draft.append(Item(5, number)) }
    }
    #expect(try client.line().contains(#""inserts":[{"at":0,"element":{"id":5,"n":0}},"#))
    served.source.remove(at: 0)
    #expect(try client.line().contains(#""deletes":[{"at":0,"#))
    let second = try served.client(Self.request)
    #expect(try second.line().hasSuffix(#""elements":[{"id":5,"n":1},{"id":5,"n":2}]}"#))
  }

  @Test(arguments: [
    "", "-", "--", "a-b-c", "-0-", "x-99999999999999999999-y", "x--1-y", "\u{0}-\u{1}-\u{2}",
    "é-1-\u{1F600}", #"\"}\n{"list":"items"#, String(repeating: "1-", count: 1_900),
  ])
  func `a token of another origin begins with the contents`(token: String) throws {
    let served = try Served()
    let client = try served.client()
    try client.send(FeedRequest(list: "items", token: token).bytes)
    #expect(try client.line().hasPrefix(#"{"event":"initial""#))
    try served.check(with: client)
  }

  @Test func `a silent connection receives signs of life`() throws {
    var limits = FeedServer.Limits()
    limits.aliveInterval = .milliseconds(5)
    let served = try Served(limits: limits)
    let client = try served.client(Self.request)
    _ = try client.line()
    for _ in 0..<3 { #expect(try client.line().hasPrefix(#"{"event":"alive","revision":0,"#)) }
    served.source.append(Item(2))
    var line = ""
    repeat { line = try client.line() } while line.hasPrefix(#"{"event":"alive","revision":0"#)
    #expect(line.hasPrefix(#"{"event":"change","since":0,"#))
  }

  @Test func `many lists are served on one socket`() throws {
    let directory = try TemporaryDirectory()
    let sources = (0..<20).map { ArrayDataSource([Item($0)]) }
    let feeds = Dictionary(
      uniqueKeysWithValues: sources.enumerated().map { ("list \($0)", Feed($1)) })
    let server = try FeedServer(path: directory("s"), feeds: feeds)
    let clients = try sources.indices.map { index in
      let client = try RawClient(server.path)
      try client.send(FeedRequest(list: "list \(index)", token: nil).bytes)
      return client
    }
    for (index, client) in clients.enumerated() {
      #expect(try client.line().contains(#""elements":[{"id":\#(index),"n":0}]"#))
      sources[index].append(Item(100))
      #expect(try client.line().contains(#""inserts":[{"at":1,"element":{"id":100,"n":0}}]"#))
    }
  }
}

extension RawClient {
  func waitForBytes() throws {
    var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&request, 1, 60_000) > 0 else { throw Refusal() }
  }

  /// Waits until the server has closed this connection, without reading.
  func waitUntilClosed() throws {
    var request = pollfd(fd: descriptor, events: 0, revents: 0)
    guard poll(&request, 1, 60_000) > 0 else { throw Refusal() }
  }
}
