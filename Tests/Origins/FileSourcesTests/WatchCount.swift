import FileWatching
import SwappablePrimitives
import TestSupport

/// The real system, which counts the active watches and timers.
final class WatchCount: Sendable {
  private struct State: Sendable {
    var watches = 0
    var timers: Set<Int> = []
    var lastTimer = 0
    var waiting: CheckedContinuation<Void, Never>?
  }

  private let state = Shared(State())
  let system: WatchSystem

  init() {
    var system = WatchSystem.live
    let live = WatchSystem.live
    let state = state
    system.watch = { path, name, receiver in
      let result = live.watch(path, name, receiver)
      if case .success = result { state.modify { $0.watches += 1 } }
      return result
    }
    system.unwatch = { tokens in
      live.unwatch(tokens)
      Self.end(in: state) { $0.watches -= tokens.count }
    }
    system.callLater = { delay, queue, body in
      let number = state.modify { state in
        state.lastTimer += 1
        state.timers.insert(state.lastTimer)
        return state.lastTimer
      }
      let timer = live.callLater(delay, queue) {
        Self.end(in: state) { $0.timers.remove(number) }
        body()
      }
      return ScheduledTimer {
        timer.cancel()
        Self.end(in: state) { $0.timers.remove(number) }
      }
    }
    self.system = system
  }

  /// The number of active watches.
  var count: Int { state.value.watches }

  /// The number of active timers.
  var timerCount: Int { state.value.timers.count }

  /// Waits until there are no active watches or timers.
  func ended() async {
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      Self.end(in: state) { $0.waiting = continuation }
    }
  }

  private static func end(in state: Shared<State>, _ change: (inout State) -> Void) {
    let waiting = state.modify { state -> CheckedContinuation<Void, Never>? in
      change(&state)
      guard state.watches == 0, state.timers.isEmpty else { return nil }
      defer { state.waiting = nil }
      return state.waiting
    }
    waiting?.resume()
  }
}
