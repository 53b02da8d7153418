import DataSourceTesting
import Diffing
import Dispatch
import Foundation
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives
import TestSupport
import TestTags
import Testing

/// Polled sources whose code, clock or store makes it hard for their reader.
@Suite(.tags(.concurrency), .timeLimit(.minutes(10))) struct PolledSourceHazardTests {
  /// A source whose behavior closures determine.
  private final class Scripted<Change: Sendable, Memory: Sendable>: PolledSource {
    typealias Element = Int

    let report = Shared<(@Sendable (Change) -> Void)?>(nil)
    let begun = Shared(0)
    let ended = Shared(0)
    private let memory: @Sendable () -> Memory
    private let merging: @Sendable (Change, inout Change) -> Void
    private let timing: @Sendable (Change) -> PolledDataSource<Scripted>.ReadTime
    private let body:
      @Sendable (PolledDataSource<Scripted>.ReadAttempt, inout Memory, Int) async throws ->
        PolledDataSource<Scripted>.ReadResult

    init(
      memory: @escaping @Sendable () -> Memory,
      merging: @escaping @Sendable (Change, inout Change) -> Void,
      timing: @escaping @Sendable (Change) -> PolledDataSource<Scripted>.ReadTime = { _ in .now },
      reading body:
        @escaping @Sendable (PolledDataSource<Scripted>.ReadAttempt, inout Memory, Int) async throws
        -> PolledDataSource<Scripted>.ReadResult
    ) {
      (self.memory, self.merging, self.timing, self.body) = (memory, merging, timing, body)
    }

    func start(_ report: @escaping @Sendable (Change) -> Void) -> Memory {
      self.report.value = report
      return memory()
    }

    func merge(_ change: Change, into unread: inout Change) { merging(change, &unread) }

    func readTime(of unread: Change, _: Memory) -> ReadTime { timing(unread) }

    func read(_ attempt: ReadAttempt, _ memory: inout Memory) async throws -> ReadResult {
      let number = begun.modify { count in
        count += 1
        return count
      }
      defer { ended.modify { $0 += 1 } }
      return try await body(attempt, &memory, number)
    }

    func change(_ change: Change) { report.value?(change) }
  }

  private typealias Plain = Scripted<Void, Void>
  private typealias Urgency = Scripted<Bool, Void>

  private func plainSource() -> Plain {
    Plain(memory: {}, merging: { _, _ in }) { _, _, number in .contents(.whole([number])) }
  }

  /// A source whose changes are `true` if they are urgent.
  private func urgencySource(
    urgent: PolledDataSource<Urgency>.ReadTime,
    reading body:
      @escaping @Sendable (Int) throws -> PolledDataSource<Urgency>.ReadResult = {
        .contents(.whole([$0]))
      }
  ) -> Urgency {
    Urgency(
      memory: {}, merging: { $1 = $1 || $0 }, timing: { $0 ? urgent : .after(.seconds(60)) },
      reading: { _, _, number in try body(number) })
  }

  /// An object that calls a closure when it is released.
  private final class Payload: Sendable {
    let onDeinit: @Sendable () -> Void
    init(_ onDeinit: @escaping @Sendable () -> Void) { self.onDeinit = onDeinit }
    deinit { onDeinit() }
  }

  // MARK: The time of a read

  @Test(arguments: [0, 1, 2])
  func `an urgent change after a slow one, both while observers run, is read in time`(
    kind: Int
  ) async throws {
    let clock = ManualClock()
    let urgent: [PolledDataSource<Urgency>.ReadTime] = [
      .after(.milliseconds(100)), .atRest, .whenQuiet(for: .milliseconds(20)),
    ]
    let reads = urgencySource(urgent: urgent[kind])
    let source = PolledDataSource(reads, clock: clock)
    let isDone = Shared(false)
    let observation = source.observe { event in
      // The read may be over before the list is observed.
      guard !event.snapshot.isEmpty, !isDone.exchange(true) else { return }
      reads.change(false)
      reads.change(true)
    }
    try await wait(for: "the plan") { reads.ended.value == 2 || clock.nextDeadline != nil }
    if let deadline = clock.nextDeadline {
      #expect(clock.now.duration(to: deadline) <= .milliseconds(100))
    }
    observation.dispose()
  }

  @Test(arguments: [false, true])
  func `a change that has time does not delay the next poll`(isNothing: Bool) async throws {
    let clock = ManualClock()
    let reads = urgencySource(urgent: .now) {
      isNothing ? .nothing(for: .seconds(1)) : .contents(.whole([$0]), again: .seconds(1))
    }
    let source = PolledDataSource(reads, clock: clock)
    source.start()
    try await wait(for: "the pause") { clock.nextDeadline != nil }
    reads.change(false)
    #expect(clock.nextDeadline.map { clock.now.duration(to: $0) } == .seconds(1))
    withExtendedLifetime(source) {}
  }

  /// A clock whose sleepers do not wake, as after a suspension of the machine.
  private final class LateClock: Clock, Sendable {
    struct Instant: InstantProtocol {
      var offset: Duration
      func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
      func duration(to other: Instant) -> Duration { other.offset - offset }
      static func < (one: Instant, other: Instant) -> Bool { one.offset < other.offset }
    }
    let time = Shared(Duration.zero)
    let sleepers = Shared(0)
    var now: Instant { Instant(offset: time.value) }
    var minimumResolution: Duration { .nanoseconds(1) }
    func sleep(until _: Instant, tolerance _: Duration?) async throws {
      sleepers.modify { $0 += 1 }
      try await Task.sleep(for: .seconds(3_600))
    }
  }

  @Test func `a refresh does not wait for a timer that is late`() async throws {
    let clock = LateClock()
    let reads = urgencySource(urgent: .after(.seconds(10)))
    let source = PolledDataSource(reads, clock: clock)
    await source.refresh()
    reads.change(true)
    try await wait(for: "the timer") { clock.sleepers.value == 1 }
    clock.time.value = .seconds(11)
    await source.refresh()
    #expect(reads.ended.value == 2)
  }

  @Test func `the first refresh reads once`() async throws {
    for _ in 0..<100 {
      let reads = plainSource()
      await PolledDataSource(reads).refresh()
      #expect(reads.begun.value == 1)
    }
  }

  @Test func `a failure after another state is shown again`() async throws {
    let error = SourceStatus.State.failed(SourceError(code: "down", message: "down"))
    let reads = Plain(memory: {}, merging: { _, _ in }) { _, _, _ in .failure(error) }
    let source = PolledDataSource(reads)
    await source.refresh()
    #expect(source.status.state == error)
    source.refreshLater(showing: .failed(SourceError(code: "busy", message: "busy")))
    try await wait(for: "the failure") { source.status.state == error }
  }

  // MARK: The user's code and locks

  /// A store that tells its listeners under its lock, so they hear of all edits in their order.
  private final class LockedStore: Sendable {
    private let lock = DispatchSemaphore(value: 1)
    private let listener = Shared<(@Sendable () -> Void)?>(nil)
    func edit() {
      lock.wait()
      listener.value?()
      lock.signal()
    }
    func setListener(_ new: (@Sendable () -> Void)?) {
      lock.wait()
      listener.value = new
      lock.signal()
    }
  }

  /// If the memory was released inside the report, the store would wait for itself.
  @Test func `a source may be released while its store reports under a lock`() async throws {
    for _ in 0..<300 {
      let store = LockedStore()
      let reads = Scripted<Void, Payload>(
        memory: { Payload { store.setListener(nil) } }, merging: { _, _ in },
        reading: { _, _, number in .contents(.whole([number])) })
      let held = Shared<PolledDataSource<Scripted<Void, Payload>>?>(PolledDataSource(reads))
      await held.value?.refresh()
      store.setListener { [report = reads.report.value] in report?(()) }
      let ready = Shared(0)
      let editor = Worker {
        ready.modify { $0 += 1 }
        while ready.value < 2 {}
        for _ in 0..<20 { store.edit() }
      }
      ready.modify { $0 += 1 }
      while ready.value < 2 {}
      held.value = nil
      try editor.join()
    }
  }

  /// A clock that calls a closure whenever it is asked or a sleep is canceled.
  private final class ProbeClock: Clock, Sendable {
    typealias Instant = ContinuousClock.Instant
    let probe = Shared<@Sendable (String) -> Void>({ _ in })
    var now: Instant {
      probe.value("now")
      return .now
    }
    var minimumResolution: Duration { .nanoseconds(1) }
    func sleep(until deadline: Instant, tolerance _: Duration?) async throws {
      try await withTaskCancellationHandler {
        try await ContinuousClock().sleep(until: deadline)
      } onCancel: {
        probe.value("cancel")
      }
    }
  }

  /// It may have a lock under which its own callbacks report changes.
  @Test func `a clock of the user is called without a lock`() async throws {
    let clock = ProbeClock()
    let reads = Urgency(
      memory: {}, merging: { $1 = $1 || $0 },
      timing: { $0 ? .after(.milliseconds(100)) : .after(.seconds(60)) },
      reading: { _, _, number in .contents(.whole([number])) })
    let source = PolledDataSource(reads, clock: clock)
    await source.refresh()
    try await wait(for: "the end of the read") { !source.isReadRequested }
    let blocked = Log<String>()
    let isProbing = Shared(false)
    clock.probe.value = { [weak source] call in
      guard !isProbing.exchange(true) else { return }
      let done = DispatchSemaphore(value: 0)
      Thread.detachNewThread { [weak source] in
        _ = source?.isReadRequested
        done.signal()
      }
      if done.wait(timeout: .now() + 0.5) != .success { blocked.append(call) }
      isProbing.value = false
    }
    reads.change(false)
    reads.change(true)
    try await wait(for: "the read") { reads.ended.value > 1 }
    clock.probe.value = { _ in }
    #expect(blocked.value == [], "the lock of the loop is held")
    withExtendedLifetime(source) {}
  }

  /// A source that opens a device again must be able to close the old handle first.
  @Test func `what a read removes from the memory is released at once`() async throws {
    struct Memory: Sendable {
      var token: Payload?
    }
    let isReleased = Shared(false)
    let wasReleasedInside = Shared(false)
    let reads = Scripted<Void, Memory>(
      memory: { Memory(token: Payload { isReleased.value = true }) }, merging: { _, _ in },
      reading: { _, memory, number in
        if number == 4 {
          memory.token = nil
          wasReleasedInside.value = isReleased.value
        }
        return .contents(.whole([number]))
      })
    let source = PolledDataSource(reads)
    while reads.ended.value < 4 { await source.refresh() }
    try await wait(for: "the release") { isReleased.value }
    #expect(wasReleasedInside.value, "the old part of the memory lives until the read has ended")
  }
}
