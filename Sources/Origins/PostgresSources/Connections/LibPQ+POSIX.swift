#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

import Dispatch
import SwappablePQ
import SwappablePrimitives

/// The functions of libpq that this module calls.
///
/// The library is loaded when the first connection opens. Programs that never open a connection, and the build,
/// need neither the library nor its headers.
typealias LibPQ = PQFunctions

extension LibPQ {
  typealias Text = UnsafePointer<CChar>
  typealias TextList = UnsafePointer<Text?>
  /// A `PGconn`.
  typealias Connection = OpaquePointer
  /// A `PGresult`.
  typealias Result = OpaquePointer
  /// A `PGcancel`.
  typealias Cancel = OpaquePointer

  /// The library, or the error that says how to install it.
  ///
  /// Without the library, each call looks for it again, so it can be installed while a program runs.
  ///
  /// - Parameter names: File names to look for in the system's directories, or paths.
  static func shared(_ names: [String] = LibPQ.names) throws(PostgresError) -> LibPQ {
    if let library = loaded.withLock({ $0[names] }) { return library }
    let library = try load(names)
    loaded.withLock { $0[names] = library }
    return library
  }

  private static let loaded = Locked<[[String]: LibPQ]>([:])

  #if canImport(Darwin)
    static let names = [
      "libpq.5.dylib", "/opt/homebrew/opt/libpq/lib/libpq.5.dylib",
      "/usr/local/opt/libpq/lib/libpq.5.dylib", "/opt/homebrew/lib/libpq.5.dylib",
      "/Applications/Postgres.app/Contents/Versions/latest/lib/libpq.5.dylib",
    ]
    private static let installation = "install it with: brew install libpq"
  #else
    static let names = ["libpq.so.5"]
    private static let installation =
      "install the package libpq5 (Debian, Ubuntu), libpq (Fedora, Alpine), or postgresql-libs (Arch)"
  #endif

  /// Loads the first library that exists.
  static func load(_ names: [String]) throws(PostgresError) -> LibPQ {
    for name in names {
      if let library = dlopen(name, RTLD_NOW | RTLD_LOCAL) {
        return try LibPQ(library: library, name: name)
      }
      let reason = dlerror().map { String(cString: $0) } ?? ""
      // Another reason, such as a lack of file descriptors, may pass.
      if !reason.lowercased().contains("no such file") {
        throw PostgresError(
          .cannotConnect, "cannot load libpq: \(reason)", help: "if this remains, \(installation)")
      }
    }
    throw PostgresError(
      .noClientLibrary,
      "libpq, the client library of PostgreSQL, is not installed (\(names[0]) was not found)",
      help: installation)
  }

  private init(library: UnsafeMutableRawPointer, name: String) throws(PostgresError) {
    var missing: Text?
    self = swappable_pq_load(library, &missing)
    if let missing {
      throw PostgresError(
        .noClientLibrary, "\(name) has no function \(String(cString: missing))",
        help: "update libpq to version 12 or later")
    }
  }

  /// Returns a copy of the descriptor of a connection's socket, which this module closes itself.
  ///
  /// libpq may close its socket at any time and open another one with the same number. An event source of Dispatch
  /// needs a descriptor that stays open until the source is canceled.
  func duplicateSocket(of connection: Connection) -> Int32? {
    let descriptor = socket(connection)
    guard descriptor >= 0 else { return nil }
    let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    return copy >= 0 ? copy : nil
  }

  /// Returns whether a connection's socket has more input, or its end.
  func hasInput(_ connection: Connection) -> Bool {
    var descriptor = pollfd(fd: socket(connection), events: Int16(POLLIN), revents: 0)
    return descriptor.fd >= 0 && poll(&descriptor, 1, 0) > 0
  }

  /// The number of requests to cancel a statement that the servers of this process have not received.
  private static let openCancels = Locked(0)
  private static let openCancelLimit = 16

  /// Sends a request to cancel a statement, on a thread of its own.
  ///
  /// The call of libpq waits for the server without limit. A queue of its own has a thread at once, and takes none of
  /// the few threads that all tasks share.
  ///
  /// - Parameter done: A closure that is called after the server has received the request.
  /// - Returns: `false` if too many servers do not answer, and `done` is not called.
  func cancelLater(_ request: Cancel, _ done: @escaping @Sendable () -> Void) -> Bool {
    let mayWait = Self.openCancels.withLock { count in
      guard count < Self.openCancelLimit else { return false }
      count += 1
      return true
    }
    guard mayWait else { return false }
    nonisolated(unsafe) let request = request
    DispatchQueue(label: "swappable.postgres.cancel").async {
      withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { message in
        guard let address = message.baseAddress else { return }
        Self.withoutPipeSignal { _ = cancel(request, address, 256) }
      }
      Self.openCancels.withLock { $0 -= 1 }
      done()
    }
    return true
  }

  /// Runs a closure that may write to a connection that the other side has closed.
  ///
  /// That sends a signal to the thread, which would end the process. libpq prevents it everywhere but in `PQcancel`.
  static func withoutPipeSignal(_ body: () -> Void) {
    var (signals, old, pending) = (signalSet(SIGPIPE), sigset_t(), sigset_t())
    pthread_sigmask(SIG_BLOCK, &signals, &old)
    body()
    var signal: Int32 = 0
    if sigpending(&pending) == 0, sigismember(&pending, SIGPIPE) == 1 { sigwait(&signals, &signal) }
    pthread_sigmask(SIG_SETMASK, &old, nil)
  }

  static func close(_ descriptor: Int32) {
    #if canImport(Darwin)
      _ = Darwin.close(descriptor)
    #else
      _ = Glibc.close(descriptor)
    #endif
  }
}

extension LibPQ {
  /// Copies and frees a list of options.
  func takeValues(of options: UnsafeMutablePointer<PQOption>) -> [String: String] {
    defer { conninfoFree(options) }
    var values: [String: String] = [:]
    var option = options
    while let keyword = option.pointee.keyword {
      if let value = option.pointee.value {
        values[String(cString: keyword)] = String(cString: value)
      }
      option += 1
    }
    return values
  }

  /// Returns the keywords and values of the hosts without the host that a connection attempt has reached, or `nil` if
  /// there is no other host.
  func otherHosts(of connection: Connection) -> [(String, String)]? {
    guard let options = conninfo(connection) else { return nil }
    let values = takeValues(of: options)
    func list(_ keyword: String) -> [String] {
      values[keyword].map {
        $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
      } ?? []
    }
    let (names, addresses, ports) = (list("host"), list("hostaddr"), list("port"))
    let count = max(names.count, addresses.count)
    guard count > 1 else { return nil }
    func element(_ list: [String], _ index: Int) -> String {
      list.count == count ? list[index] : list.first ?? ""
    }
    let (host, port) = (String(host(connection)), String(port(connection)))
    let others = (0..<count).filter { index in
      let (name, address) = (element(names, index), element(addresses, index))
      return (name.isEmpty ? address : name) != host || element(ports, index) != port
    }
    guard !others.isEmpty else { return nil }
    func joined(_ list: [String]) -> String {
      list.isEmpty ? "" : others.map { element(list, $0) }.joined(separator: ",")
    }
    return [("host", joined(names)), ("hostaddr", joined(addresses)), ("port", joined(ports))]
  }
}

extension String {
  init(_ text: UnsafeMutablePointer<CChar>?) {
    self = text.map { String(cString: $0) } ?? ""
  }
}

/// Calls a closure with an array of C strings that ends with `nil`.
func withTexts<Result>(
  _ texts: [[CChar]], _ body: (LibPQ.TextList) -> Result
) -> Result {
  func add(_ index: Int, _ pointers: [LibPQ.Text?]) -> Result {
    guard index < texts.count else {
      let list = pointers + [nil]
      return list.withUnsafeBufferPointer { list in
        guard let address = list.baseAddress else {
          preconditionFailure("a list that ends with nil is not empty")
        }
        return body(address)
      }
    }
    return texts[index].withUnsafeBufferPointer { add(index + 1, pointers + [$0.baseAddress]) }
  }
  return add(0, [])
}

/// Calls a closure with the arrays that libpq takes for the arguments of a statement.
func withArguments<Result>(
  _ arguments: [PostgresValue],
  _ body: (
    UnsafePointer<UInt32>?, LibPQ.TextList?, UnsafePointer<Int32>?, UnsafePointer<Int32>?
  ) -> Result
) -> Result {
  guard !arguments.isEmpty else { return body(nil, nil, nil, nil) }
  var types = [UInt32](repeating: 0, count: arguments.count)
  var lengths = [Int32](repeating: 0, count: arguments.count)
  var formats = [Int32](repeating: 0, count: arguments.count)
  // All values lie in one array. Texts end with a NUL character.
  var bytes: [CChar] = []
  var starts: [Int?] = []
  for (position, argument) in arguments.enumerated() {
    if case .bytes(let content) = argument {
      types[position] = PostgresType.bytes.rawValue
      formats[position] = 1
      lengths[position] = Int32(clamping: content.count)
      starts.append(bytes.count)
      bytes.append(contentsOf: content.map { CChar(bitPattern: $0) })
      bytes.append(0)
    } else if let text = argument.parameterText {
      starts.append(bytes.count)
      bytes.append(contentsOf: text.utf8CString)
    } else {
      starts.append(nil)
    }
  }
  bytes.append(0)
  return bytes.withUnsafeBufferPointer { bytes in
    let values = starts.map { start in
      start.flatMap { start in bytes.baseAddress.map { $0 + start } }
    }
    return values.withUnsafeBufferPointer { body(types, $0.baseAddress, lengths, formats) }
  }
}
