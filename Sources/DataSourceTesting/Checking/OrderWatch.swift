package import Diffing
package import ObservableCollections
import ReactiveSignals
import SwappablePrimitives

/// Two observers that check in which order they are called.
package final class OrderWatch<Element: Differentiable & Sendable>: Sendable {
  private let observations: [Disposable]
  private let calls: Calls
  /// What the second had been told when it had joined: on its own thread, so perhaps before the first.
  private let joined: Int

  private final class Calls: Sendable {
    /// For each call the observer, and the revision that it was told.
    let made = Locked<[(observer: Int, revision: Int)]>([])
  }

  package init(_ source: any DataSource<Element>) {
    let calls = Calls()
    self.calls = calls
    observations = (0..<2).map { observer in
      source.observe { event in
        calls.made.withLock { $0.append((observer, event.revision)) }
      }
    }
    joined = calls.made.withLock { $0.last { $0.observer == 1 }?.revision ?? 0 }
  }

  /// What was wrong: the first to subscribe is called first, with each event (T3).
  package var fault: (rule: String, message: String)? {
    let both = calls.made.withLock { $0 }.filter { $0.revision > joined }
    for (offset, call) in both.enumerated() where call.observer != offset % 2 {
      return (
        "T3", "observer \(call.observer) was called out of turn, with revision \(call.revision)"
      )
    }
    return nil
  }
}
