import Diffing
import ObservableCollections
import ReactiveSignals

/// Two observers that check in which order they are called.
final class OrderWatch<Element: Differentiable & Sendable>: Sendable {
  private let observations: [Disposable]
  private let calls: Calls

  private final class Calls: Sendable {
    /// For each call the observer, and the revision that it was told.
    let made = Locked<[(observer: Int, revision: Int)]>([])
  }

  init(_ source: any DataSource<Element>) {
    let calls = Calls()
    self.calls = calls
    observations = (0..<2).map { observer in
      source.observe { event in
        guard case .change(let change) = event else { return }
        calls.made.withLock { $0.append((observer, change.revision)) }
      }
    }
  }

  /// What was wrong: the first to subscribe is called first, with each event (T3).
  var fault: (rule: String, message: String)? {
    let calls = calls.made.withLock { $0 }
    // What the first has got before the second came is its own.
    let both = calls.drop { call in
      !calls.contains { $0.observer == 1 && $0.revision == call.revision }
    }
    for (offset, call) in both.enumerated() where call.observer != offset % 2 {
      return (
        "T3", "observer \(call.observer) was called out of turn, with revision \(call.revision)"
      )
    }
    return nil
  }
}
