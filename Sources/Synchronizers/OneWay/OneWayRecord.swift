import Diffing
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives

/// What has happened in a run so far.
final class OneWayRecord: Sendable {
  private struct State {
    var stage: OneWayStage?
    /// Where the run was when it noticed that it is cancelled.
    var cancelledStage: OneWayStage?
    var failures: [OneWayFailure] = []
    var outcome = OneWayOutcome()
  }

  private let state = Locked(State())
  private let progress: Property<OneWayProgress>

  /// Makes an empty record.
  ///
  /// - Parameter progress: Is told how far the run has come.
  init(_ progress: Property<OneWayProgress>) {
    self.progress = progress
    progress.value = OneWayProgress()
  }

  /// Begins a stage.
  func enter(_ stage: OneWayStage, total: Int = 1) {
    state.withLock { $0.stage = stage }
    progress.modify {
      $0.stage = stage
      $0.done = 0
      $0.total = total
    }
  }

  /// Does some of the stage.
  func advance(by count: Int = 1) {
    progress.modify { $0.done += count }
  }

  func count(_ body: (inout OneWayOutcome) -> Void) {
    state.withLock { body(&$0.outcome) }
  }

  func remark(_ diagnostic: SourceDiagnostic) {
    state.withLock { $0.outcome.diagnostics.append(diagnostic) }
    progress.modify { $0.diagnostics.append(diagnostic) }
  }

  func add(_ failure: OneWayFailure) {
    state.withLock { $0.failures.append(failure) }
  }

  /// Notes an error, unless it only says that the task was cancelled.
  ///
  /// - Returns: Whether it is a failure.
  @discardableResult
  func note(
    _ error: any Error, _ stage: OneWayStage, key: String? = nil, item: (any Sendable)? = nil
  ) -> Bool {
    if error is CancellationError && Task.isCancelled { return false }
    add(OneWayFailure(stage: stage, key: key, item: item, cause: error))
    return true
  }

  /// Notes an error with an item.
  @discardableResult
  func note(
    _ error: any Error, _ stage: OneWayStage, _ item: some Differentiable & Sendable
  ) -> Bool {
    note(error, stage, key: shownKey(item.differenceIdentifier), item: item)
  }

  /// Notes an error of a download.
  func noteDownload(
    _ error: any Error, _ stage: OneWayStage, _ item: some Differentiable & Sendable
  ) {
    let isFailure = note(error, stage, item)
    progress.modify {
      $0.done += 1
      if isFailure { $0.failed += 1 }
    }
  }

  /// Remembers in which stage it was cancelled, if it was.
  func noteCancellation() {
    guard Task.isCancelled else { return }
    state.withLock { $0.cancelledStage = $0.cancelledStage ?? $0.stage }
  }

  var hasFailed: Bool { state.withLock { !$0.failures.isEmpty } }

  /// What a run that is not cancelled comes to.
  var result: Result<OneWayOutcome, OneWayError> {
    let (failures, outcome) = state.withLock { ($0.failures, $0.outcome) }
    return failures.isEmpty ? .success(outcome) : .failure(OneWayError(failures: failures))
  }

  /// What a run that is cancelled comes to.
  var cancellation: OneWayError {
    state.withLock {
      OneWayError(code: .cancelled, stage: $0.cancelledStage ?? $0.stage, failures: $0.failures)
    }
  }
}
