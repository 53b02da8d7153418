package import DataSourceTesting
package import Diffing
package import ObservableCollections
import ReactiveSignals

/// Records the events and the statuses of a source, and lets a test wait for a condition on both.
///
/// The events are checked against the event contract by a `RecordingObserver`.
package final class SourceRecorder<Element: Differentiable & Equatable & Sendable>: Sendable {
  /// The events and statuses up to one moment.
  package struct Record: Sendable {
    package var events: [CollectionEvent<Element>]
    package var statuses: [SourceStatus]
    package var violations: [ContractError]

    package var contents: [Element] { events.last.map { Array($0.snapshot) } ?? [] }
    package var state: SourceStatus.State? { statuses.last?.state }
    package var changes: [CollectionChange<Element>] {
      events.compactMap { if case .change(let change) = $0 { change } else { nil } }
    }
  }

  private let observer = RecordingObserver<Element>()
  private let statuses = Log<SourceStatus>([])
  private let waiters = Shared<[Int: AsyncStream<Void>.Continuation]>([:])
  private let lastWaiter = Shared(0)
  private let observations = DisposeBag()

  /// Observes a source.
  ///
  /// - Parameters:
  ///   - source: The source to observe.
  ///   - body: A closure to call with each event after it was recorded.
  package init(
    _ source: some DataSource<Element>,
    then body: @escaping @Sendable (CollectionEvent<Element>) -> Void = { _ in }
  ) {
    let (observer, statuses, waiters) = (observer, statuses, waiters)
    @Sendable func wake() {
      for waiter in waiters.value.values { waiter.yield() }
    }
    source.observeStatus { status in
      statuses.append(status)
      wake()
    }.store(in: observations)
    source.observe { event in
      observer.receive(event)
      wake()
      body(event)
    }.store(in: observations)
  }

  /// The events and statuses so far.
  package var record: Record {
    Record(
      events: observer.events, statuses: statuses.value, violations: observer.violations)
  }

  /// The numbers of the operations of all changes so far.
  package var operations: Coverage.Operations { observer.operations }

  /// Ends the observation.
  package func dispose() {
    observations.dispose()
  }

  /// Waits until a condition holds, and returns the record for which it holds.
  @discardableResult
  package func wait(until isDone: (Record) -> Bool) async throws -> Record {
    let (wakes, waiter) = AsyncStream.makeStream(
      of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let number = lastWaiter.modify { number in
      number += 1
      return number
    }
    waiters.modify { $0[number] = waiter }
    defer { waiters.modify { $0[number] = nil } }
    waiter.yield()
    for await _ in wakes {
      let record = record
      if isDone(record) { return record }
    }
    throw CancellationError()
  }

  /// Waits until the source is loaded with the given contents.
  @discardableResult
  package func wait(for contents: [Element]) async throws -> Record {
    try await wait { $0.contents == contents && $0.state == .loaded }
  }
}
