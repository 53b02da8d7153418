import ObservableCollections
import ReactiveSignals
import SQLSources
import SwappablePrimitives

/// The reason for a read, from weak to strong.
enum ReadRequest: Int, Sendable, Comparable {
  /// Something was written.
  case change
  /// The connection was lost, and is there again.
  case reconnection
  /// Changes may have been missed, for example because their writer bypasses the triggers.
  case verification
  /// Nothing is known.
  case everything

  static func < (left: ReadRequest, right: ReadRequest) -> Bool { left.rawValue < right.rawValue }
}

/// What the monitor has told since the last read.
struct ServerChange: Sendable {
  /// The strongest reason for a read, or `nil` if the monitor has only lost its connection.
  var request: ReadRequest?
  /// The error of the monitor while it cannot follow changes.
  var failure: PostgresError?
  /// The last error of the monitor, even if it has connected since.
  var loss: PostgresError?
  /// A Boolean value that indicates whether the monitor has connected or failed.
  var concernsConnection = false
  var count = 1

  init(_ event: ServerMonitor.Event) {
    switch event {
    case .connected: (request, concernsConnection) = (.reconnection, true)
    case .failed(let error): (failure, loss, concernsConnection) = (error, error, true)
    case .safety: request = .verification
    case .found, .recorded: request = .change
    }
  }

  mutating func merge(_ other: ServerChange) {
    request = [request, other.request].compactMap(\.self).max()
    if other.concernsConnection { (failure, concernsConnection) = (other.failure, true) }
    loss = other.loss ?? loss
    count += other.count
  }
}

extension PostgresLiveQuery: PolledSource {
  struct Memory: Sendable {
    /// The number of the client at the monitor.
    let client: Int
    let subscription: Disposable
    /// The error of the monitor, while it cannot follow changes.
    var failure: PostgresError?
    /// A Boolean value that indicates whether the status has shown that the monitor lost its connection.
    var hasShownLoss = false
    /// The reason for the last read, if it has failed and is repeated.
    var repeated: ReadRequest?
    /// A Boolean value that indicates whether the last read found no connection.
    var isOffline = false
    /// The number of reads that have failed since the last success.
    var failures = 0
  }

  func start(_ report: @escaping @Sendable (ServerChange) -> Void) -> Memory {
    let client = pool.monitor.attach { [weak self] event in
      // Connections that opened before may be as dead as the one that was lost.
      if case .connected(isBack: true) = event { self?.abandonConnection() }
      report(ServerChange(event))
    }
    return Memory(
      client: client,
      subscription: Disposable { [monitor = pool.monitor] in monitor.detach(client) })
  }

  func merge(_ change: ServerChange, into unread: inout ServerChange) { unread.merge(change) }

  func readTime(of unread: ServerChange, _ memory: Memory) -> ReadTime {
    if unread.concernsConnection { return .now }
    // Without a connection, a change does not lead to an attempt before the next one is due.
    if memory.isOffline, unread.request == .change { return .later }
    return unread.count > 1 ? .atRest : .now
  }

  func read(
    _ attempt: ReadAttempt, _ memory: inout Memory
  ) async -> ReadResult {
    if let change = attempt.change, change.concernsConnection { memory.failure = change.failure }
    let requests = [
      attempt.change?.request, attempt.isRefresh ? .verification : nil, memory.repeated,
    ].compactMap(\.self)
    if let loss = attempt.change?.loss, !memory.hasShownLoss, !attempt.isRefresh {
      // Show why the contents may change, also if the monitor is back already.
      memory.hasShownLoss = true
      return .failure(loss.sourceState, again: requests.isEmpty ? nil : .zero)
    }
    guard let request = requests.max() else {
      // The monitor reports when it has connected.
      return memory.failure.map { .failure($0.sourceState) } ?? .nothing(for: nil)
    }
    let before = readCounts.withLock { $0 }
    var result: ReadResult
    do throws(PostgresError) {
      result = .contents(try await update(request) { attempt.collection.snapshot })
      let now = readCounts.withLock { $0 }
      result.hasRead = now.all != before.all || now.keyed != before.keyed
      // Without a monitor, the contents are right, but nothing follows later changes.
      result.state = memory.failure?.sourceState ?? .loaded
      result.mode = mode
      memory.failures = 0
      (memory.repeated, memory.isOffline, memory.hasShownLoss) = (nil, false, false)
    } catch {
      if error.mayPass { memory.failures += 1 }
      let pause = Backoff.connections.pause(after: memory.failures)
      result = .failure(error.sourceState, again: error.mayPass ? pause : nil)
      memory.repeated = error.mayPass ? max(request, .reconnection) : nil
      memory.isOffline = error.mayPass && error.endsConnection
    }
    result.diagnostics = diagnostics
    pool.monitor.follow(recordedTables, for: memory.client)
    return result
  }
}
