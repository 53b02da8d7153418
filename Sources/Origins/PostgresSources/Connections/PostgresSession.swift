import Dispatch
import SwappablePQ
import SwappablePrimitives

/// One connection of libpq, whose socket is watched by event sources of Dispatch.
///
/// The owner runs one operation at a time. No call blocks a thread, except the lookup of a host's name.
final class PostgresSession: @unchecked Sendable {
  // Sendable: only blocks of `queue` access the mutable properties. `connection` is an exception for `deinit`,
  // which runs when nothing else can.

  /// An operation that runs, and the object that receives its results.
  private struct Operation: Sendable {
    let receiver: ResultReceiver
    let continuation: CheckedContinuation<Result<Void, PostgresError>, Never>
    let sql: String?
    let cancellation: Cancellation
    var failure: PostgresError?
    var hasEnded = false
    /// A Boolean value that indicates whether the server was asked to cancel it.
    var isCanceled = false
  }

  /// The cancellation of one operation, which may come before the operation begins.
  private final class Cancellation: Sendable {
    let isRequested = Locked(false)
  }

  private let library: LibPQ
  private let connectionString: ConnectionString
  let serverName: String
  /// The longest time to wait for the answer to a statement that is quick on any server.
  let answerLimit: Duration
  let lockTimeout: Duration
  /// Statements that give a transaction the settings on which the form of values depends.
  ///
  /// The settings end with the transaction. Behind a pooler, the next one may run on another connection to the server,
  /// and another client may use this one.
  let localSettings: String
  private let queue: DispatchQueue
  private var connection: LibPQ.Connection?
  private var cancel: LibPQ.Cancel?
  private var watch: SocketWatch?
  private var operation: Operation?
  private var parameters: [(String, String)] = []
  /// The host and port that libpq tries.
  private var host: [String] = []
  private var deadline: QueueTimer
  private var cancelDeadline: QueueTimer
  private var notificationHandlers: [@Sendable (PostgresNotification) -> Void] = []
  /// The last message that belongs to no statement. The server names its reason there before it ends a connection.
  private var lastNotice: String?
  private var loss: PostgresError?
  private var lossHandlers: [@Sendable (PostgresError) -> Void] = []
  private var pendingCancels = 0
  private var afterCancel: [@Sendable () -> Void] = []
  private var willReadInput = false
  private static let readsPerTurn = 16

  /// The number of the server process.
  private(set) var processID: Int32 = 0

  private init(
    _ library: LibPQ, _ connectionString: ConnectionString, serverName: String,
    _ options: PostgresOptions
  ) {
    self.library = library
    self.connectionString = connectionString
    self.serverName = serverName
    answerLimit = options.connectTimeout
    lockTimeout = options.lockTimeout
    localSettings =
      """
      SET LOCAL datestyle = 'ISO, MDY'; SET LOCAL intervalstyle = 'postgres'; \
      SET LOCAL extra_float_digits = 1; SET LOCAL bytea_output = 'hex'; \
      SET LOCAL standard_conforming_strings = on; SET LOCAL row_security = on
      """
      + (options.statementTimeout.map {
        "; SET LOCAL statement_timeout = \($0.milliseconds)"
      } ?? "")
    queue = DispatchQueue(label: "swappable.postgres.session")
    deadline = QueueTimer(queue: queue)
    cancelDeadline = QueueTimer(queue: queue)
  }

  deinit {
    watch?.cancel()
    if let cancel { library.freeCancel(cancel) }
    if let connection {
      _ = library.setNoticeProcessor(connection, { _, _ in }, nil)
      library.finish(connection)
    }
  }

  // MARK: Connecting

  /// Opens a connection.
  static func connect(
    _ connectionString: ConnectionString, options: PostgresOptions
  ) async throws(PostgresError) -> PostgresSession {
    let library = try LibPQ.shared(options.libraryNames)
    let values = try connectionString.values(library)
    let session = PostgresSession(
      library, connectionString, serverName: connectionString.serverName(values),
      options)
    let parameters = connectionParameters(connectionString, values, options)
    try await session.perform { session in session.open(parameters) }
    return session
  }

  private static func connectionParameters(
    _ connectionString: ConnectionString, _ values: [String: String], _ options: PostgresOptions
  ) -> [(String, String)] {
    var parameters: [(String, String)] = [("fallback_application_name", "Swappable")]
    // The connection string overrides what precedes it. A service file would not, so nothing precedes it then.
    if values["service"] == nil {
      parameters += [
        ("keepalives_idle", "10"), ("keepalives_interval", "5"), ("keepalives_count", "3"),
        ("tcp_user_timeout", "20000"),
      ]
    }
    parameters.append(("dbname", connectionString.text))
    parameters.append(("client_encoding", "UTF8"))
    return parameters
  }

  private func open(_ parameters: [(String, String)]) {
    let keywords = parameters.map { Array($0.0.utf8CString) }
    let values = parameters.map { Array($0.1.utf8CString) }
    let connection = withTexts(keywords) { keywords in
      withTexts(values) { library.connectStartParams(keywords, $0, 1) }
    }
    guard let connection else {
      return finish(
        PostgresError(.cannotConnect, "libpq is out of memory", help: "free some memory"))
    }
    self.connection = connection
    _ = library.setNoticeProcessor(
      connection,
      { session, message in
        guard let session, let message else { return }
        Unmanaged<PostgresSession>.fromOpaque(session).takeUnretainedValue().lastNotice =
          String(cString: message)
      }, Unmanaged.passUnretained(self).toOpaque())
    guard library.status(connection) != CONNECTION_BAD else { return failToConnect() }
    self.parameters = parameters
    // libpq asks to wait until the socket can be written first.
    waitToConnect(PGRES_POLLING_WRITING)
  }

  /// Limits the time for the host that libpq tries. Without blocking calls, libpq waits for a host without limit.
  private func limitTime(_ connection: LibPQ.Connection) {
    let host = [String(library.host(connection)), String(library.port(connection))]
    guard host != self.host else { return }
    self.host = host
    deadline.schedule(after: answerLimit) { [weak self] in self?.skipHost() }
  }

  /// Tries the hosts that are left.
  private func skipHost() {
    guard let connection else { return }
    guard let others = library.otherHosts(of: connection) else {
      return failToConnect("no answer within \(answerLimit)")
    }
    watch.take()?.cancel()
    library.finish(connection)
    (self.connection, host) = (nil, [])
    open(parameters + others)
  }

  private func waitToConnect(_ polling: UInt32) {
    guard let connection else { return }
    limitTime(connection)
    switch polling {
    case PGRES_POLLING_OK: finishConnecting()
    case PGRES_POLLING_READING, PGRES_POLLING_WRITING:
      guard let socket = library.duplicateSocket(of: connection) else { return failToConnect() }
      watch?.cancel()
      watch = SocketWatch(
        socket, queue: queue, isWriting: polling == PGRES_POLLING_WRITING
      ) { [weak self] in
        guard let self, let connection = self.connection else { return }
        watch.take()?.cancel()
        waitToConnect(library.connectPoll(connection))
      }
    default: failToConnect()
    }
  }

  private func finishConnecting() {
    guard let connection else { return }
    deadline.cancel()
    _ = library.setNonblocking(connection, 1)
    processID = library.backendPID(connection)
    cancel = library.getCancel(connection)
    guard let socket = library.duplicateSocket(of: connection) else { return failToConnect() }
    watch = SocketWatch(
      socket, queue: queue, isWriting: false, onWritable: { [weak self] in self?.flush() }
    ) { [weak self] in self?.readInput() }
    finish(nil)
  }

  private func failToConnect(_ reason: String? = nil) {
    deadline.cancel()
    let message =
      reason ?? connection.flatMap { library.errorMessage($0) }.map { String(cString: $0) }
    let error = PostgresError.connecting(
      connectionString.redact(message ?? "unknown error"), server: serverName)
    lose(error)
  }

  // MARK: Operations

  /// Sends a statement with arguments, and passes its results to a receiver.
  func run(
    _ sql: String, _ arguments: [PostgresValue], receiver: ResultReceiver,
    limit: Duration? = nil
  ) async throws(PostgresError) {
    for case .text(let text) in arguments where text.utf8.contains(0) {
      throw PostgresError(
        .arguments, "an argument contains a NUL character, which text cannot contain", sql: sql,
        help: "remove the character, or pass bytes to a bytea column")
    }
    try await send(sql, receiver, limit) { library, connection in
      withArguments(arguments) { types, values, lengths, formats in
        library.sendQueryParams(
          connection, sql, Int32(arguments.count), types, values, lengths, formats, 0)
      }
    }
  }

  /// Sends statements without arguments, and passes their results to a receiver.
  func run(
    _ script: String, receiver: ResultReceiver = ResultReceiver(), limit: Duration? = nil
  ) async throws(PostgresError) {
    if script.utf8.contains(0) { throw .nulCharacter(in: script) }
    try await send(script, receiver, limit) { $0.sendQuery($1, script) }
  }

  /// Rolls back a transaction or a savepoint, if there is one, also if the task was canceled. If that fails, the connection
  /// is of no use, and the next statement says so.
  func rollBack(_ sql: String = "ROLLBACK") async {
    if await transactionStatus() ?? PQTRANS_IDLE == PQTRANS_IDLE { return }
    await Task { _ = try? await run(sql, limit: answerLimit) }.value
  }

  /// Ends a transaction, and gives up all that `DISCARD ALL` gives up, also if the task was canceled. If that fails, or if a
  /// sequence of notifications must end, the session is closed.
  func reset() async {
    await rollBack()
    // The encoding that a pooler has for its own connections can be another one.
    let script = """
      SET SESSION AUTHORIZATION DEFAULT; RESET ROLE; RESET ALL; SET client_encoding = 'UTF8'; CLOSE ALL;
      DEALLOCATE ALL; UNLISTEN *; SELECT pg_catalog.pg_advisory_unlock_all();
      DISCARD PLANS; DISCARD TEMP; DISCARD SEQUENCES
      """
    let isReset = await Task {
      if await onQueue({ !$0.notificationHandlers.isEmpty }) { return false }
      return (try? await run(script, limit: answerLimit)) != nil
    }.value
    if !isReset { close() }
  }

  /// Asks for the types of a statement's arguments, and passes the description to a receiver.
  func describe(_ sql: String, receiver: ResultReceiver) async throws(PostgresError) {
    // The unnamed statement is replaced by the next one.
    // Both wait for tables that another transaction has locked.
    let limit = answerLimit + lockTimeout
    try await send(sql, ResultReceiver(), limit) { $0.sendPrepare($1, "", sql, 0, nil) }
    try await send(sql, receiver, limit) { $0.sendDescribePrepared($1, "") }
  }

  private func send(
    _ sql: String, _ receiver: ResultReceiver, _ limit: Duration?,
    _ send: @escaping @Sendable (LibPQ, LibPQ.Connection) -> Int32
  ) async throws(PostgresError) {
    try await perform(sql: sql, receiver: receiver, limit: limit) { session in
      guard let connection = session.connection else { return }
      guard send(session.library, connection) == 1 else { return session.loseConnection() }
      // Without this mode, libpq would store the rows of a query. It has no effect on anything else.
      _ = session.library.setSingleRowMode(connection)
      session.flush()
    }
  }

  /// Runs an operation, and cancels it when the task is canceled.
  private func perform(
    sql: String? = nil, receiver: ResultReceiver = ResultReceiver(), limit: Duration? = nil,
    _ start: @escaping @Sendable (PostgresSession) -> Void
  ) async throws(PostgresError) {
    let cancellation = Cancellation()
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        queue.async { [self] in
          begin(
            Operation(
              receiver: receiver, continuation: continuation, sql: sql,
              cancellation: cancellation),
            limit: limit, start)
        }
      }
    } onCancel: {
      cancellation.isRequested.withLock { $0 = true }
      cancelOperation(cancellation)
    }
    try result.get()
  }

  private func begin(
    _ operation: Operation, limit: Duration?, _ start: @escaping @Sendable (PostgresSession) -> Void
  ) {
    if let loss { return operation.continuation.resume(returning: .failure(loss)) }
    if operation.cancellation.isRequested.withLock({ $0 }) {
      return operation.continuation.resume(returning: .failure(.canceledBeforeStart))
    }
    precondition(self.operation == nil, "one operation at a time runs on a connection")
    if pendingCancels > 0 {
      // A late cancel must not end the next statement.
      afterCancel.append { [weak self] in
        guard let self else {
          return operation.continuation.resume(returning: .failure(.connectionClosed))
        }
        begin(operation, limit: limit, start)
      }
      return
    }
    self.operation = operation
    let cancellation = operation.cancellation
    lastNotice = nil
    if let limit {
      deadline.schedule(after: limit) { [weak self] in
        self?.lose(.noAnswer("the server did not answer within \(limit)"))
      }
    }
    start(self)
    // The task may have been canceled before the operation began.
    if cancellation.isRequested.withLock({ $0 }) { cancelOperation(cancellation) }
  }

  private func flush() {
    guard let connection else { return }
    switch library.flush(connection) {
    case 0: watch?.stopWriting()
    case 1: watch?.startWriting()
    default: loseConnection()
    }
  }

  private func readInput() {
    // When the server closes the connection, there is one event for its last message and the end. Read both.
    for _ in 0..<Self.readsPerTurn {
      guard let connection else { return }
      guard library.consumeInput(connection) == 1 else {
        // The server may have sent the reason before it closed the connection.
        readResults(connection)
        return loseConnection()
      }
      if operation != nil { flush() }
      readResults(connection)
      readNotifications(connection)
      guard let connection = self.connection, library.hasInput(connection) else { return }
    }
    // The server sends faster than this queue reads. Timers and cancellations take turns with it.
    guard !willReadInput else { return }
    willReadInput = true
    queue.async { [weak self] in
      self?.willReadInput = false
      self?.readInput()
    }
  }

  private func readResults(_ connection: LibPQ.Connection) {
    while operation != nil, library.isBusy(connection) == 0 {
      guard let result = library.getResult(connection) else { return finishOperation() }
      receive(result)
      library.clear(result)
      if self.connection == nil { return }
    }
    // Outside an operation, the server may report why it ends the connection.
    if operation == nil, library.isBusy(connection) == 0,
      library.status(connection) != CONNECTION_OK
    {
      loseConnection()
    }
  }

  private func receive(_ result: LibPQ.Result) {
    guard let receiver = operation?.receiver else { return }
    let status = library.resultStatus(result)
    operation?.hasEnded = status != PGRES_SINGLE_TUPLE
    switch status {
    case PGRES_TUPLES_OK, PGRES_SINGLE_TUPLE:
      guard operation?.failure == nil else { return }
      if let failure = receiver.receive(library, result) {
        operation?.failure = failure
        // Do not read the rest of a result that is of no use.
        cancelRunning()
      }
    case PGRES_COMMAND_OK, PGRES_EMPTY_QUERY:
      receiver.receiveCommand(library, result)
    case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH:
      lose(
        PostgresError(
          .sql, "COPY from and to the client is not supported", sql: operation?.sql,
          help: "use INSERT … SELECT unnest($1), COPY with a file of the server, or psql"))
    default:
      // Create the error first: it reads the operation.
      let error = error(of: result)
      if operation?.failure == nil { operation?.failure = error }
    }
  }

  private func error(of result: LibPQ.Result) -> PostgresError {
    var error = PostgresError(library, result, sql: operation?.sql, connectionString)
    if error.code == .canceled, operation?.isCanceled != true {
      (error.code, error.help) = (
        .timeout, "raise statement_timeout, or make the statement faster"
      )
    }
    return error
  }

  private func finishOperation() {
    guard let connection, library.status(connection) == CONNECTION_OK else {
      return loseConnection()
    }
    // Rows without the end of their result are not the whole result.
    if operation?.hasEnded == false {
      return lose(.unexpectedAnswer("the server ended an answer too early", sql: operation?.sql))
    }
    finish(operation?.failure)
  }

  private func finish(_ failure: PostgresError?) {
    deadline.cancel()
    if pendingCancels == 0 { cancelDeadline.cancel() }
    guard let operation = operation.take() else { return }
    operation.continuation.resume(
      returning: failure.map { .failure($0.located(server: serverName)) } ?? .success(()))
  }

  // MARK: Cancellation

  private func cancelOperation(_ cancellation: Cancellation) {
    queue.async { [weak self] in
      guard let self, operation?.cancellation === cancellation else { return }
      if cancel == nil {
        lose(
          PostgresError(
            .canceled, "the connection attempt was canceled", server: serverName,
            help: "connect again"))
      } else {
        cancelRunning()
      }
    }
  }

  /// Cancels the operation that runs.
  private func cancelRunning() {
    guard cancel != nil, let operation, !operation.isCanceled else { return }
    self.operation?.isCanceled = true
    cancelDeadline.schedule(after: answerLimit) { [weak self] in
      guard let self else { return }
      lose(
        self.operation?.failure
          ?? .noAnswer("the server did not cancel a statement within \(answerLimit)"))
    }
    requestCancel(interval: .milliseconds(100))
  }

  /// Asks the server to cancel a statement, again after an interval if it goes on: the server ignores a request that
  /// arrives before the statement.
  private func requestCancel(interval: Duration) {
    guard let cancel else { return }
    // `self` keeps the request alive.
    let isSent = library.cancelLater(cancel) { [self] in
      queue.async { [self] in
        pendingCancels -= 1
        if let canceled = operation?.cancellation {
          queue.asyncAfter(deadline: .now() + .milliseconds(Int(interval.milliseconds))) {
            [weak self] in
            guard let self, operation?.cancellation === canceled else { return }
            requestCancel(interval: min(interval * 2, .seconds(5)))
          }
        }
        guard pendingCancels == 0 else { return }
        if operation == nil { cancelDeadline.cancel() }
        beginWaiting()
      }
    }
    if isSent { pendingCancels += 1 }
  }

  private func beginWaiting() {
    let waiting = afterCancel
    afterCancel = []
    for begin in waiting { begin() }
  }

  // MARK: Notifications and loss

  /// Adds a closure that receives the notifications of the channels that this session listens to.
  func onNotification(_ handler: @escaping @Sendable (PostgresNotification) -> Void) {
    queue.async { [weak self] in self?.notificationHandlers.append(handler) }
  }

  /// Calls a closure once, when the connection is lost or closed.
  func onLoss(_ handler: @escaping @Sendable (PostgresError) -> Void) {
    queue.async { [weak self] in
      guard let self else { return }
      if let loss { handler(loss) } else { lossHandlers.append(handler) }
    }
  }

  private func readNotifications(_ connection: LibPQ.Connection) {
    while self.connection != nil, let notification = library.notifies(connection) {
      let channel = notification.pointee.channel.map { String(cString: $0) } ?? ""
      let payload = notification.pointee.payload.map { String(cString: $0) } ?? ""
      library.freeMemory(notification)
      let received = PostgresNotification(channel: channel, payload: payload)
      for handler in notificationHandlers { handler(received) }
    }
  }

  private func loseConnection() {
    let message = connection.flatMap { library.errorMessage($0) }.map { String(cString: $0) } ?? ""
    // Without a statement, libpq reports only the end of the connection.
    let notice = operation == nil ? lastNotice.take() : nil
    let reason = connectionString.redact(notice.map(PostgresText.withoutSeverity) ?? message)
    lose(
      operation?.failure.map { failure in
        var failure = failure
        if !failure.endsConnection { failure.code = .connectionLost }
        return failure
      }
        ?? PostgresError(
          .connectionLost,
          reason.isEmpty ? "the server closed the connection" : reason,
          server: serverName, help: "check the network and the server"))
  }

  private func lose(_ error: PostgresError) {
    guard loss == nil else { return }
    let error = error.located(server: serverName)
    loss = error
    release()
    finish(error)
    beginWaiting()
    let handlers = lossHandlers
    lossHandlers = []
    for handler in handlers { handler(error) }
  }

  private func release() {
    deadline.cancel()
    cancelDeadline.cancel()
    watch.take()?.cancel()
    notificationHandlers = []
    if let connection { library.finish(connection) }
    connection = nil
  }

  /// Gives up a connection whose server does not answer. An operation that runs fails.
  func abandon() {
    queue.async { [self] in lose(.noAnswer("the server did not answer on any connection")) }
  }

  /// Closes the connection. An operation that runs fails.
  func close() {
    queue.async { [self] in lose(.connectionClosed) }
  }

  /// Returns the state of the transaction as libpq knows it, or `nil` if the connection is lost.
  func transactionStatus() async -> UInt32? {
    await onQueue { session in session.connection.map { session.library.transactionStatus($0) } }
  }

  /// A Boolean value that indicates whether the connection is open, as far as this process knows.
  func isOpen() async -> Bool { await onQueue { $0.loss == nil } }

  private func onQueue<Result: Sendable>(
    _ body: @escaping @Sendable (PostgresSession) -> Result
  ) async -> Result {
    await withCheckedContinuation { continuation in
      queue.async { [self] in continuation.resume(returning: body(self)) }
    }
  }
}
