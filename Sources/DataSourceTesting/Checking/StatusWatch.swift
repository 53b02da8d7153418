import Diffing
import Dispatch
import ObservableCollections
import ReactiveSignals

/// Follows the status of a source, and holds it against rules E6 and E7.
final class StatusWatch<Element: Differentiable & Sendable>: Sendable {
  private let progress = Progress()
  private let observation: Disposable

  private final class Progress: Sendable {
    let notice = ChangeNotice()
    let state = Locked(State())
  }

  private struct State: Sendable {
    var latest: CollectionState<Element>?
    var fault: (rule: String, message: String)?
  }

  /// Follows a source that is observed already.
  init(_ source: any DataSource<Element>, behind recorder: RecordingObserver<Element>) {
    let progress = progress
    observation = source.observeState { state in
      let previous = progress.state.withLock { $0.latest }
      let fault = Self.fault(of: state, after: previous, recorder)
      let replaced = progress.state.withLock { known in
        let replaced = known
        known.latest = state
        if known.fault == nil { known.fault = fault }
        return replaced
      }
      withExtendedLifetime(replaced) {}
      progress.notice.notify()
    }
    if progress.state.withLock({ $0.latest == nil }) {
      progress.state.withLock { $0.fault = ("E6", "a status observer is not told the present one") }
    }
  }

  var latest: CollectionState<Element>? { progress.state.withLock { $0.latest } }

  var fault: (rule: String, message: String)? { progress.state.withLock { $0.fault } }

  /// Waits until a state meets a condition.
  ///
  /// - Returns: Whether one did in time.
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
    of state: CollectionState<Element>, after previous: CollectionState<Element>?,
    _ recorder: RecordingObserver<Element>
  ) -> (rule: String, message: String)? {
    if let told = recorder.revision, told < state.revision {
      return (
        "E6", "\(state.status) is told at revision \(state.revision) before the change from \(told)"
      )
    }
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
