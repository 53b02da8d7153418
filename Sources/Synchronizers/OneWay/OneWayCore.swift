import ReactiveSignals
import SwappablePrimitives

/// What the runs of a ``OneWaySynchronizer`` share. It does not hold the synchroniser, which may go
/// while they run.
final class OneWayCore<Processor: OneWayProcessor>: Sendable {
  let processor: Processor
  let options: Property<OneWayOptions>
  let status = Property(OneWayStatus.idle)
  let progress = Property(OneWayProgress())
  let lastOutcome = Property<Result<OneWayOutcome, OneWayError>?>(nil)
  private let clock: any Clock<Duration>
  /// That of the run under way.
  private let record = Locked<OneWayRecord?>(nil)

  init(_ processor: Processor, options: OneWayOptions, clock: any Clock<Duration>) {
    self.processor = processor
    self.options = Property(options)
    self.clock = clock
  }

  func run() async throws -> OneWayOutcome {
    let record = OneWayRecord(progress)
    self.record.withLock { $0 = record }
    let run = OneWayRun(
      processor: processor, options: options.value, clock: clock, record: record)
    await run.perform()
    if Task.isCancelled { throw record.cancellation }
    return try record.result.get()
  }

  /// Called at the end of each run.
  func runDidEnd(_ result: Result<OneWayOutcome, any Error>) {
    let record = self.record.withLock { record in
      defer { record = nil }
      return record
    }
    withExtendedLifetime(record) {}
    lastOutcome.value = result.mapError(OneWayError.init(any:))
  }

  /// What is told to those whose run is cancelled.
  var cancellation: OneWayError {
    let record = record.withLock { $0 }
    return record?.cancellation ?? OneWayError(code: .cancelled, stage: nil, failures: [])
  }
}
