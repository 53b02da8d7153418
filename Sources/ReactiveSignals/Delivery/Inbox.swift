import SwappablePrimitives

/// The events that wait for an asynchronous loop, or the loop that waits for them.
///
/// One task reads; posting never waits. When the reading task is cancelled, the inbox is over: it drops
/// what waits, and takes nothing more.
package final class Inbox<Event: Mergeable>: Sendable {
  private let state: Locked<State>

  private typealias Reader = CheckedContinuation<Event?, Never>

  private struct State: Sendable {
    var waiting: WaitingEvents<Event>
    var reader: Reader?
    var isOver = false
  }

  /// - Parameter policy: What becomes of events that wait.
  package init(_ policy: DeliveryPolicy) {
    state = Locked(State(waiting: WaitingEvents(policy)))
  }

  /// Gives an event to the reader, or lets it wait.
  package func post(_ event: Event) {
    let (reader, replaced) = state.withLock { state -> (Reader?, Event.Released?) in
      if let reader = state.reader {
        state.reader = nil
        return (reader, nil)
      }
      return (nil, state.isOver ? nil : state.waiting.append(event))
    }
    reader?.resume(returning: event)
    _ = consume replaced
  }

  /// Waits for the next event; nil once the task is cancelled.
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

  /// Ends it: who waits gets nil, as does who asks from now on, and what waits is dropped.
  package func finish() {
    let (reader, dropped) = state.withLock { state -> (Reader?, [Event]) in
      state.isOver = true
      let reader = state.reader
      state.reader = nil
      return (reader, state.waiting.takeAll())
    }
    reader?.resume(returning: nil)
    _ = consume dropped
  }
}
