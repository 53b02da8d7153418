import Diffing
import Foundation
import ObservableCollections
import ReactiveSignals

@testable import SQLiteSources

/// An element of the tests: a row of the table `item`.
struct Item: Decodable, Hashable, Identifiable, Sendable, Differentiable {
  var id: Int
  var name: String
}

/// Keeps what a source tells, checks that its changes fold, and lets tests wait for what they expect.
final class Recorder<Element: Differentiable & Equatable & Sendable>: @unchecked Sendable {
  // Sendable: all mutable state is reached only under `lock`.

  /// What was told so far.
  struct Record {
    var events: [CollectionEvent<Element>] = []
    var statuses: [SourceStatus] = []
    var violations: [String] = []

    var contents: [Element] { events.last.map { Array($0.snapshot) } ?? [] }
    var state: SourceStatus.State? { statuses.last?.state }
    var changes: [CollectionChange<Element>] {
      events.compactMap { if case .change(let change) = $0 { change } else { nil } }
    }
    var failure: SQLiteError? { statuses.last?.error?.underlying as? SQLiteError }
  }

  private struct Waiter {
    let isDone: (Record) -> Bool
    let continuation: CheckedContinuation<Record, any Error>
  }

  private let lock = NSLock()
  private var current = Record()
  private var waiters: [Int: Waiter] = [:]
  private var cancelled: Set<Int> = []
  private var lastWaiter = 0
  private var observations: [Disposable] = []

  /// Observes `source`; `then` is called with each event after it was recorded.
  init(
    _ source: some DataSource<Element>,
    then: @escaping @Sendable (CollectionEvent<Element>) -> Void = { _ in }
  ) {
    let status = source.observeStatus { [weak self] status in
      self?.note { $0.statuses.append(status) }
    }
    let events = source.observe { [weak self] event in
      self?.note { $0.add(event) }
      then(event)
    }
    lock.withLock { observations = [status, events] }
  }

  /// What was told so far.
  var record: Record { lock.withLock { current } }

  /// Ends the observation.
  func dispose() {
    let ended = lock.withLock { () -> [Disposable] in
      defer { observations = [] }
      return observations
    }
    for observation in ended { observation.dispose() }
  }

  /// Waits until `isDone` holds for what was told so far.
  @discardableResult
  func wait(until isDone: @escaping (Record) -> Bool) async throws -> Record {
    let number = lock.withLock { () -> Int in
      lastWaiter += 1
      return lastWaiter
    }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let result = lock.withLock { () -> Result<Record, any Error>? in
          if isDone(current) { return .success(current) }
          if cancelled.contains(number) { return .failure(CancellationError()) }
          waiters[number] = Waiter(isDone: isDone, continuation: continuation)
          return nil
        }
        if let result { continuation.resume(with: result) }
      }
    } onCancel: {
      let waiter = lock.withLock { () -> Waiter? in
        cancelled.insert(number)
        return waiters.removeValue(forKey: number)
      }
      waiter?.continuation.resume(throwing: CancellationError())
    }
  }

  /// Waits until the contents are `contents` and all is well.
  @discardableResult
  func wait(for contents: [Element]) async throws -> Record {
    try await wait { $0.contents == contents && $0.state == .loaded }
  }

  /// Waits for a failure of the kind `code`, with the contents still `contents`.
  @discardableResult
  func waitForFailure(_ code: SQLiteError.Code) async throws -> Record {
    try await wait { $0.failure?.code == code }
  }

  private func note(_ change: (inout Record) -> Void) {
    let done = lock.withLock { () -> [(Waiter, Record)] in
      change(&current)
      let done = waiters.filter { $0.value.isDone(current) }
      for number in done.keys { waiters.removeValue(forKey: number) }
      return done.values.map { ($0, current) }
    }
    for (waiter, record) in done { waiter.continuation.resume(returning: record) }
  }
}

extension Recorder.Record {
  fileprivate mutating func add(_ event: CollectionEvent<Element>) {
    switch event {
    case .initial:
      if !events.isEmpty { violations.append("a second initial") }
    case .change(let change):
      if events.isEmpty { violations.append("a change before the initial") }
      if change.changeset.isEmpty { violations.append("an empty change") }
      if change.revisionBefore != events.last?.revision { violations.append("a gap") }
      let before = events.last.map { Array($0.snapshot) } ?? []
      if change.changeset.applying(to: before, with: Array(change.after)) != Array(change.after) {
        violations.append("a change that does not fold: \(change.changeset)")
      }
    }
    events.append(event)
  }
}
