import ObservableCollections
import ReactiveSignals

extension SynchronizationSession {
  /// Synchronises again and again until its task is cancelled.
  ///
  /// At once, a moment after each edit of the client, and every so often.
  ///
  ///     let task = Task { await session.synchronizeContinuously() }
  ///
  /// What comes of it is told by ``lastOutcome``.
  ///
  /// - Parameters:
  ///   - interval: How long after a synchronisation the next one begins where nothing is edited.
  ///   - delay: For how long nothing more must be edited before an edit is synchronised.
  ///   - failures: After which pauses one that failed is tried again. When it gives up, the next edit or
  ///     the interval is waited for.
  public func synchronizeContinuously(
    every interval: Duration = .seconds(60), afterEdit delay: Duration = .seconds(1),
    afterFailure failures: RetryPolicy = RetryPolicy(
      retries: .max, firstPause: .seconds(1), longestPause: .seconds(300), jitter: 0.2)
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
          try? await core.options.clock.sleep(for: failures.pause(before: failureCount))
          failureCount += 1
          continue
        }
      } catch {}
      failureCount = 0
      await wait(for: interval, orEditAfter: isDone ? nil : seen, in: edits, and: delay)
    }
  }

  /// Waits for a while, or until there is something to synchronise and nothing more is being edited.
  ///
  /// - Parameter seen: Where this is given, only what is edited after so many edits counts.
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
            // Of the client and not of `edits`, which may be told only now of what was found here.
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
