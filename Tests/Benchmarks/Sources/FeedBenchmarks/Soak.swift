import AllocationMeter
import Foundation
import Measuring

/// A client of the soak: a reader, and the contents that it has.
private final class Client {
  enum Kind { case reading, reconnecting, silent }

  let kind: Kind
  let reader: Reader
  /// The contents, if this client applies its lines. Other clients check only that each line follows the line before.
  private(set) var list: FoldedList?
  private(set) var revision = 0
  private(set) var token: String?
  var faults: [String] = []

  init(_ kind: Kind, _ reader: Reader, after first: Client? = nil, folds: Bool = true) {
    (self.kind, self.reader) = (kind, reader)
    (revision, token) = (first?.revision ?? 0, first?.token)
    list = folds ? first?.list : nil
    isFolding = folds
  }

  private let isFolding: Bool
  /// A Boolean value that indicates whether the client has received a change since it connected.
  private(set) var hasNews = false

  func reconnect() {
    reader.connect(since: token)
    hasNews = false
  }

  func receive(_ line: UnsafeRawBufferPointer) {
    if line.starts(with: "{\"event\":\"change\"".utf8) {
      follow(line)
    } else if line.starts(with: "{\"event\":\"initial\"".utf8) {
      guard let new = FoldedList(initial: line) else { return addFault(line) }
      (revision, token) = (new.revision, new.token)
      list = isFolding ? new : nil
    } else if !line.starts(with: "{\"event\":\"alive\"".utf8),
      // The sign of life of a client whose first line waits for memory.
      !line.starts(with: "{\"event\":\"status\",\"state\":\"loaded\"".utf8)
    {
      addFault(line)
    }
  }

  private func follow(_ line: UnsafeRawBufferPointer) {
    // {"event":"change","since":1,"revision":2,"token":"…",
    let head = line.prefix(160).split(separator: UInt8(ascii: "\"")).map {
      String(decoding: $0, as: UTF8.self)
    }
    guard head.count > 10, Int(head[6].dropFirst().dropLast()) == revision,
      let next = Int(head[8].dropFirst().dropLast())
    else { return addFault(line) }
    (revision, token, hasNews) = (next, head[11], true)
    guard isFolding else { return }
    list = list?.applying(line)
    if list == nil { addFault(line) }
  }

  private func addFault(_ line: UnsafeRawBufferPointer) {
    faults.append(String(decoding: line.prefix(120), as: UTF8.self))
  }
}

/// Runs 1,000 clients against a server with 200 commits a second, for a minute. A tenth never reads, and a tenth
/// reconnects all the time. Ends with an error if a reader does not have the contents of the server at the end.
func runSoak(clients count: Int, rate: Int, seconds: Int) {
  withSocketPath { path in
    let server = ServerProcess(path)
    let first = Client(.reading, Reader(path))
    // Many contents are made and released here.
    allocator_keep_freed_memory()
    Swarm.withScratch { scratch in
      let swarm = Swarm([first.reader])
      while first.list == nil { swarm.receive(scratch) { first.receive($1) } }
      say("server, after its first line: \(text(bytes: server.memory.resident))")
      let clients =
        [first]
        + (1..<count).map { index in
          let kind: Client.Kind =
            index % 10 == 1 ? .silent : index % 10 == 2 ? .reconnecting : .reading
          let token = kind == .silent ? nil : first.token
          return Client(
            kind, Reader(path, since: token), after: first, folds: index / 10 % 10 == 0)
        }
      let soak = Soak(server, clients, scratch)
      soak.run(rate: rate, seconds: seconds)
      soak.check(against: path)
    }
    server.stop()
  }
}

private final class Soak {
  private let server: ServerProcess
  private let clients: [Client]
  private let active: [Client]
  private let swarm: Swarm
  private let scratch: UnsafeMutableRawBufferPointer
  private var reconnections = 0
  /// The connections that the server closed, because their clients did not read for some time.
  private var closings = 0

  init(_ server: ServerProcess, _ clients: [Client], _ scratch: UnsafeMutableRawBufferPointer) {
    (self.server, self.clients, self.scratch) = (server, clients, scratch)
    active = clients.filter { $0.kind != .silent }
    swarm = Swarm(active.map(\.reader))
  }

  func run(rate: Int, seconds: Int) {
    let start = server.memory.resident
    say("server, with \(clients.count) clients: \(text(bytes: start))")
    let processorStart = server.processorTime
    server.commit(rate: rate, seconds: seconds)
    let isDone = DispatchSemaphore(value: 0)
    Thread.detachNewThread { [server = Unchecked(server)] in
      server.value.wait()
      isDone.signal()
    }
    let begin = now()
    var report = begin + 5_000_000_000
    while isDone.wait(timeout: .now()) == .timedOut {
      receive()
      reconnect()
      guard now() > report else { continue }
      report += 5_000_000_000
      say("after \((now() - begin) / 1_000_000_000) s: \(text(bytes: server.memory.resident))")
    }
    let time = Double(now() - begin) / 1e9
    say("commits: \(rate * seconds) in \(time) s; reconnections: \(reconnections)")
    let used = (server.processorTime - processorStart) / time * 100
    say("server's processor time: \(Int(used)) % of a core")
    say("lines: \(active.reduce(0) { $0 + $1.reader.lineCount })")
    say("bytes: \(text(bytes: active.reduce(0) { $0 + $1.reader.byteCount }))")
    say("different lines: \(FoldedList.foldCount)")
  }

  private func receive() {
    let lists = active.map(\.list)
    for index in swarm.receive(scratch, milliseconds: 100, { active[$0].receive($1) }) {
      closings += 1
      active[index].reconnect()
    }
    // The successors of contents that some reader had are needed until all readers have passed them.
    let held = Set(active.compactMap { $0.list.map(ObjectIdentifier.init) })
    for list in lists {
      if let list, !held.contains(ObjectIdentifier(list)) { list.forgetSuccessors() }
    }
  }

  /// Lets a few of the clients that reconnect do so, each at another time. They have received a change before.
  private func reconnect() {
    for client in active where client.kind == .reconnecting && client.hasNews {
      guard Int.random(in: 0..<10) == 0 else { continue }
      client.reconnect()
      reconnections += 1
    }
  }

  /// Waits until all readers have the last contents, and compares them with those of a new client.
  func check(against path: String) {
    let last = Client(.reading, Reader(path))
    let lastSwarm = Swarm([last.reader])
    while last.list == nil { lastSwarm.receive(scratch) { last.receive($1) } }
    let end = now() + 60_000_000_000
    while now() < end, active.contains(where: { $0.revision != last.revision }) {
      receive()
      lastSwarm.receive(scratch, milliseconds: 1) { last.receive($1) }
    }
    let folded = active.compactMap(\.list)
    let wrong =
      active.count { $0.token != last.token }
      + folded.count { $0.elements != last.list?.elements }
    let faults = active.flatMap(\.faults)
    let memory = server.memory
    say(
      "server at the end: \(text(bytes: memory.resident)), at most \(text(bytes: memory.highest))")
    say(
      "readers: \(active.count), of which \(folded.count) apply all lines, closed: \(closings), "
        + "with other contents than the server: \(wrong), faults: \(faults.count)"
    )
    for (fault, times) in Dictionary(faults.map { ($0.prefix(120), 1) }, uniquingKeysWith: +)
      .prefix(8)
    {
      say("\(times) times: \(fault)")
    }
    if wrong + faults.count > 0 { exit(1) }
  }
}

/// A value that another thread uses as well.
struct Unchecked<Value>: @unchecked Sendable {
  // Sendable: the thread calls only functions that do not change the value.
  let value: Value

  init(_ value: Value) {
    self.value = value
  }
}
