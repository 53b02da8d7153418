package import Dispatch
import ReactiveSignals

/// Lets in a few of many pieces of work at a time, so that a thousand sources that start at once do not
/// take a thread each.
///
/// Work runs on queues of its own, and may call code of users that waits for other work. So nobody is kept
/// out for long: if none has come out for a few milliseconds, one more is let in.
package final class Admission: Sendable {
  /// That of the process.
  package static let shared = Admission(timer: .live)

  private struct Work {
    var queue: DispatchQueue
    var body: @Sendable () -> Void
  }

  private struct State {
    var inside = 0
    /// In the order of their coming; those before `next` were let in.
    var waiting: [Work?] = []
    var next = 0
    /// How many came out, and how many had when the alarm was set; nil while there is none.
    var out = 0
    var outAtAlarm: Int?
  }

  private static let width = 4
  private static let patience = Duration.milliseconds(5)

  private let timer: WatchTimer
  private let queue = DispatchQueue(label: "swappable.admission")
  private let state = Locked(State())

  package init(timer: WatchTimer) {
    self.timer = timer
  }

  /// Runs work on a queue, soon.
  package func enter(_ queue: DispatchQueue, _ body: @escaping @Sendable () -> Void) {
    state.withLock { $0.waiting.append(Work(queue: queue, body: body)) }
    letIn(isAlarm: false)
  }

  private func letIn(isAlarm: Bool) {
    let (works, mustSetAlarm) = state.withLock { state -> ([Work], Bool) in
      var works: [Work] = []
      var room = max(Self.width - state.inside, 0)
      if isAlarm {
        if state.outAtAlarm == state.out { room = max(room, 1) }
        state.outAtAlarm = nil
      }
      while room > 0, state.next < state.waiting.count {
        if let work = state.waiting[state.next] { works.append(work) }
        state.waiting[state.next] = nil
        state.next += 1
        state.inside += 1
        room -= 1
      }
      if state.next == state.waiting.count {
        state.waiting = []
        state.next = 0
      }
      let mustSetAlarm = !state.waiting.isEmpty && state.outAtAlarm == nil
      if mustSetAlarm { state.outAtAlarm = state.out }
      return (works, mustSetAlarm)
    }
    if mustSetAlarm {
      _ = timer.call(Self.patience, queue) { [self] in letIn(isAlarm: true) }
    }
    for work in works {
      work.queue.async { [self] in
        work.body()
        state.withLock { state in
          state.inside -= 1
          state.out += 1
        }
        letIn(isAlarm: false)
      }
    }
  }
}
