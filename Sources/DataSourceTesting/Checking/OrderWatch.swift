package import Diffing
package import ObservableCollections
import ReactiveSignals
import SwappablePrimitives

/// Two observers that check the order in which they are called.
package final class OrderWatch<Element: Differentiable & Sendable>: Sendable {
  private let observations: [Disposable]
  private let calls: Calls
  /// The revision of the second observer's initial event. That event is delivered on the observing
  /// thread, so it may come before the same event of the first observer.
  private let joined: Int

  private final class Calls: Sendable {
    /// The observer and the revision of each call.
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

  /// The first violation: the observers must be called in order of subscription, for each event
  /// (T3).
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
