package import Diffing
import Dispatch
package import ObservableCollections
import ReactiveSignals
import SwappablePrimitives

/// An observer of the status of a source, which checks rules E6 and E7.
package final class StatusWatch<Element: Differentiable & Sendable>: Sendable {
  private let progress = Progress()
  private let observation: Disposable

  private final class Progress: Sendable {
    let notice = ChangeNotice()
    let state = Locked(State())
  }

  private struct State: Sendable {
    var latest: CollectionState<Element>?
    /// A Boolean value that indicates whether `observeState` has returned. From then on, states arrive
    /// together with the events of the recorder.
    var hasJoined = false
    var fault: (rule: String, message: String)?
  }

  /// Observes a source that is already observed by a recorder.
  package init(_ source: any DataSource<Element>, behind recorder: RecordingObserver<Element>) {
    let progress = progress
    observation = source.observeState { state in
      let (previous, hasJoined) = progress.state.withLock { ($0.latest, $0.hasJoined) }
      // Until the observation has joined, a state may arrive before the recorder's event (rule T7).
      let fault =
        (hasJoined ? Self.fault(of: state, before: recorder) : nil)
        ?? Self.fault(of: state, after: previous)
      let replaced = progress.state.withLock { known in
        let replaced = known
        known.latest = state
        if known.fault == nil { known.fault = fault }
        return replaced
      }
      withExtendedLifetime(replaced) {}
      progress.notice.notify()
    }
    progress.state.withLock { state in
      state.hasJoined = true
      if state.latest == nil {
        state.fault = ("E6", "a status observer does not receive the current status")
      }
    }
  }

  var latest: CollectionState<Element>? { progress.state.withLock { $0.latest } }

  package var fault: (rule: String, message: String)? { progress.state.withLock { $0.fault } }

  /// Waits until a state meets a condition.
  ///
  /// - Returns: `true` if a state met the condition in time.
  func wait(
    _ timeout: Duration, until condition: (CollectionState<Element>) -> Bool
  ) async -> Bool {
    let deadline = DispatchTime.after(timeout)
    while true {
      let seen = progress.notice.count
      if let latest, condition(latest) { return true }
      guard await progress.notice.wait(after: seen, until: deadline) else { return false }
    }
  }

  private static func fault(
    of state: CollectionState<Element>, before recorder: RecordingObserver<Element>
  ) -> (rule: String, message: String)? {
    guard let revision = recorder.revision, revision < state.revision else { return nil }
    return (
      "E6",
      "\(state.status) at revision \(state.revision) arrives before the change from \(revision)"
    )
  }

  private static func fault(
    of state: CollectionState<Element>, after previous: CollectionState<Element>?
  ) -> (rule: String, message: String)? {
    if state.status.state == .loaded, !state.hasLoaded {
      return ("E7", "the status is loaded, but hasLoaded is false")
    }
    if !state.hasLoaded, !state.snapshot.isEmpty {
      return (
        "E7", "the source has contents before it has loaded: \(Contents.text(state.snapshot))"
      )
    }
    guard let previous else { return nil }
    if previous.status == state.status, previous.hasLoaded == state.hasLoaded {
      return ("E6", "\(state.status) arrives twice in a row")
    }
    if previous.hasLoaded, !state.hasLoaded {
      return ("E7", "hasLoaded is false after it was true")
    }
    if previous.revision > state.revision {
      return ("E6", "revision \(state.revision) arrives after revision \(previous.revision)")
    }
    return nil
  }
}

/// An observer of the first states of a source, which checks rule E7.
final class StartWatch<Element: Differentiable & Sendable>: Sendable {
  private let calls: Calls
  private let observation: Disposable
  /// The number of states that arrived before `start()` returned.
  private let startCount: Int

  private final class Calls: Sendable {
    let states = Locked<[SourceStatus.State]>([])
  }

  init(starting source: any DataSource<Element>) {
    let calls = Calls()
    self.calls = calls
    // Observing the collection does not start its source.
    observation = source.collection.observeState { state in
      calls.states.withLock { $0.append(state.status.state) }
    }
    source.start()
    startCount = calls.states.withLock { $0.count }
  }

  /// The violation, if the source stayed idle until it had loaded or failed. A source may load inside
  /// `start()`, and it may show later that it loads.
  var fault: (rule: String, message: String)? {
    let states = calls.states.withLock { $0.dropFirst(startCount - 1) }
    guard states.first == .idle, let next = states.first(where: { $0 != .idle }), next != .loading
    else { return nil }
    return (
      "E7",
      "after start(), the status stays idle until it is \(SourceStatus(next)): start() must set it "
        + "to loading"
    )
  }
}

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
