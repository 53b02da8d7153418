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
    start()
    let current = collection.current.state
    if current.hasLoaded { return current.snapshot }
    // No state is left out: a source may fail and load in quick succession.
    let states = values(.everything) { [self] post in observeState { post($0) } }
    for await state in states {
      if state.hasLoaded { return state.snapshot }
      if let error = state.status.error { throw error }
    }
    throw CancellationError()
  }

  /// Blocks until all earlier commits, upstream first, have reached the immediate observers.
  ///
  /// Do not call this method inside an observer or a transaction. It would wait for itself, and
  /// traps. In an async function, use ``flush()``.
  @available(
    *, noasync, message: "Write 'await flush()', which also waits for scheduled observers"
  )
  public func flushAndWait() {
    precondition(
      !ThreadContext.current.isBusy,
      "flushAndWait() inside an observer or a transaction would wait for itself: call it outside")
    collection.node.flushAndWait()
  }

  /// Waits until all earlier commits have reached all observers, including scheduled ones.
  ///
  /// If the calling task is canceled, this method returns at once. In a function that is not async, use
  /// ``flushAndWait()``, or call this method in a `Task`.
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
  func flushAndWait() {
    for domain in DependencyGraph.domains(upTo: self) { domain.waitUntilDelivered() }
  }

  /// Waits like ``flushAndWait()``, but suspends the task instead of blocking the thread.
  func flush() async {
    for domain in DependencyGraph.domains(upTo: self) { await domain.delivered() }
  }
}
