import Foundation
import SwappablePrimitives
import TestSupport

/// A server that speaks only as much of the protocol as libpq and a data source need, and that can misbehave anywhere.
///
/// It has one table with the columns `id` and `title`. It says that it is a standby server, so nothing but reads is
/// asked of it.
final class HostileServer: Sendable {
  /// A moment at which the server can misbehave.
  enum Moment: Sendable, Hashable {
    /// A client has connected, and has sent nothing that was read.
    case accept
    /// A client has sent its first message.
    case startup
    /// A client asks to cancel a statement.
    case cancel
    /// A client waits for the description of a statement.
    case describe(String)
    /// A client waits for the result of a statement.
    case execute(String)
    /// A client waits for the server to be ready.
    case ready(String)

    /// The SQL for whose result a client waits.
    var executed: String? { if case .execute(let sql) = self { sql } else { nil } }
  }

  /// A misbehavior at some moments, instead of the correct answer.
  struct Fault: Sendable {
    var name: String
    /// The number of moments after which the first attempt of the client has ended.
    var attempts = 4
    /// Returns a Boolean value that indicates whether the server misbehaves at a moment.
    var happens: @Sendable (_ moment: Moment) -> Bool
    var misbehave: @Sendable (_ moment: Moment, _ client: Client) -> Void
  }

  struct Column: Sendable {
    var name: String
    var type: UInt32 = 25
  }

  /// A connection to a client.
  final class Client: Sendable {
    let descriptor: Int32
    private let buffer = Locked<[UInt8]>([])
    private let begun = Locked(false)

    /// A Boolean value that indicates whether the client has begun a transaction.
    var hasBegun: Bool { begun.withLock { $0 } }

    fileprivate func noteStatement(_ sql: String) {
      if sql.hasPrefix("BEGIN") { begun.withLock { $0 = true } }
    }

    init(_ descriptor: Int32) {
      self.descriptor = descriptor
    }

    /// Sends bytes. Returns `false` if the client has closed the connection.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool { SocketListener.send(bytes, to: descriptor) }

    /// Sends bytes again and again until the client closes the connection.
    func flood(_ bytes: (Int) -> [UInt8]) {
      var count = 0
      while send(bytes(count)) { count += 1 }
    }

    func close() { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// Waits until the client closes the connection.
    func waitForEnd() {
      while SocketListener.receive(from: descriptor) != nil {}
    }

    func read(_ count: Int) -> [UInt8]? {
      while buffer.withLock({ $0.count }) < count {
        guard let bytes = SocketListener.receive(from: descriptor) else { return nil }
        buffer.withLock { $0 += bytes }
      }
      return buffer.withLock { buffer in
        defer { buffer.removeFirst(count) }
        return Array(buffer.prefix(count))
      }
    }
  }

  private struct State: Sendable {
    var fault: Fault?
    var moments: AsyncStream<Moment>.Continuation?
    var rows = HostileServer.rows(1...3)
    var version = 1
    var connectionCount = 0
    var clients: [Int: Client] = [:]
  }

  /// The state, which threads share that must not keep the server alive.
  private final class Store: Sendable {
    let state = Locked(State())

    func withLock<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
      state.withLock { body(&$0) }
    }
  }

  private let state = Store()
  private let listener: SocketListener

  init() throws {
    listener = try SocketListener { [state] descriptor in
      let client = Client(descriptor)
      let number = state.withLock { state in
        state.connectionCount += 1
        state.clients[state.connectionCount] = client
        return state.connectionCount
      }
      HostileServer.serve(client, state)
      state.withLock { state in
        state.clients[number] = nil
        close(descriptor)
      }
    }
  }

  deinit {
    cutAll()
  }

  static func rows(_ ids: ClosedRange<Int>) -> [[String?]] { ids.map { ["\($0)", "row \($0)"] } }

  var connectionString: String { "host=\(listener.directory) dbname=test user=test" }

  /// The number of connections so far, including those that only cancel statements.
  var connectionCount: Int { state.withLock { $0.connectionCount } }

  /// Behaves well until this method is called, and misbehaves from then on.
  ///
  /// - Parameter cutting: A Boolean value that indicates whether the open connections end.
  /// - Returns: The moments at which the server misbehaves.
  @discardableResult
  func begin(_ fault: Fault, cutting: Bool = false) -> AsyncStream<Moment> {
    let (moments, continuation) = AsyncStream.makeStream(of: Moment.self)
    state.withLock { state in
      (state.fault, state.moments) = (fault, continuation)
      state.version += 1
    }
    if cutting { cutAll() }
    return moments
  }

  /// Behaves well again, with other rows. Connections that misbehave at this moment end.
  func behave(rows: [[String?]]) {
    state.withLock { state in
      state.moments?.finish()
      (state.fault, state.moments) = (nil, nil)
      state.rows = rows
      state.version += 1
    }
    cutAll()
  }

  /// Changes the state of the database.
  func write() {
    state.withLock { $0.version += 1 }
  }

  private func cutAll() {
    state.withLock { state in
      for client in state.clients.values { client.close() }
    }
  }

  // MARK: Messages

  static func message(_ type: Character, _ body: [UInt8] = []) -> [UInt8] {
    [type.asciiValue ?? 0] + integer(body.count + 4) + body
  }

  static func integer(_ value: Int) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
  }

  static func short(_ value: Int) -> [UInt8] {
    [UInt8(truncatingIfNeeded: value >> 8), UInt8(truncatingIfNeeded: value)]
  }

  static func text(_ text: String) -> [UInt8] { Array(text.utf8) + [0] }

  static func description(_ columns: [Column]) -> [UInt8] {
    message(
      "T",
      short(columns.count)
        + columns.flatMap { column -> [UInt8] in
          let table = integer(0) + short(0)
          let type = integer(Int(column.type)) + short(-1) + integer(-1)
          return text(column.name) + table + type + short(0)
        })
  }

  static func row(_ values: [[UInt8]?]) -> [UInt8] {
    message(
      "D", short(values.count) + values.flatMap { $0.map { integer($0.count) + $0 } ?? integer(-1) }
    )
  }

  static func row(_ values: [String?]) -> [UInt8] { row(values.map { $0.map { Array($0.utf8) } }) }

  static func complete(_ tag: String) -> [UInt8] { message("C", text(tag)) }

  static func error(_ fields: [(Character, String)]) -> [UInt8] {
    message("E", fields.flatMap { [$0.0.asciiValue ?? 0] + text($0.1) } + [0])
  }

  static func notice(_ content: String) -> [UInt8] {
    message("N", [UInt8(ascii: "S")] + text("NOTICE") + [UInt8(ascii: "M")] + text(content) + [0])
  }

  static func notification(_ channel: [UInt8], _ payload: [UInt8]) -> [UInt8] {
    message("A", integer(7) + channel + [0] + payload + [0])
  }

  static let ready = message("Z", [UInt8(ascii: "I")])

  // MARK: Serving

  private static let cancelCode = 80_877_102

  private static func serve(_ client: Client, _ state: Store) {
    func isHandled(_ moment: Moment) -> Bool {
      let (fault, moments) = state.withLock { ($0.fault, $0.moments) }
      guard let fault, fault.happens(moment) else { return false }
      moments?.yield(moment)
      fault.misbehave(moment, client)
      return true
    }
    if isHandled(.accept) { return }
    guard let first = readFirst(client) else { return }
    if first == cancelCode {
      _ = isHandled(.cancel)
      return
    }
    if isHandled(.startup) { return }
    client.send(message("R", integer(0)))
    for (name, value) in [
      ("server_version", "15.0"), ("client_encoding", "UTF8"),
      ("standard_conforming_strings", "on"),
    ] {
      client.send(message("S", text(name) + text(value)))
    }
    client.send(message("K", integer(4711) + integer(1)) + ready)
    var sql = ""
    while let type = client.read(1)?[0], let length = client.read(4) {
      guard let body = client.read(length.reduce(0) { $0 << 8 | Int($1) } - 4) else { return }
      var answer: [UInt8] = []
      switch Character(UnicodeScalar(type)) {
      case "Q":
        sql = String(decoding: body.dropLast(), as: UTF8.self)
        client.noteStatement(sql)
        if isHandled(.execute(sql)) { continue }
        answer = complete("SET")
        if !isHandled(.ready(sql)) { answer += ready }
      case "P":
        let parts = body.split(separator: 0, omittingEmptySubsequences: false)
        sql = String(decoding: parts[1], as: UTF8.self)
        answer = message("1")
      case "B": answer = message("2")
      case "D":
        if isHandled(.describe(sql)) { continue }
        if body.first == UInt8(ascii: "S") { answer = message("t", short(0)) }
        answer += description(result(of: sql, state).columns)
      case "E":
        if isHandled(.execute(sql)) { continue }
        let rows = result(of: sql, state).rows
        answer = rows.flatMap { row($0) } + complete("SELECT \(rows.count)")
      case "S": if !isHandled(.ready(sql)) { answer = ready }
      case "X": return
      default: break
      }
      client.send(answer)
    }
  }

  private static func readFirst(_ client: Client) -> Int? {
    guard let length = client.read(4), let code = client.read(4),
      client.read(max(0, length.reduce(0) { $0 << 8 | Int($1) } - 8)) != nil
    else { return nil }
    return code.reduce(0) { $0 << 8 | Int($1) }
  }

  private static func result(
    of sql: String, _ state: Store
  ) -> (columns: [Column], rows: [[String?]]) {
    if sql.contains("pg_current_snapshot") {
      return ([Column(name: "state")], [["\(state.withLock { $0.version }) 0/0"]])
    }
    if sql.contains("pg_is_in_recovery") { return ([Column(name: "standby")], [["t"]]) }
    return (
      [Column(name: "id", type: 23), Column(name: "title")], state.withLock { $0.rows }
    )
  }
}
