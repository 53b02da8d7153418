import Diffing
import Dispatch
import FileSources
import ObservableCollections
import SwappablePrimitives

/// The connection of a remote source: it performs what its state machine decides.
final class RemoteReader<Element: Differentiable & Sendable>: @unchecked Sendable {
  // Sendable: the variables are accessed on the serial queue only.

  private let queue = DispatchQueue(label: "swappable.remote")
  private let transport: any RemoteTransport
  private let writer: SourceWriter<Element>
  private let decoding: ElementDecoding<Element>
  private let timing: RemoteTiming
  private let pauseTimer: QueueTimer
  private let silenceTimer: QueueTimer
  private let successTimer: QueueTimer

  private var machine: RemoteMachine
  /// The member that identifies elements: the one that the user names, or the one that the server names.
  private var key: String?
  private let isKeyFixed: Bool
  /// The task that receives, and the number of the connection.
  private var task: Task<Void, Never>?
  private var connection = 0
  /// The time since which the contents of a new connection are awaited, or `nil` if there is none.
  private var waitingSince: ContinuousClock.Instant?

  init(
    _ transport: any RemoteTransport, _ writer: SourceWriter<Element>, key: String?,
    decoding: ElementDecoding<Element>, timing: RemoteTiming, clock: AnyClock
  ) {
    (self.transport, self.writer, self.decoding) = (transport, writer, decoding)
    (self.key, isKeyFixed, self.timing) = (key, key != nil, timing)
    machine = RemoteMachine { Self.error($0, transport) }
    pauseTimer = QueueTimer(queue: queue, clock: clock)
    silenceTimer = QueueTimer(queue: queue, clock: clock)
    successTimer = QueueTimer(queue: queue, clock: clock)
  }

  func start() { queue.async { [self] in handle(.start) } }

  func stop() { queue.async { [self] in handle(.stop) } }

  private func handle(_ input: RemoteMachine.Input, publish: (SourceStatus) -> Void = { _ in }) {
    for action in machine.handle(input) {
      switch action {
      case .connect(let token): connect(since: token)
      case .disconnect: disconnect()
      case .awaitSuccess:
        successTimer.schedule(after: timing.success) { [weak self] in self?.handle(.lasted) }
      case .publish(let status): publish(status)
      case .show(let status): writer.show(status.state, diagnostics: status.diagnostics)
      case .pause(let failures, let delay):
        pauseTimer.schedule(after: delay + timing.backoff.pause(after: failures)) { [weak self] in
          self?.handle(.retry)
        }
      }
    }
    if machine.state == .stopped { pauseTimer.cancel() }
  }

  // MARK: Connections

  private func connect(since token: String?) {
    connection += 1
    waitingSince = waitingSince ?? .now
    restartSilence()
    task = Task { [weak self, transport, connection, limit = timing.lineLimit] in
      var splitter = LineSplitter(limit: limit)
      let parts: any AsyncSequence<[UInt8], any Error>
      do {
        parts = try await transport.connect(since: token)
      } catch {
        self?.post(Self.failure(error, transport, isAtConnecting: true), from: connection)
        return
      }
      do {
        for try await part in parts {
          let lines = try splitter.lines(in: part)
          guard await self?.receive(lines, from: connection) ?? false else { return }
        }
        let reason = "the server closed the connection"
        self?.post(.broken(Self.error(reason, transport)), from: connection)
      } catch {
        self?.post(Self.failure(error, transport), from: connection)
      }
    }
  }

  private func disconnect() {
    connection += 1
    silenceTimer.cancel()
    successTimer.cancel()
    task?.cancel()
    task = nil
  }

  private func post(_ input: RemoteMachine.Input, from connection: Int) {
    queue.async { [weak self] in
      if self?.connection == connection { self?.handle(input) }
    }
  }

  private func restartSilence() {
    silenceTimer.schedule(after: timing.silence) { [weak self, timing, transport] in
      self?.handle(
        .refused(Self.error("the server has sent nothing for \(timing.silence)", transport)))
    }
  }

  private static func error(_ reason: String, _ transport: any RemoteTransport) -> SourceError {
    error(TransportError(reason), transport)
  }

  private static func error(
    _ failure: TransportError, _ transport: any RemoteTransport
  ) -> SourceError {
    var failure = failure
    failure.description = "\(transport): \(failure.description)"
    return SourceError(code: "disconnected", message: failure.description, underlying: failure)
  }

  /// Returns the input for an error of the transport.
  private static func failure(
    _ error: any Error, _ transport: any RemoteTransport, isAtConnecting: Bool = false
  ) -> RemoteMachine.Input {
    var failure = error as? TransportError ?? TransportError("\(error)")
    failure.isAtConnecting = isAtConnecting
    let shown = Self.error(failure, transport)
    let delay: Duration
    switch failure.retry {
    case .never: return .ended(shown)
    case .after(let time): delay = time
    case .afterPause: delay = .zero
    }
    return isAtConnecting ? .refused(shown, after: delay) : .broken(shown, after: delay)
  }

  // MARK: Receiving

  /// Processes lines on the queue, and waits until this is done.
  ///
  /// - Returns: A Boolean value that indicates whether the connection goes on.
  private func receive(_ lines: [[UInt8]], from connection: Int) async -> Bool {
    await withCheckedContinuation { continuation in
      queue.async { [self] in
        if self.connection == connection { restartSilence() }
        for line in lines where self.connection == connection { receive(line) }
        continuation.resume(returning: self.connection == connection)
      }
    }
  }

  private func receive(_ line: [UInt8]) {
    if JSONText.isBlank(line: line[...]) { return }
    do throws(InputEventError) {
      try receive(InputEvent(line, key: key, isKeyFixed: isKeyFixed))
    } catch {
      handle(failure(error))
    }
  }

  /// Returns the input for a line that cannot be used. The key and the type are those of the reader, not of the
  /// server.
  private func failure(_ error: InputEventError) -> RemoteMachine.Input {
    if isKeyFixed, let reason = error.keyReason {
      return .refused(
        Self.error("the key of this source does not fit the list: \(reason)", transport))
    }
    if error.isAboutType { return .refused(Self.error(error.reason, transport)) }
    return .invalid(
      Self.error("the server sent a line that is not valid: \(error.reason)", transport))
  }

  private func receive(_ event: InputEvent) throws(InputEventError) {
    switch event {
    case .initial(let initial):
      // A load takes as long as its reader waits: the server may load the list only now.
      let start = waitingSince ?? .now
      let elements = try decode(initial.elements)
      let input = RemoteMachine.Input.initial(
        revision: initial.revision, token: initial.token, failure: initial.failure)
      handle(input) { status in
        if !isKeyFixed { key = initial.key }
        waitingSince = nil
        writer.publish(
          .whole(elements), status.state, diagnostics: status.diagnostics, startedAt: start)
      }
    case .change(let change):
      guard let revision = machine.revision else {
        throw InputEventError("the first event is a change, not an initial event")
      }
      try change.checkContinues(from: revision)
      let checked: InputChange.Checked
      do throws(InputEventError) {
        checked = try check(change)
      } catch {
        return handle(.mismatch(Self.error("a change does not fit: \(error.reason)", transport)))
      }
      let inserted = try decode(checked.inserted)
      let updated = try decode(checked.updated)
      handle(.change(revision: change.revision, token: change.token)) { status in
        // The sender may identify elements in another way, so its moves need not be the fewest here.
        writer.publish(
          .changed(checked.changeset.withLeastMoves, inserted: inserted, updated: updated),
          status.state, diagnostics: status.diagnostics)
      }
    case .status(let state, let message):
      handle(.status(SourceStatus(reported: state, message)))
    case .alive(let request, let revision, let token, let failure):
      waitingSince = nil
      handle(.alive(since: request, revision: revision, token: token, failure: failure))
    case .error(let message):
      handle(.refused(Self.error("the server reports: \(message)", transport)))
    }
  }

  private func check(_ change: InputChange) throws(InputEventError) -> InputChange.Checked {
    if let snapshot = writer.collection.snapshot as? Snapshot<JSONElement> {
      return try change.checked(against: snapshot)
    }
    return try change.checked(count: writer.collection.count)
  }

  private func decode(_ elements: [JSONElement]) throws(InputEventError) -> [Element] {
    do throws(ElementDecodingError) {
      return try decoding.decode(elements)
    } catch {
      throw InputEventError(decoding: Element.self, error)
    }
  }
}
