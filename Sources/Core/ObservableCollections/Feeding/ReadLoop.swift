package import Dispatch
package import SwappablePrimitives

/// Decides when a data source reads: regularly, when something has changed, and again after a failure.
///
///     let loop = ReadLoop(every: .seconds(30), backoff: Backoff(first: .seconds(1))) { [feed] in
///       do {
///         feed.publish(.whole(try await departures()))
///       } catch {
///         // A read that was canceled belongs to a source that is released.
///         if !Task.isCancelled {
///           feed.show(.failed(SourceError(code: "unreachable", message: "\(error)")))
///         }
///         throw error
///       }
///     }
///
/// One read runs at a time. A request that arrives meanwhile leads to one more read. A read that throws an error is
/// repeated after a pause, which grows with each failure. A request does not wait for the end of the pause. A read that
/// never ends blocks all later ones, so give it a timeout.
///
/// The closure must not retain the owner of the loop. The release of the loop cancels the read that runs, and all that
/// would follow. All methods can be called from any thread.
public final class ReadLoop: Sendable {
  private struct State: Sendable {
    var schedule: WorkSchedule
    var work: (@Sendable () -> Void)?
    var failures = 0
    var task: Task<Void, Never>?
  }

  private let queue: DispatchQueue
  private let timer: QueueTimer
  private let clock: AnyClock
  private let startWork: @Sendable (DispatchQueue, @escaping @Sendable () -> Void) -> Void
  private let state: Locked<State>

  /// Creates a loop that does not read yet.
  ///
  /// - Parameters:
  ///   - interval: The pause between the end of a read and the next one, more than zero, or `nil` to read only when
  ///     ``request()`` is called.
  ///   - backoff: The pauses after reads that have failed one after another. They replace the interval, also if they are
  ///     shorter.
  ///   - clock: The clock that measures the pauses.
  ///   - read: A closure that reads and publishes. If it throws an error, it is called again.
  public convenience init(
    every interval: Duration? = nil, backoff: Backoff = Backoff(),
    clock: some Clock<Duration> = ContinuousClock(),
    read: @escaping @Sendable () async throws -> Void
  ) {
    if let interval {
      precondition(interval > .zero, "the interval must be more than 0, but is \(interval)")
    }
    let queue = DispatchQueue(label: "swappable.read-loop")
    let clock = AnyClock(clock)
    self.init(queue: queue, timer: QueueTimer(queue: queue, clock: clock), clock: clock)
    state.withLock { state in
      state.work = { [weak self] in self?.read(every: interval, backoff, read) }
    }
  }

  /// Creates a loop whose work calls ``beginRead(isForced:)`` and ``finishRead(repeatAfter:)`` itself.
  ///
  /// - Parameters:
  ///   - queue: The queue of the work.
  ///   - timer: The timer of the pauses.
  ///   - clock: The clock that measures the pauses.
  ///   - longestRest: The longest rest after a read if requests are throttled.
  ///   - startWork: A closure that runs the work on the queue, now or when there is a thread for it.
  package init(
    queue: DispatchQueue, timer: QueueTimer, clock: AnyClock,
    longestRest: Duration = .milliseconds(100),
    startingBy startWork:
      @escaping @Sendable (
        DispatchQueue, @escaping @Sendable () -> Void
      ) -> Void = { $0.async(execute: $1) }
  ) {
    (self.queue, self.timer, self.clock, self.startWork) = (queue, timer, clock, startWork)
    state = Locked(State(schedule: WorkSchedule(longestRest: longestRest)))
  }

  deinit {
    state.withLock { $0.task }?.cancel()
  }

  /// Begins to read, unless the loop has started before.
  ///
  /// - Parameter prepare: A closure to call before the first read, for example to show that the source loads.
  public func start(_ prepare: () -> Void = {}) {
    guard activate(nil) else { return }
    prepare()
    request()
  }

  /// Reads as soon as possible, because something has changed.
  ///
  /// The first request after a pause leads to a read at once. While requests arrive in quick succession, the loop rests
  /// after each read for eight times the duration of the read, but for 0.1 seconds at most. Before ``start(_:)``, this
  /// method does nothing.
  public func request() { request(isThrottled: true) }

  // MARK: For owners that read themselves

  package var isStopped: Bool { state.withLock { $0.schedule.isStopped } }

  /// A Boolean value that indicates whether a requested read has not begun.
  package var isRequested: Bool { state.withLock { $0.schedule.isRequested } }

  /// Lets requests lead to reads from now on.
  ///
  /// - Parameter work: A closure that reads if ``beginRead(isForced:)`` allows it.
  /// - Returns: `false` if the loop runs already.
  package func activate(_ work: (@Sendable () -> Void)?) -> Bool {
    let now = clock.now
    return state.withLock { state in
      guard state.schedule.isStopped else { return false }
      if let work { state.work = work }
      handle(.start, at: now, &state)
      return true
    }
  }

  package func stop() { handle(.stop) }

  package func request(after pause: Duration = .zero, isThrottled: Bool) {
    let now = clock.now
    state.withLock { state in
      let request = WorkSchedule.Request(time: now.advanced(by: pause), isThrottled: isThrottled)
      handle(.request(request), at: now, &state)
    }
  }

  /// Returns a Boolean value that indicates whether to read now. If so, ``finishRead(repeatAfter:)`` must follow.
  ///
  /// - Parameter isForced: A Boolean value that indicates whether the read runs without a request, and without a rest.
  package func beginRead(isForced: Bool = false) -> Bool { handle(isForced ? .force : .due) }

  /// Ends a read.
  ///
  /// - Parameter interval: The pause before the next read without a request, or `nil` if only a request leads to one.
  package func finishRead(repeatAfter interval: Duration? = nil) {
    handle(.finished(repeatAfter: interval))
  }

  @discardableResult
  private func handle(_ input: WorkSchedule.Input) -> Bool {
    let now = clock.now
    return state.withLock { handle(input, at: now, &$0) }
  }

  /// Performs the action under the lock, so no old pause replaces a new one.
  ///
  /// - Returns: A Boolean value that indicates whether to read now.
  @discardableResult
  private func handle(
    _ input: WorkSchedule.Input, at now: AnyClock.Instant, _ state: inout State
  ) -> Bool {
    let action = state.schedule.handle(input, at: now)
    switch action {
    case .none, .run: break
    case .schedule(let pause):
      guard let work = state.work else { break }
      if pause == .zero {
        startWork(queue, work)
      } else {
        timer.schedule(after: pause) { [startWork, queue] in startWork(queue, work) }
      }
    case .cancel: timer.cancel()
    }
    return action == .run
  }

  // MARK: For closures

  private func read(
    every interval: Duration?, _ backoff: Backoff,
    _ body: @escaping @Sendable () async throws -> Void
  ) {
    // A pause may end after a request has led to a read.
    guard beginRead() else { return }
    let task = Task { [weak self] in
      do {
        try await body()
        self?.noteResult(isFailure: false)
        self?.finishRead(repeatAfter: interval)
      } catch {
        let failures = self?.noteResult(isFailure: true) ?? 1
        self?.finishRead(repeatAfter: backoff.pause(after: failures))
      }
    }
    state.withLock { $0.task = task }
  }

  /// Returns the number of reads that have failed one after another.
  @discardableResult
  private func noteResult(isFailure: Bool) -> Int {
    state.withLock { state in
      state.failures = isFailure ? state.failures + 1 : 0
      return state.failures
    }
  }
}
