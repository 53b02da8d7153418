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
        state.fault = ("E6", "a status observer is not told the present one")
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
    guard let told = recorder.revision, told < state.revision else { return nil }
    return (
      "E6", "\(state.status) is told at revision \(state.revision) before the change from \(told)"
    )
  }

  private static func fault(
    of state: CollectionState<Element>, after previous: CollectionState<Element>?
  ) -> (rule: String, message: String)? {
    if state.status.state == .loaded, !state.hasLoaded {
      return ("E7", "its status is loaded, and it says that it has not loaded")
    }
    if !state.hasLoaded, !state.snapshot.isEmpty {
      return ("E7", "not loaded, it holds \(Contents.text(state.snapshot))")
    }
    guard let previous else { return nil }
    if previous.status == state.status, previous.hasLoaded == state.hasLoaded {
      return ("E6", "\(state.status) is told twice in a row")
    }
    if previous.hasLoaded, !state.hasLoaded {
      return ("E7", "it says that it has not loaded, and had said that it has")
    }
    if previous.revision > state.revision {
      return ("E6", "revision \(state.revision) is told after \(previous.revision)")
    }
    return nil
  }
}
