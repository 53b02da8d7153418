import Foundation
import Measuring

/// A client of the soak: a reader, and the contents that it has.
private final class Client {
  enum Kind { case reading, reconnecting, silent }

  let kind: Kind
  let reader: Reader
  var list: FoldedList?
  var token: String?
  var faults: [String] = []

  init(_ kind: Kind, _ reader: Reader, _ list: FoldedList?, _ token: String?) {
    (self.kind, self.reader, self.list, self.token) = (kind, reader, list, token)
  }

  func receive(_ line: UnsafeRawBufferPointer) {
    let head = String(decoding: line.prefix(400), as: UTF8.self)
    if let token = member("token", of: head) { self.token = token }
    if head.hasPrefix("{\"event\":\"change\"") {
      if let new = list?.applying(line) { list = new } else { faults.append("misfit: \(head)") }
    } else if head.hasPrefix("{\"event\":\"initial\"") {
      list = FoldedList(initial: line)
      if list == nil { faults.append("initial: \(head)") }
    } else if !head.hasPrefix("{\"event\":\"alive\"") {
      faults.append(head)
    }
  }

  private func member(_ name: String, of head: String) -> String? {
    guard let start = head.range(of: "\"\(name)\":\"")?.upperBound,
      let end = head[start...].firstIndex(of: "\"")
    else { return nil }
    return String(head[start..<end])
  }
}

/// Runs 1,000 clients against a server with 200 commits a second, for a minute. A tenth never reads, and a tenth
/// reconnects all the time. Ends with an error if a reader does not have the contents of the server at the end.
func runSoak(clients count: Int, rate: Int, seconds: Int) {
  withSocketPath { path in
    let server = ServerProcess(path)
    let first = Client(.reading, Reader(path), nil, nil)
    Swarm.withScratch { scratch in
      let swarm = Swarm([first.reader])
      while first.list == nil { swarm.receive(scratch) { first.receive($1) } }
      say("server, after its first line: \(text(bytes: server.memory.resident))")
      let clients =
        [first]
        + (1..<count).map { index in
          let kind: Client.Kind = index % 10 == 1 ? .silent : index % 10 == 2 ? .reconnecting : .reading
          let token = kind == .silent ? nil : first.token
          return Client(kind, Reader(path, since: token), first.list, token)
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
    var report = begin + 10_000_000_000
    while isDone.wait(timeout: .now()) == .timedOut {
      receive()
      reconnect()
      guard now() > report else { continue }
      report += 10_000_000_000
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
      if active[index].kind != .reconnecting { active[index].faults.append("closed") }
      active[index].reader.connect(since: active[index].token)
    }
    // The successors of contents that some reader had are needed until all readers have passed them.
    let held = Set(active.compactMap { $0.list.map(ObjectIdentifier.init) })
    for list in lists {
      if let list, !held.contains(ObjectIdentifier(list)) { list.forgetSuccessors() }
    }
  }

  /// Lets a few of the clients that reconnect do so, each at another time.
  private func reconnect() {
    let reconnecting = active.filter { $0.kind == .reconnecting }
    for client in reconnecting where Int.random(in: 0..<10) == 0 {
      client.reader.connect(since: client.token)
      reconnections += 1
    }
  }

  /// Waits until all readers have the last contents, and compares them with those of a new client.
  func check(against path: String) {
    let last = Client(.reading, Reader(path), nil, nil)
    let lastSwarm = Swarm([last.reader])
    while last.list == nil { lastSwarm.receive(scratch) { last.receive($1) } }
    let end = now() + 30_000_000_000
    while now() < end, active.contains(where: { $0.list?.revision != last.list?.revision }) {
      receive()
      lastSwarm.receive(scratch, milliseconds: 1) { last.receive($1) }
    }
    let wrong = active.filter { $0.list?.elements != last.list?.elements }.count
    let faults = active.flatMap(\.faults)
    let memory = server.memory
    say("server at the end: \(text(bytes: memory.resident)), at most \(text(bytes: memory.highest))")
    say("readers: \(active.count), with other contents than the server: \(wrong), faults: \(faults.count)")
    for fault in faults.prefix(5) { say(fault) }
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
