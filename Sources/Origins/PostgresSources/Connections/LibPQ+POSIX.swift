#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

import Dispatch
import SwappablePrimitives

/// The functions of libpq that this module calls.
///
/// The library is loaded when the first connection opens. Programs that never open a connection, and the build,
/// need neither the library nor its headers.
struct LibPQ: @unchecked Sendable {
  // Sendable: the pointers are constants, and lead to functions that never change.

  typealias Text = UnsafePointer<CChar>
  typealias TextList = UnsafePointer<Text?>
  /// A `PGconn`.
  typealias Connection = OpaquePointer
  /// A `PGresult`.
  typealias Result = OpaquePointer
  /// A `PGcancel`.
  typealias Cancel = OpaquePointer

  /// The fields of a `PGnotify` that are documented. A Swift structure of such fields has the layout of the C structure.
  struct Notification {
    var channel: UnsafeMutablePointer<CChar>?
    var processID: Int32
    var payload: UnsafeMutablePointer<CChar>?
  }

  /// The fields of a `PQconninfoOption`.
  struct Option {
    var keyword: Text?
    var environmentVariable: Text?
    var compiledDefault: Text?
    var value: Text?
    var label: Text?
    var display: Text?
    var size: Int32
  }

  typealias NoticeProcessor = @convention(c) (UnsafeMutableRawPointer?, Text?) -> Void

  // Connecting.
  let connectStartParams: @convention(c) (TextList, TextList, Int32) -> Connection?
  let connectPoll: @convention(c) (Connection) -> UInt32
  let finish: @convention(c) (Connection) -> Void
  let status: @convention(c) (Connection) -> UInt32
  let transactionStatus: @convention(c) (Connection) -> UInt32
  let socket: @convention(c) (Connection) -> Int32
  let host: @convention(c) (Connection) -> Text?
  let port: @convention(c) (Connection) -> Text?
  let conninfo: @convention(c) (Connection) -> UnsafeMutableRawPointer?
  let backendPID: @convention(c) (Connection) -> Int32
  let errorMessage: @convention(c) (Connection) -> Text?
  let setNonblocking: @convention(c) (Connection, Int32) -> Int32
  let setNoticeProcessor:
    @convention(c) (Connection, NoticeProcessor?, UnsafeMutableRawPointer?) -> NoticeProcessor?
  let conninfoParse:
    @convention(c) (Text, UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?)
      -> UnsafeMutableRawPointer?
  let conninfoFree: @convention(c) (UnsafeMutableRawPointer) -> Void

  // Statements.
  let sendQuery: @convention(c) (Connection, Text) -> Int32
  let sendQueryParams:
    @convention(c) (
      Connection, Text, Int32, UnsafePointer<UInt32>?, TextList?, UnsafePointer<Int32>?,
      UnsafePointer<Int32>?, Int32
    ) -> Int32
  let sendPrepare: @convention(c) (Connection, Text, Text, Int32, UnsafePointer<UInt32>?) -> Int32
  let sendDescribePrepared: @convention(c) (Connection, Text) -> Int32
  let setSingleRowMode: @convention(c) (Connection) -> Int32
  let flush: @convention(c) (Connection) -> Int32
  let consumeInput: @convention(c) (Connection) -> Int32
  let isBusy: @convention(c) (Connection) -> Int32
  let getResult: @convention(c) (Connection) -> Result?
  let notifies: @convention(c) (Connection) -> UnsafeMutableRawPointer?
  let getCancel: @convention(c) (Connection) -> Cancel?
  let cancel: @convention(c) (Cancel, UnsafeMutablePointer<CChar>, Int32) -> Int32
  let freeCancel: @convention(c) (Cancel) -> Void
  let freeMemory: @convention(c) (UnsafeMutableRawPointer) -> Void

  // Results.
  let resultStatus: @convention(c) (Result) -> UInt32
  let resultErrorField: @convention(c) (Result, Int32) -> Text?
  let resultErrorMessage: @convention(c) (Result) -> Text?
  let rowCount: @convention(c) (Result) -> Int32
  let fieldCount: @convention(c) (Result) -> Int32
  let fieldName: @convention(c) (Result, Int32) -> Text?
  let fieldType: @convention(c) (Result, Int32) -> UInt32
  let value: @convention(c) (Result, Int32, Int32) -> Text?
  let valueLength: @convention(c) (Result, Int32, Int32) -> Int32
  let valueIsNull: @convention(c) (Result, Int32, Int32) -> Int32
  let commandTuples: @convention(c) (Result) -> Text?
  let parameterCount: @convention(c) (Result) -> Int32
  let parameterType: @convention(c) (Result, Int32) -> UInt32
  let clear: @convention(c) (Result) -> Void

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
    func function<Function>(
      _ symbol: String, as type: Function.Type = Function.self
    ) throws(PostgresError) -> Function {
      guard let address = dlsym(library, symbol) else {
        throw PostgresError(
          .noClientLibrary, "\(name) has no function \(symbol)",
          help: "update libpq to version 12 or later")
      }
      return unsafeBitCast(address, to: Function.self)
    }
    connectStartParams = try function("PQconnectStartParams")
    connectPoll = try function("PQconnectPoll")
    finish = try function("PQfinish")
    status = try function("PQstatus")
    transactionStatus = try function("PQtransactionStatus")
    socket = try function("PQsocket")
    host = try function("PQhost")
    port = try function("PQport")
    conninfo = try function("PQconninfo")
    backendPID = try function("PQbackendPID")
    errorMessage = try function("PQerrorMessage")
    setNonblocking = try function("PQsetnonblocking")
    setNoticeProcessor = try function("PQsetNoticeProcessor")
    conninfoParse = try function("PQconninfoParse")
    conninfoFree = try function("PQconninfoFree")
    sendQuery = try function("PQsendQuery")
    sendQueryParams = try function("PQsendQueryParams")
    sendPrepare = try function("PQsendPrepare")
    sendDescribePrepared = try function("PQsendDescribePrepared")
    setSingleRowMode = try function("PQsetSingleRowMode")
    flush = try function("PQflush")
    consumeInput = try function("PQconsumeInput")
    isBusy = try function("PQisBusy")
    getResult = try function("PQgetResult")
    notifies = try function("PQnotifies")
    getCancel = try function("PQgetCancel")
    cancel = try function("PQcancel")
    freeCancel = try function("PQfreeCancel")
    freeMemory = try function("PQfreemem")
    resultStatus = try function("PQresultStatus")
    resultErrorField = try function("PQresultErrorField")
    resultErrorMessage = try function("PQresultErrorMessage")
    rowCount = try function("PQntuples")
    fieldCount = try function("PQnfields")
    fieldName = try function("PQfname")
    fieldType = try function("PQftype")
    value = try function("PQgetvalue")
    valueLength = try function("PQgetlength")
    valueIsNull = try function("PQgetisnull")
    commandTuples = try function("PQcmdTuples")
    parameterCount = try function("PQnparams")
    parameterType = try function("PQparamtype")
    clear = try function("PQclear")
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
        if let address = message.baseAddress { _ = cancel(request, address, 256) }
      }
      Self.openCancels.withLock { $0 -= 1 }
      done()
    }
    return true
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
  func takeValues(of options: UnsafeMutableRawPointer) -> [String: String] {
    defer { conninfoFree(options) }
    var values: [String: String] = [:]
    var option = options.assumingMemoryBound(to: LibPQ.Option.self)
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
  fileprivate init(_ text: LibPQ.Text?) {
    self = text.map { String(cString: $0) } ?? ""
  }
}

/// The values of libpq's enumerations, as its header defines them.
extension LibPQ {
  enum Polling {
    static let reading: UInt32 = 1
    static let writing: UInt32 = 2
    static let ready: UInt32 = 3
  }

  enum ResultStatus {
    static let emptyQuery: UInt32 = 0
    static let command: UInt32 = 1
    static let rows: UInt32 = 2
    static let copyOut: UInt32 = 3
    static let copyIn: UInt32 = 4
    static let copyBoth: UInt32 = 8
    static let singleRow: UInt32 = 9
  }

  /// The fields of an error report.
  enum ErrorField {
    static let sqlState = Int32(UInt8(ascii: "C"))
    static let message = Int32(UInt8(ascii: "M"))
    static let detail = Int32(UInt8(ascii: "D"))
    static let hint = Int32(UInt8(ascii: "H"))
    static let position = Int32(UInt8(ascii: "P"))
  }

  static let connectionIsOK: UInt32 = 0
  static let connectionIsBad: UInt32 = 1
  /// The transaction status of a connection without a transaction.
  static let isIdle: UInt32 = 0
  static let isInTransaction: UInt32 = 2
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
