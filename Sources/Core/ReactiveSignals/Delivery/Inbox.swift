import SwappablePrimitives

/// The pending events of an asynchronous loop, or the task that waits for the next event.
///
/// One task reads the events. Posting never blocks. If the reading task is canceled, the inbox is
/// finished: it drops pending events and accepts no more.
package final class Inbox<Event: Mergeable>: Sendable {
  private let state: Locked<State>

  private typealias Reader = CheckedContinuation<Event?, Never>

  private struct State: Sendable {
    var waiting: PendingBuffer<Event>
    var reader: Reader?
    var isOver = false
  }

  /// Creates an inbox.
  ///
  /// - Parameter policy: How pending events are buffered.
  package init(_ policy: DeliveryPolicy) {
    state = Locked(State(waiting: PendingBuffer(policy)))
  }

  /// Resumes the reader with an event, or buffers the event.
  package func post(_ event: Event) {
    let (reader, replaced) = state.withLock { state -> (Reader?, Event.Released?) in
      if let reader = state.reader.take() { return (reader, nil) }
      return (nil, state.isOver ? nil : state.waiting.append(event))
    }
    reader?.resume(returning: event)
    _ = consume replaced
  }

  /// Waits for the next event. Returns `nil` after the task is canceled.
  package func next(isolation actor: isolated (any Actor)? = #isolation) async -> Event? {
    await withTaskCancellationHandler {
      await take()
    } onCancel: {
      finish()
    }
  }

  private func take(isolation actor: isolated (any Actor)? = #isolation) async -> Event? {
    await withCheckedContinuation { reader in
      let (event, released) = state.withLock { state -> (Event??, [Event]) in
        if state.isOver { return (.some(nil), []) }
        let (event, released) = state.waiting.takeFirst()
        if let event { return (event, released) }
        precondition(state.reader == nil, "two tasks wait for the next event of one iterator")
        state.reader = reader
        return (nil, [])
      }
      _ = consume released
      if let event { reader.resume(returning: event) }
    }
  }

  /// Finishes the inbox. The reader, and any later one, receives `nil`, and pending events are
  /// dropped.
  func finish() {
    let (reader, dropped) = state.withLock { state -> (Reader?, [Event]) in
      state.isOver = true
      return (state.reader.take(), state.waiting.takeAll())
    }
    reader?.resume(returning: nil)
    _ = consume dropped
  }
}
