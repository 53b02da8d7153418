import Foundation
import Synchronization
import SwappablePrimitives

/// The thread of a server: it waits for all its sockets, and serves those that are ready.
final class ServerLoop: @unchecked Sendable {
  // Sendable: the variables are accessed only on the thread that runs the loop. Other threads use `wake()`, `stop()`,
  // and the atomic values.

  private let feeds: [ByteString: Feed]
  private let limits: FeedServer.Limits
  private let listener: UnixSocket.Listener
  private let wakePipe: WakePipe
  private let isWakeSent = Atomic<Bool>(false)
  private let isStopped = Atomic<Bool>(false)
  private let count = Atomic<Int>(0)
  private let end = DispatchGroup()
  /// The thread that runs the loop.
  private let thread = Locked<ThreadID?>(nil)
  private let clock = ContinuousClock()

  /// The requests of `poll`: the pipe, the listener, and one for each connection, in the same order.
  private var requests: [pollfd]
  private var connections: [ServerConnection] = []
  /// A Boolean value that indicates whether a feed may have something new for any connection.
  private var hasNews = true
  /// The time until which no connection is accepted, because the process has no free descriptors.
  private var restEnd: ContinuousClock.Instant?
  /// A descriptor that is closed to refuse a client when no more can be opened.
  private var spare: Int32
  /// The lines that clients have begun to read, with the number of these clients.
  private var pending: [ObjectIdentifier: Int] = [:]
  private var pendingBytes = 0
  /// The last large line of a client that has connected, and the last one of other clients, with the times until which
  /// they are kept. Clients that need them meanwhile share them, even if those before have received or left them.
  private var kept: [KeptLine] = []

  init(
    path: ByteString, feeds: [ByteString: Feed], limits: FeedServer.Limits
  ) throws(SocketError) {
    (self.feeds, self.limits) = (feeds, limits)
    guard let wakePipe = WakePipe() else { throw SocketError("cannot create a pipe", code: errno) }
    self.wakePipe = wakePipe
    listener = try UnixSocket.makeListener(at: path)
    spare = open("/dev/null", O_RDONLY | O_CLOEXEC)
    requests = [
      pollfd(fd: wakePipe.readEnd, events: Int16(POLLIN), revents: 0),
      pollfd(fd: listener.descriptor, events: Int16(POLLIN), revents: 0),
    ]
    end.enter()
  }

  var connectionCount: Int { count.load(ordering: .relaxed) }

  /// Ends the wait for sockets.
  func wake() {
    if !isWakeSent.exchange(true, ordering: .sequentiallyConsistent) { wakePipe.wake() }
  }

  func stop() {
    isStopped.store(true, ordering: .sequentiallyConsistent)
    wake()
    // A closure of the user that the loop calls may stop or release the server. The loop cannot wait for itself.
    if thread.withLock({ $0 }) != .current { end.wait() }
  }

  // MARK: The loop

  func run() {
    thread.withLock { $0 = .current }
    let observations = feeds.values.map { feed in
      (feed, feed.contents.news.observe { [weak self] in self?.wake() })
    }
    var wait = Duration.zero
    while !isStopped.load(ordering: .sequentiallyConsistent) {
      // Rounded up.
      let milliseconds = Int32(clamping: max(0, (wait + .nanoseconds(999_999)).milliseconds))
      let found = requests.withUnsafeMutableBufferPointer {
        poll($0.baseAddress, nfds_t($0.count), milliseconds)
      }
      if found > 0 { serveReady() }
      // One pass over all connections: changes, time limits and heartbeats.
      wait = serveAll()
    }
    for (feed, id) in observations { feed.contents.news.removeObserver(id) }
    for connection in connections { close(connection.descriptor) }
    connections = []
    listener.remove()
    if spare >= 0 { close(spare) }
    end.leave()
  }

  private func serveReady() {
    if requests[0].revents != 0 {
      var bytes: (UInt64, UInt64) = (0, 0)
      _ = read(wakePipe.readEnd, &bytes, 16)
      // A change that is posted from here on sends another byte.
      isWakeSent.store(false, ordering: .sequentiallyConsistent)
      hasNews = true
    }
    for index in connections.indices where requests[index + 2].revents != 0 {
      let events = Int32(requests[index + 2].revents)
      let connection = connections[index]
      if events & POLLIN != 0 { receive(connection) }
      if events & (POLLHUP | POLLERR | POLLNVAL) != 0, events & POLLIN == 0 {
        connection.isOver = true
      }
    }
    if requests[1].revents != 0 { acceptAll() }
  }

  /// Serves each connection that has something to send and can be written to, and removes those that are over.
  ///
  /// - Returns: The time until the next pass is due.
  private func serveAll() -> Duration {
    if hasNews, !connections.isEmpty { for feed in feeds.values { feed.contents.advance() } }
    let now = clock.now
    var next = now.advanced(by: limits.aliveInterval)
    var waitingBytes: Int?
    var index = 0
    while index < connections.count {
      let connection = connections[index]
      let isWritable = Int32(requests[index + 2].revents) & POLLOUT != 0
      if !connection.isOver, isDue(connection, isWritable) { serve(connection, now) }
      if connection.deadline <= now { expire(connection, now) }
      if connection.isOver {
        remove(at: index)
        continue
      }
      requests[index + 2].events = connection.events
      requests[index + 2].revents = 0
      next = min(next, connection.deadline)
      if connection.hasMore { next = now }
      if let size = connection.waitingBytes { waitingBytes = min(size, waitingBytes ?? size) }
      index += 1
    }
    // Without connections, the feeds have not advanced.
    if !connections.isEmpty { hasNews = false }
    kept.removeAll { $0.end <= now }
    for line in kept { next = min(next, line.end) }
    if let restEnd { next = min(next, restEnd) }
    if let restEnd, restEnd <= now { endRest() }
    if let waitingBytes { next = min(next, makeRoom(for: waitingBytes, now)) }
    return now.duration(to: next)
  }

  /// Returns a Boolean value that indicates whether a connection may have something to send.
  private func isDue(_ connection: ServerConnection, _ isWritable: Bool) -> Bool {
    if connection.pending != nil { return isWritable }
    if let size = connection.waitingBytes { return hasRoom(for: size) }
    return hasNews || connection.hasMore
  }

  private func remove(at index: Int) {
    let connection = connections[index]
    setPending(nil, of: connection)
    close(connection.descriptor)
    connections.swapAt(index, connections.count - 1)
    connections.removeLast()
    requests.swapAt(index + 2, requests.count - 1)
    requests.removeLast()
    count.store(connections.count, ordering: .relaxed)
  }

  // MARK: Accepting

  private func acceptAll() {
    for _ in 0..<16 {
      do throws(SocketError) {
        guard let descriptor = try UnixSocket.acceptConnection(listener.descriptor) else { return }
        accept(descriptor)
      } catch {
        guard error.code == EMFILE || error.code == ENFILE, spare >= 0 else { return rest() }
        close(spare)
        if let descriptor = try? UnixSocket.acceptConnection(listener.descriptor) {
          refuse(descriptor, "the server has no free file descriptors; try again later")
        }
        spare = open("/dev/null", O_RDONLY | O_CLOEXEC)
      }
    }
  }

  /// Accepts no connections for some time. The listener stays ready, and the loop would not wait.
  private func rest() {
    requests[1].events = 0
    restEnd = clock.now.advanced(by: .milliseconds(100))
  }

  private func endRest() {
    restEnd = nil
    requests[1].events = Int16(POLLIN)
    if spare < 0 { spare = open("/dev/null", O_RDONLY | O_CLOEXEC) }
  }

  private func accept(_ descriptor: Int32) {
    if let reason = UnixSocket.refusal(of: "client", descriptor, by: "server") {
      return refuse(descriptor, reason)
    }
    guard connections.count < limits.connections else {
      return refuse(
        descriptor,
        "the server has \(limits.connections) connections, which is its limit; try again later")
    }
    connections.append(
      ServerConnection(descriptor, deadline: clock.now.advanced(by: limits.requestTime)))
    requests.append(pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0))
    count.store(connections.count, ordering: .relaxed)
  }

  private func refuse(_ descriptor: Int32, _ message: String) {
    sendError(message, to: descriptor)
    close(descriptor)
  }

  private func sendError(_ message: String, to descriptor: Int32) {
    var buffer = LineBuffer()
    EventLine.appendError(message, to: &buffer)
    _ = buffer.bytes.withUnsafeBytes { UnixSocket.sendNow($0, to: descriptor) }
  }

  // MARK: Receiving

  private func receive(_ connection: ServerConnection) {
    let result = withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
      let result = UnixSocket.receive(into: buffer, from: connection.descriptor)
      if case .bytes(let count) = result {
        connection.request += UnsafeRawBufferPointer(rebasing: buffer[..<count])
      }
      return result
    }
    switch result {
    case .nothing: break
    // The client may still read.
    case .end: connection.isInputOpen = false
    case .failed: connection.isOver = true
    case .bytes:
      let lineEnd = connection.request.firstIndex(of: UInt8(ascii: "\n"))
      if connection.cursor != nil || lineEnd.map({ $0 < connection.request.count - 1 }) ?? false {
        fail(connection, "the server accepts one line on each connection, the request")
      } else if lineEnd ?? connection.request.count >= limits.requestSize {
        fail(
          connection,
          "the request is longer than \(limits.requestSize) bytes; send one line, "
            + #"such as {"list":"NAME"}"#)
      } else if let lineEnd {
        begin(connection, Array(connection.request[..<lineEnd]))
      }
    }
    if !connection.isInputOpen, connection.cursor == nil {
      fail(connection, #"the request has no line break; send one line, such as {"list":"NAME"}"#)
    }
  }

  private func begin(_ connection: ServerConnection, _ line: [UInt8]) {
    connection.request = []
    do throws(InputEventError) {
      let request = try FeedRequest(line)
      guard let feed = feeds[ByteString(request.list)] else {
        let names = feeds.keys.sorted().map(\.description).joined(separator: ", ")
        throw InputEventError("there is no list \"\(request.list)\"; the lists are \(names)")
      }
      connection.cursor = FeedCursor(feed.contents, since: request.token)
      connection.hasMore = true
      connection.deadline = clock.now.advanced(by: limits.aliveInterval)
    } catch {
      fail(connection, error.reason)
    }
  }

  /// Sends an error, if no line has been sent in part, and closes the connection.
  private func fail(_ connection: ServerConnection, _ message: String) {
    guard !connection.isOver else { return }
    if connection.written == 0 { sendError(message, to: connection.descriptor) }
    connection.isOver = true
  }

  // MARK: Sending

  /// The number of lines that a connection may send before the others have their turn.
  private static let turn = 16

  private func serve(_ connection: ServerConnection, _ now: ContinuousClock.Instant) {
    connection.hasMore = false
    for _ in 0..<Self.turn {
      if connection.pending == nil, !beginLine(of: connection, now) { return }
      guard send(connection, now) else { return }
    }
    connection.hasMore = true
  }

  /// Makes the next line of a connection the pending one.
  ///
  /// - Returns: `false` if there is no line, or if the line has to wait for memory. The connection then stays at its
  ///   revision, and receives one larger change later.
  private func beginLine(
    of connection: ServerConnection, _ now: ContinuousClock.Instant
  ) -> Bool {
    var cursor = connection.cursor
    connection.waitingBytes = nil
    guard let line = cursor?.next() else { return false }
    let size = line.bytes.count
    guard
      size <= Self.smallSize || hasRoom(for: size) || pending[ObjectIdentifier(line.storage)] != nil
    else {
      connection.waitingBytes = size
      return false
    }
    connection.cursor = cursor
    setPending(line, of: connection)
    if size > Self.smallSize {
      kept.removeAll { $0.isFirst == !connection.hasLines }
      kept.append(
        KeptLine(line: line, isFirst: !connection.hasLines, end: now.advanced(by: .seconds(1))))
    }
    connection.hasLines = true
    return true
  }

  /// Sends the pending line, or a part of it.
  ///
  /// - Returns: A Boolean value that indicates whether the line was sent to its end.
  private func send(_ connection: ServerConnection, _ now: ContinuousClock.Instant) -> Bool {
    guard let line = connection.pending else { return true }
    let count = line.bytes.withUnsafeBytes { bytes in
      UnixSocket.sendNow(
        UnsafeRawBufferPointer(rebasing: bytes[connection.written...]),
        to: connection.descriptor)
    }
    guard let count else {
      connection.isOver = true
      return false
    }
    connection.written += count
    if connection.written == line.bytes.count {
      setPending(nil, of: connection)
      connection.deadline = now.advanced(by: limits.aliveInterval)
      return true
    }
    if count > 0 || !connection.isStalled {
      connection.deadline = now.advanced(by: limits.stallTime)
    }
    connection.isStalled = true
    return false
  }

  /// Does what is due when nothing has happened on a connection for some time.
  private func expire(_ connection: ServerConnection, _ now: ContinuousClock.Instant) {
    if connection.cursor == nil {
      fail(connection, "no request has come within \(limits.requestTime)")
    } else if connection.pending != nil {
      connection.isOver = true
    } else if let cursor = connection.cursor {
      setPending(cursor.alive(), of: connection)
      _ = send(connection, now)
    }
  }

  // MARK: The memory of pending lines

  private func setPending(_ line: Feed.Line?, of connection: ServerConnection) {
    if let old = connection.pending {
      let id = ObjectIdentifier(old.storage)
      let users = pending[id, default: 1] - 1
      pending[id] = users == 0 ? nil : users
      if users == 0 { pendingBytes -= old.bytes.count }
    }
    if let line {
      let users = pending[ObjectIdentifier(line.storage), default: 0]
      pending[ObjectIdentifier(line.storage)] = users + 1
      if users == 0 { pendingBytes += line.bytes.count }
    }
    connection.pending = line
    connection.written = 0
    connection.isStalled = false
  }

  /// The size of a line that does not wait for memory. The system buffers such a line, unless the client is slow.
  private static let smallSize = 16 << 10

  private func hasRoom(for size: Int) -> Bool {
    pending.isEmpty || pendingBytes + size <= limits.pendingBytes
  }

  /// Ends the connections that have read nothing for some time, because others wait for their memory.
  ///
  /// - Returns: The time at which the next pass is due.
  private func makeRoom(
    for size: Int, _ now: ContinuousClock.Instant
  ) -> ContinuousClock.Instant {
    if hasRoom(for: size) { return now }
    let patience = limits.stallTime / 10
    let end = now.advanced(by: limits.stallTime - patience)
    var isReleased = false
    for connection in connections where connection.isStalled && connection.deadline <= end {
      setPending(nil, of: connection)
      connection.isOver = true
      isReleased = true
    }
    return isReleased ? now : now.advanced(by: patience)
  }
}

/// A line that is kept for some time.
private struct KeptLine {
  let line: Feed.Line
  /// A Boolean value that indicates whether it was the first line of a connection.
  let isFirst: Bool
  let end: ContinuousClock.Instant
}

/// A client of a server.
final class ServerConnection {
  let descriptor: Int32
  /// The bytes of the request that have come so far.
  var request: [UInt8] = []
  /// The position in the list, after the request.
  var cursor: FeedCursor?
  /// The line that is being sent, and the number of bytes that have been sent.
  var pending: Feed.Line?
  var written = 0
  /// A Boolean value that indicates whether the client did not read all that was sent.
  var isStalled = false
  /// A Boolean value that indicates whether the connection has begun to send a line.
  var hasLines = false
  /// The size of the next line, if it waits for memory.
  var waitingBytes: Int?
  var hasMore = false
  var isInputOpen = true
  /// A Boolean value that indicates whether the connection has to be closed.
  var isOver = false
  /// The time at which the server ends the connection, or sends an `alive` line.
  var deadline: ContinuousClock.Instant

  init(_ descriptor: Int32, deadline: ContinuousClock.Instant) {
    (self.descriptor, self.deadline) = (descriptor, deadline)
  }

  /// The events to wait for.
  var events: Int16 {
    Int16((isInputOpen ? POLLIN : 0) | (pending == nil ? 0 : POLLOUT))
  }
}
