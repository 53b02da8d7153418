public import ObservableCollections
import ReactiveSignals
import SwappablePrimitives

extension SynchronizationSession {
  /// Synchronizes repeatedly until the calling task is canceled.
  ///
  /// The first synchronization begins at once. Others begin shortly after an edit of the client, and
  /// at regular intervals.
  ///
  ///     let task = Task { await session.synchronizeContinuously() }
  ///
  /// Observe ``lastOutcome`` to receive the results.
  ///
  /// - Parameters:
  ///   - interval: The pause between synchronizations if the client is not edited.
  ///   - delay: The time without further edits after which an edit is synchronized.
  ///   - failures: The policy for repeating a failed synchronization. When it gives up, the session
  ///     waits for the next edit or for the interval.
  public func synchronizeContinuously(
    every interval: Duration = .seconds(60), afterEdit delay: Duration = .seconds(1),
    afterFailure failures: RetryPolicy = RetryPolicy(
      retries: .max, backoff: Backoff(first: .seconds(1), longest: .seconds(300), jitter: 0.2))
  ) async {
    let edits = EditCounter()
    let observation = client.observe { _ in edits.increment() }
    defer { observation.dispose() }
    var failureCount = 0
    while !Task.isCancelled {
      let seen = edits.count
      var isDone = false
      do {
        try await synchronize()
        isDone = true
      } catch let error as SynchronizationError where error.code != .cancelled {
        if failureCount < failures.retries, failures.isRetried(error.underlying ?? error) {
          failureCount += 1
          try? await core.options.clock.sleep(for: failures.backoff.pause(after: failureCount))
          continue
        }
      } catch {}
      failureCount = 0
      await wait(for: interval, orEditAfter: isDone ? nil : seen, in: edits, and: delay)
    }
  }

  /// Waits for an interval, or until the client has unsynchronized edits and no new ones are made.
  ///
  /// - Parameter seen: If not `nil`, only edits after this number of edits count.
  private func wait(
    for interval: Duration, orEditAfter seen: Int?, in edits: EditCounter, and delay: Duration
  ) async {
    let (core, client) = (core, client)
    await withTaskGroup(of: Void.self) { group in
      group.addTask { try? await core.options.clock.sleep(for: interval) }
      group.addTask {
        var seen = seen
        while !Task.isCancelled {
          let count = edits.count
          if let last = seen {
            seen = await edits.wait(after: last) > last ? nil : last
          } else if core.hasUnsynchronizedChanges {
            // Compare revisions of the client. `edits` may count an edit after it is visible here.
            let revision = client.revision
            try? await core.options.clock.sleep(for: delay)
            if client.revision == revision { return }
          } else {
            seen = count
          }
        }
      }
      await group.next()
      group.cancelAll()
    }
  }
}

/// A counter of edits. One task can wait for the next edit.
private final class EditCounter: Sendable {
  private struct State {
    var count = 0
    var waiter: CheckedContinuation<Void, Never>?
    var isCancelled = false
  }

  private let state = Locked(State())

  var count: Int { state.withLock { $0.count } }

  func increment() {
    wake { $0.count += 1 }
  }

  /// Waits until the count exceeds a number, or the task is canceled.
  ///
  /// Only one task may wait at a time.
  ///
  /// - Returns: The count.
  func wait(after seen: Int) async -> Int {
    state.withLock { $0.isCancelled = false }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          if state.count > seen || state.isCancelled { return true }
          state.waiter = continuation
          return false
        }
        if isOver { continuation.resume() }
      }
      return count
    } onCancel: {
      wake { $0.isCancelled = true }
    }
  }

  private func wake(_ change: (inout State) -> Void) {
    let waiter = state.withLock { state in
      change(&state)
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.resume()
  }
}
