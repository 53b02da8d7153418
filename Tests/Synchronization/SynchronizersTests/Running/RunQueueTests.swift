import DataSourceTesting
import ReactiveSignals
@testable import Synchronizers
import TestSupport
import TestTags
import Testing

/// Tests of the queue that both kinds of synchronizers use.
@Suite(.tags(.concurrency), .timeLimit(.minutes(10))) struct RunQueueTests {
  private struct Cancelled: Error {}

  private struct Status: Equatable, Sendable {
    var isRunning = false
    var idleCount = 0

    mutating func change(_ isRunning: Bool) {
      self.isRunning = isRunning
      if !isRunning { idleCount += 1 }
    }
  }

  /// A queue with a log of runs, notifications and answers.
  private final class Subject: Sendable {
    let log = Log<String>([])
    /// Whether a run is in progress, and how often the queue has become idle.
    let status = Property(Status())
    let queue: RunQueue<Int>

    /// - Parameter body: A closure that each run calls with its number, beginning with 1.
    init(_ body: @escaping @Sendable (Int) async throws -> Void = { _ in }) {
      let (log, status, count) = (log, status, Shared(0))
      queue = RunQueue(
        cancellation: {
          log.append("cancellation")
          return Cancelled()
        },
        statusDidChange: { isRunning in
          log.append(isRunning ? "running" : "idle")
          status.modify { $0.change(isRunning) }
        },
        runDidEnd: { log.append("ended \(Subject.brief($0))") },
        run: {
          let number = count.modify { count in
            count += 1
            return count
          }
          log.append("run \(number)")
          try await body(number)
          return number
        })
    }

    static func brief(_ result: Result<Int, any Error>) -> String {
      switch result {
      case .success(let number): "\(number)"
      case .failure(let error): "\(type(of: error))"
      }
    }

    func ask(_ name: String, then body: @escaping @Sendable () -> Void = {}) {
      queue.request { [log] result in
        log.append("\(name): \(Subject.brief(result))")
        body()
      }
    }

    /// Waits until the queue has become idle a number of times, and is idle.
    func waitUntilIdle(times: Int = 1) async {
      await ReadOnlyProperty(status).wait { !$0.isRunning && $0.idleCount >= times }
    }
  }

  @Test func `one request causes one run`() async {
    let subject = Subject()
    subject.ask("A")
    await subject.waitUntilIdle()
    #expect(subject.log.value == ["running", "run 1", "ended 1", "A: 1", "idle"])
  }

  @Test func `requests during a run cause one more run`() async {
    let held = Gate()
    let subject = Subject { _ in await held.pass() }
    subject.ask("A")
    await held.waitForArrivals()
    for name in ["B", "C", "D"] { subject.ask(name) }
    held.open()
    await subject.waitUntilIdle()
    #expect(
      subject.log.value == [
        "running", "run 1", "ended 1", "run 2", "ended 2", "A: 2", "B: 2", "C: 2", "D: 2", "idle",
      ])
  }

  @Test func `all callers receive the error of the last run`() async {
    let held = Gate()
    let subject = Subject { number in
      await held.pass()
      if number == 2 { throw Refusal() }
    }
    subject.ask("A")
    subject.ask("B")
    held.open()
    await subject.waitUntilIdle()
    #expect(
      subject.log.value == [
        "running", "run 1", "ended 1", "run 2", "ended Refusal", "A: Refusal", "B: Refusal", "idle",
      ])
  }

  @Test func `a canceled run ends before callers are answered`() async {
    let held = Gate()
    let subject = Subject { _ in await held.pass() }
    subject.ask("A")
    await held.waitForArrivals()
    subject.ask("B")
    subject.queue.cancel()
    subject.queue.cancel()
    #expect(subject.log.value == ["running", "run 1"])
    held.open()
    await subject.waitUntilIdle()
    #expect(
      subject.log.value == [
        "running", "run 1", "cancellation", "ended Cancelled", "A: Cancelled", "B: Cancelled",
        "idle",
      ])
  }

  @Test func `a run can be canceled before its task exists`() async {
    var unaware = 0
    // The run may begin before its task is canceled.
    for _ in 0..<20_000 {
      let felt = Shared(false)
      let queue = Shared<RunQueue<Int>?>(nil)
      let over = Gate()
      queue.value = RunQueue<Int>(
        cancellation: { Cancelled() },
        statusDidChange: { if $0 { queue.value?.cancel() } },
        run: {
          felt.value = Task.isCancelled
          return 1
        })
      queue.value?.request { _ in over.open() }
      await over.pass()
      if !felt.value { unaware += 1 }
      queue.value = nil
    }
    #expect(unaware == 0)
  }

  @Test func `a request after cancellation gets a new run`() async {
    let held = Gate()
    let subject = Subject { if $0 == 1 { await held.pass() } }
    subject.ask("A")
    await held.waitForArrivals()
    subject.queue.cancel()
    subject.ask("B")
    held.open()
    await subject.waitUntilIdle()
    #expect(
      subject.log.value == [
        "running", "run 1", "cancellation", "ended Cancelled", "A: Cancelled", "run 2", "ended 2",
        "B: 2", "idle",
      ])
  }

  @Test func `a request in an answer runs after the idle notification`() async {
    let (held, over) = (Gate(), Gate())
    let subject = Subject { _ in await held.pass() }
    subject.ask("A") { subject.ask("C") { over.open() } }
    subject.ask("B")
    held.open()
    await over.pass()
    await subject.waitUntilIdle()
    #expect(
      subject.log.value == [
        "running", "run 1", "ended 1", "run 2", "ended 2", "A: 2", "B: 2", "idle", "running",
        "run 3", "ended 3", "C: 3", "idle",
      ])
  }

  @Test func `a request canceled in an answer is answered last`() async {
    let held = Gate()
    let subject = Subject { _ in await held.pass() }
    subject.ask("A") {
      subject.ask("C")
      subject.queue.cancel()
    }
    subject.ask("B")
    held.open()
    await subject.waitUntilIdle()
    #expect(
      subject.log.value == [
        "running", "run 1", "ended 1", "run 2", "ended 2", "A: 2", "B: 2", "cancellation",
        "C: Cancelled", "idle",
      ])
  }

  @Test func `a request canceled in the idle notification leaves the queue idle`() async {
    let log = Log<String>([])
    let queue = Shared<RunQueue<Int>?>(nil)
    let over = Gate()
    let isFirst = Shared(true)
    queue.value = RunQueue<Int>(
      cancellation: { Cancelled() },
      statusDidChange: { isRunning in
        log.append(isRunning ? "running" : "idle")
        guard !isRunning, isFirst.exchange(false) else { return }
        queue.value?.request { result in
          log.append("B: \(Subject.brief(result))")
          over.open()
        }
        queue.value?.cancel()
      },
      run: { 1 })
    queue.value?.request { log.append("A: \(Subject.brief($0))") }
    await over.pass()
    #expect(log.value == ["running", "A: 1", "idle", "B: Cancelled"])
    queue.value = nil
  }

  @Test func `a request in the running notification causes a second run`() async {
    let log = Log<String>([])
    let queue = Shared<RunQueue<Int>?>(nil)
    let over = Gate()
    queue.value = RunQueue<Int>(
      cancellation: { Cancelled() },
      statusDidChange: { isRunning in
        if isRunning { queue.value?.request { _ in log.append("B") } } else { over.open() }
      },
      run: {
        log.append("run")
        return 1
      })
    queue.value?.request { _ in log.append("A") }
    await over.pass()
    #expect(log.value == ["run", "run", "A", "B"])
    queue.value = nil
  }

  @Test func `canceling an idle queue does nothing`() async {
    let subject = Subject()
    subject.queue.cancel()
    subject.ask("A")
    await subject.waitUntilIdle()
    subject.queue.cancel()
    subject.ask("B")
    await subject.waitUntilIdle(times: 2)
    #expect(
      subject.log.value == [
        "running", "run 1", "ended 1", "A: 1", "idle", "running", "run 2", "ended 2", "B: 2",
        "idle",
      ])
  }

  @Test func `canceling a wait does not cancel the run`() async throws {
    let held = Gate()
    let subject = Subject { if $0 == 1 { await held.pass() } }
    subject.ask("A")
    await held.waitForArrivals()
    let waits = (0..<20).map { _ in Task { try await subject.queue.request() } }
    for wait in waits { wait.cancel() }
    for wait in waits {
      await #expect(throws: CancellationError.self) { try await wait.value }
    }
    subject.ask("B")
    held.open()
    await subject.waitUntilIdle()
    #expect(
      subject.log.value == [
        "running", "run 1", "ended 1", "run 2", "ended 2", "A: 2", "B: 2", "idle",
      ])
  }

  @Test func `awaiting returns the result`() async throws {
    let subject = Subject { if $0 == 2 { throw Refusal() } }
    #expect(try await subject.queue.request() == 1)
    await #expect(throws: Refusal.self) { try await subject.queue.request() }
  }

  @Test func `a queue is released after its runs`() async {
    let held = Gate()
    let over = Gate()
    let token = Shared<Token?>(Token { over.open() })
    weak var released: RunQueue<Int>?
    do {
      let queue = RunQueue<Int>(
        cancellation: { Cancelled() }, statusDidChange: { [token = token.value] _ in _ = token },
        run: {
          await held.pass()
          return 1
        })
      released = queue
      queue.request { _ in }
    }
    token.value = nil
    await held.waitForArrivals()
    #expect(released != nil)
    held.open()
    // The captures of the closures are released with the queue.
    await over.pass()
    #expect(released == nil)
  }
}

/// Tests of tasks that request, cancel and leave concurrently.
@Suite(.tags(.concurrency), .timeLimit(.minutes(10))) struct RunQueueConcurrencyTests {
  @Test func `all callers are answered once and runs do not overlap`() async throws {
    struct Cancelled: Error {}
    let running = Shared(0)
    let overlaps = Shared(0)
    let statuses = Log<Bool>([])
    let idle = Property(true)
    let queue = RunQueue<Int>(
      cancellation: { Cancelled() },
      statusDidChange: {
        statuses.append($0)
        idle.value = !$0
      },
      run: {
        let others = running.modify { running in
          running += 1
          return running - 1
        }
        if others > 0 { overlaps.modify { $0 += 1 } }
        for _ in 0..<3 { await Task.yield() }
        running.modify { $0 -= 1 }
        return 1
      })
    let answers = Log<Int>([])
    await withTaskGroup(of: Void.self) { group in
      for worker in 0..<8 {
        group.addTask {
          var random = SeededGenerator(seed: UInt64(worker))
          for step in 0..<200 {
            switch random.below(4) {
            case 0: queue.cancel()
            case 1:
              let wait = Task { try await queue.request() }
              if random.oneIn(2) { wait.cancel() }
              _ = await wait.result
              answers.append(worker * 1000 + step)
            default: queue.request { _ in answers.append(worker * 1000 + step) }
            }
            if random.oneIn(3) { await Task.yield() }
          }
        }
      }
    }
    let expected = (0..<8).flatMap { worker in
      var random = SeededGenerator(seed: UInt64(worker))
      return (0..<200).compactMap { step -> Int? in
        let action = random.below(4)
        if action == 1 { _ = random.oneIn(2) }
        _ = random.oneIn(3)
        return action == 0 ? nil : worker * 1000 + step
      }
    }
    // The queue may be idle for a moment before it performs the last request.
    try await wait(for: "an answer to each request") { answers.value.count >= expected.count }
    await ReadOnlyProperty(idle).wait { $0 }
    #expect(answers.value.sorted() == expected)
    #expect(overlaps.value == 0)
    #expect(statuses.value == statuses.value.indices.map { $0.isMultiple(of: 2) })
  }
}
