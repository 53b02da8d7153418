import Diffing
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives

/// The events of a run: stages, counts, failures and cancellation.
final class OneWayRecord: Sendable {
  typealias Outcome = OneWaySynchronizer.Outcome
  typealias Progress = OneWaySynchronizer.Progress
  typealias Stage = OneWaySynchronizer.Stage

  private struct State {
    var stage: Stage?
    /// The stage in which the run noticed its cancellation.
    var cancelledStage: Stage?
    var failures: [OneWayError.Failure] = []
    /// The keys of new and of outdated items, in the order of the list.
    var due: [(key: String, isNew: Bool)] = []
    /// The bytes of refused keys. Two equal texts may have different ones.
    var refused: Set<ByteString> = []
    var outcome = Outcome()
  }

  private let state = Locked(State())
  private let progress: Property<Progress>

  /// Creates an empty record.
  ///
  /// - Parameter progress: The property that the record updates.
  init(_ progress: Property<Progress>) {
    self.progress = progress
    progress.value = Progress()
  }

  func enter(_ stage: Stage, total: Int = 1) {
    state.withLock { $0.stage = stage }
    progress.modify {
      $0.stage = stage
      $0.done = 0
      $0.total = total
    }
  }

  /// Adds completed units to the stage.
  func advance(by count: Int = 1) {
    progress.modify { $0.done += count }
  }

  func count(_ body: (inout Outcome) -> Void) {
    state.withLock { body(&$0.outcome) }
  }

  func add(_ diagnostic: SourceStatus.Diagnostic) {
    state.withLock { $0.outcome.diagnostics.append(diagnostic) }
    progress.modify { $0.diagnostics.append(diagnostic) }
  }

  func add(_ failure: OneWayError.Failure) {
    state.withLock { $0.failures.append(failure) }
  }

  /// Adds a failure, unless the error only reports the cancellation of this task.
  ///
  /// - Returns: A Boolean value that indicates whether the error is a failure.
  @discardableResult
  func add(
    _ error: any Error, _ stage: Stage, key: String? = nil, item: (any Sendable)? = nil
  ) -> Bool {
    if error is CancellationError && Task.isCancelled { return false }
    add(OneWayError.Failure(stage: stage, key: key, item: item, cause: error))
    return true
  }

  /// Adds a failure with an item, unless the error only reports the cancellation of this task.
  @discardableResult
  func add(_ error: any Error, _ stage: Stage, _ item: some Differentiable & Sendable) -> Bool {
    add(error, stage, key: shownKey(item.differenceIdentifier), item: item)
  }

  /// Counts a new or an outdated item.
  func countDue(_ item: some Differentiable, isNew: Bool) {
    let key = "\(item.differenceIdentifier)"
    state.withLock { $0.due.append((key, isNew)) }
  }

  /// Counts an item as one that the store refuses, once.
  func add(_ refusal: OneWaySynchronizer.Refusal, _ item: some Differentiable & Sendable) {
    let key = "\(item.differenceIdentifier)"
    let diagnostic = SourceStatus.Diagnostic(
      code: "refused-item", message: "\(shownKey(item.differenceIdentifier)): \(refusal)")
    let isShown = state.withLock { state in
      guard state.refused.insert(ByteString(key)).inserted else { return false }
      state.outcome.refusedKeys.append(key)
      state.outcome.diagnostics.append(diagnostic)
      return state.refused.count <= Self.shownRefusals
    }
    if isShown { progress.modify { $0.diagnostics.append(diagnostic) } }
  }

  /// The number of refusals that are in the progress. The outcome has all of them.
  private static let shownRefusals = 100

  /// Adds a failed download.
  func addDownload(_ error: any Error, _ stage: Stage, _ item: some Differentiable & Sendable) {
    let isFailure = add(error, stage, item)
    progress.modify {
      $0.done += 1
      if isFailure { $0.failed += 1 }
    }
  }

  /// Records the current stage if the run was canceled.
  func noteCancellation() {
    guard Task.isCancelled else { return }
    state.withLock { $0.cancelledStage = $0.cancelledStage ?? $0.stage }
  }

  var hasFailed: Bool { state.withLock { !$0.failures.isEmpty } }

  /// The result of a run that was not canceled.
  var result: Result<Outcome, OneWayError> {
    let (failures, outcome) = state.withLock { state in
      var outcome = state.outcome
      for (key, isNew) in state.due where !state.refused.contains(ByteString(key)) {
        if isNew { outcome.newKeys.append(key) } else { outcome.outdatedKeys.append(key) }
      }
      return (state.failures, outcome)
    }
    return failures.isEmpty ? .success(outcome) : .failure(OneWayError(failures: failures))
  }

  /// The error of a run that was canceled.
  var cancellation: OneWayError {
    state.withLock {
      OneWayError(code: .cancelled, stage: $0.cancelledStage ?? $0.stage, failures: $0.failures)
    }
  }
}
