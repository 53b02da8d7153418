import Foundation
import SwappablePrimitives
import TestSupport

/// A socket in a temporary directory that passes each client to a closure, on a thread of its own.
final class SocketListener: @unchecked Sendable {
  // Sendable: all properties are constants.

  let directory: String
  private let descriptor: Int32

  /// Begins to listen.
  ///
  /// - Parameter serve: A closure that receives the descriptor of a client, and closes it.
  init(serve: @escaping @Sendable (Int32) -> Void) throws {
    directory = "/tmp/swappable-px-\(String(UInt32.random(in: .min ... .max), radix: 36))"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
    descriptor = try SocketListener.makeSocket()
    try SocketListener.withAddress("\(directory)/.s.PGSQL.5432") { [descriptor] address, size in
      guard bind(descriptor, address, size) == 0, listen(descriptor, 64) == 0 else {
        throw POSIXError(.init(rawValue: errno) ?? .EIO)
      }
    }
    Thread.detachNewThread { [descriptor] in
      while true {
        let client = accept(descriptor, nil, nil)
        if client >= 0 {
          Thread.detachNewThread { serve(client) }
        } else if errno != EINTR {
          break
        }
      }
      close(descriptor)
    }
  }

  deinit {
    shutdown(descriptor, Int32(SHUT_RDWR))
    try? FileManager.default.removeItem(atPath: directory)
  }

  static func makeSocket() throws -> Int32 {
    #if canImport(Glibc)
      let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    #else
      let descriptor = socket(AF_UNIX, SOCK_STREAM, 0)
    #endif
    guard descriptor >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    return descriptor
  }

  static func withAddress<Result>(
    _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) throws -> Result
  ) rethrows -> Result {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { field in
      precondition(path.utf8.count < field.count, "the path \(path) is too long for a socket")
      field.copyBytes(from: path.utf8)
    }
    return try withUnsafePointer(to: address) {
      try $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        try body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }

  /// Connects to the socket of a server.
  static func connect(to path: String) throws -> Int32 {
    let descriptor = try makeSocket()
    let result = withAddress(path) { address, size in
      #if canImport(Glibc)
        Glibc.connect(descriptor, address, size)
      #else
        Darwin.connect(descriptor, address, size)
      #endif
    }
    guard result == 0 else {
      close(descriptor)
      throw POSIXError(.init(rawValue: errno) ?? .EIO)
    }
    return descriptor
  }

  /// Sends all bytes, or returns `false` if the other end has closed.
  static func send(_ bytes: some Collection<UInt8>, to descriptor: Int32) -> Bool {
    var rest = Array(bytes)[...]
    while !rest.isEmpty {
      #if canImport(Glibc)
        let flags = Int32(MSG_NOSIGNAL)
      #else
        let flags: Int32 = 0
      #endif
      let count = rest.withUnsafeBytes {
        #if canImport(Glibc)
          Glibc.send(descriptor, $0.baseAddress, $0.count, flags)
        #else
          Darwin.send(descriptor, $0.baseAddress, $0.count, flags)
        #endif
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  /// Returns the next bytes, or `nil` at the end.
  static func receive(from descriptor: Int32) -> [UInt8]? {
    while true {
      var buffer = [UInt8](repeating: 0, count: 65536)
      let count = read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      return count > 0 ? Array(buffer.prefix(count)) : nil
    }
  }
}

/// A proxy between clients and a server, which understands where messages of the protocol begin and end.
///
/// A closure decides about each message: the proxy can cut a connection at any byte, stop to forward anything, or wait
/// until the test has done something else.
final class PostgresProxy: @unchecked Sendable {
  // Sendable: all mutable state is locked.

  enum Direction: Sendable, Hashable { case toServer, toClient }

  /// A message, without its bytes.
  struct Message: Sendable, Hashable {
    /// The number of the connection, from 0.
    var connection: Int
    var direction: Direction
    /// The number of the message in its connection and direction, from 0.
    var number: Int
    /// The type, or 0 for the first message of a client.
    var type: UInt8
    /// The number of bytes.
    var size: Int
  }

  enum Action: Sendable {
    case forward
    /// Forward the message twice.
    case forwardTwice
    /// Forward some bytes of the message, and close the connection at both ends.
    case cut(after: Int)
    /// Call a closure with the number of the server process, and forward the message then.
    case call(@Sendable (_ processID: Int32) -> Void)
  }

  typealias Policy = @Sendable (Message) -> Action

  private struct State: Sendable {
    var policy: Policy = { _ in .forward }
    var messages: [Message] = []
    var connectionCount = 0
    var processIDs: [Int: Int32] = [:]
    var isStalled = false
    var isDown = false
    var open: [Int: (Int32, Int32)] = [:]
  }

  private let state = Locked(State())
  private let condition = NSCondition()
  private var listener: SocketListener?

  init(to server: PostgresServer, policy: @escaping Policy = { _ in .forward }) throws {
    state.withLock { $0.policy = policy }
    let path = server.socketPath
    listener = try SocketListener { [weak self] client in
      guard let self else { return _ = close(client) }
      serve(client, path)
    }
  }

  deinit {
    cutAll()
  }

  var directory: String { listener?.directory ?? "" }

  func connectionString(database: String, user: String = "postgres") -> String {
    "host=\(directory) dbname=\(database) user=\(user)"
  }

  /// The messages so far.
  var messages: [Message] { state.withLock { $0.messages } }

  /// Sets the closure that decides about messages.
  func setPolicy(_ policy: @escaping Policy) {
    state.withLock { $0.policy = policy }
  }

  /// Stops to forward anything, without closing connections. New connections are accepted, but nobody answers.
  func stall() {
    setStalled(true)
  }

  func resume() {
    setStalled(false)
  }

  private func setStalled(_ isStalled: Bool) {
    condition.lock()
    state.withLock { $0.isStalled = isStalled }
    condition.broadcast()
    condition.unlock()
  }

  /// Closes all connections. While the proxy is down, it also closes new ones.
  func setDown(_ isDown: Bool) {
    state.withLock { $0.isDown = isDown }
    if isDown { cutAll() }
  }

  func cutAll() {
    for connection in state.withLock({ Array($0.open.keys) }) { cut(connection) }
  }

  private func cut(_ connection: Int) {
    state.withLock { state in
      guard let (client, server) = state.open[connection] else { return }
      shutdown(client, Int32(SHUT_RDWR))
      shutdown(server, Int32(SHUT_RDWR))
    }
  }

  private func serve(_ client: Int32, _ path: String) {
    let server = try? SocketListener.connect(to: path)
    guard let server, !state.withLock({ $0.isDown }) else {
      if let server { close(server) }
      close(client)
      return
    }
    let connection = state.withLock { state in
      defer { state.connectionCount += 1 }
      state.open[state.connectionCount] = (client, server)
      return state.connectionCount
    }
    let done = DispatchSemaphore(value: 0)
    Thread.detachNewThread { [self] in
      pump(client, server, connection, .toServer)
      done.signal()
    }
    pump(server, client, connection, .toClient)
    done.wait()
    state.withLock { $0.open[connection] = nil }
    close(client)
    close(server)
  }

  private func pump(_ source: Int32, _ target: Int32, _ connection: Int, _ direction: Direction) {
    var buffer: [UInt8] = []
    var number = 0
    loop: while let bytes = SocketListener.receive(from: source) {
      buffer += bytes
      while let (type, size) = header(buffer, isFirst: number == 0 && direction == .toServer),
        buffer.count >= size
      {
        let message = Message(
          connection: connection, direction: direction, number: number, type: type, size: size)
        guard forward(message, buffer.prefix(size), target) else { break loop }
        number += 1
        buffer.removeFirst(size)
      }
    }
    cut(connection)
  }

  private func header(_ bytes: [UInt8], isFirst: Bool) -> (type: UInt8, size: Int)? {
    let start = isFirst ? 0 : 1
    guard bytes.count >= start + 4 else { return nil }
    let size = bytes[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
    return (isFirst ? 0 : bytes[0], start + size)
  }

  private func forward(
    _ message: Message, _ bytes: ArraySlice<UInt8>, _ target: Int32
  ) -> Bool {
    condition.lock()
    while state.withLock({ $0.isStalled }) { condition.wait() }
    condition.unlock()
    let (policy, processID) = state.withLock { state in
      state.messages.append(message)
      if message.direction == .toClient, message.type == UInt8(ascii: "K") {
        let number = bytes.dropFirst(5).prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        state.processIDs[message.connection] = Int32(bitPattern: number)
      }
      return (state.policy, state.processIDs[message.connection])
    }
    switch policy(message) {
    case .forward: return SocketListener.send(bytes, to: target)
    case .forwardTwice: return SocketListener.send(bytes + bytes, to: target)
    case .cut(let count):
      _ = SocketListener.send(bytes.prefix(count), to: target)
      return false
    case .call(let body):
      body(processID ?? 0)
      return SocketListener.send(bytes, to: target)
    }
  }
}
