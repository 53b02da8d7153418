import Diffing
import ReactiveSignals
import SwappablePrimitives

extension DataSource {
  /// Waits until the source has loaded for the first time. If the source is idle, it is started.
  ///
  /// - Returns: The contents.
  /// - Throws: A `SourceError` if the source fails or is missing before it has loaded, or a
  ///   `CancellationError` if the task is canceled.
  @discardableResult
  public func loaded() async throws -> Snapshot<Element> {
    let wait = LoadWait<Element>()
    let observation = observeState { wait.see($0) }
    defer { observation.dispose() }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { wait.start($0) }
    } onCancel: {
      wait.finish(.failure(CancellationError()))
    }
  }

  /// Blocks until all earlier commits, upstream first, have reached the immediate observers.
  ///
  /// Do not call this method inside an observer or a transaction. It would wait for itself, and
  /// traps. In an async function, use ``flush()``.
  @available(
    *, noasync, message: "Write 'await flush()', which also waits for scheduled observers"
  )
  public func flushAndWait() {
    let context = ThreadContext.current
    precondition(
      context.deliveryDepth == 0 && context.transactionDepth == 0,
      "flushAndWait() inside an observer or a transaction would wait for itself: call it outside")
    collection.node.flushAndWait()
  }

  /// Waits until all earlier commits have reached all observers, including scheduled ones.
  ///
  /// In a function that is not async, use ``flushAndWait()``, or call this method in a `Task`.
  public func flush() async {
    await collection.node.flush()
    let node = collection.node
    let mailboxes = node.domain.lock.withLock { state in
      node.observers.mailboxes(&state) + node.statusObservers.mailboxes(&state)
    }
    for mailbox in mailboxes { await mailbox.settled() }
  }
}

extension Node {
  /// Blocks until the domains upstream, and then the domain of this node, have delivered.
  package func flushAndWait() {
    for domain in DependencyGraph.domains(upTo: self) { domain.waitUntilDelivered() }
  }

  /// Waits like ``flushAndWait()``, but suspends the task instead of blocking the thread.
  package func flush() async {
    for domain in DependencyGraph.domains(upTo: self) { await domain.delivered() }
  }
}

/// The state of a call that waits for the first load.
private final class LoadWait<Element: Differentiable & Sendable>: Sendable {
  typealias Outcome = Result<Snapshot<Element>, any Error>
  typealias Continuation = CheckedContinuation<Snapshot<Element>, any Error>

  private let state = Locked(State.open)

  private enum State: Sendable {
    case open
    case waiting(Continuation)
    case known(Outcome)
    case over
  }

  func see(_ state: CollectionState<Element>) {
    if state.hasLoaded {
      finish(.success(state.snapshot))
    } else if let error = state.status.error {
      finish(.failure(error))
    }
  }

  func start(_ continuation: Continuation) {
    let known = state.withLock { state -> Outcome? in
      guard case .known(let outcome) = state else {
        state = .waiting(continuation)
        return nil
      }
      state = .over
      return outcome
    }
    if let known { continuation.resume(with: known) }
  }

  func finish(_ outcome: Outcome) {
    let waiting = state.withLock { state -> Continuation? in
      switch state {
      case .open:
        state = .known(outcome)
        return nil
      case .waiting(let continuation):
        state = .over
        return continuation
      case .known, .over:
        return nil
      }
    }
    waiting?.resume(with: outcome)
  }
}
