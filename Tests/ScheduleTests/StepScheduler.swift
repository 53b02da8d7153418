import Dispatch
import Foundation
import SwappablePrimitives

/// Runs the threads of a scenario one at a time, and decides at each step which one goes on.
///
/// A step is the acquisition of a lock, a wait for a semaphore, or an atomic operation that decides something. Between
/// two steps, a thread touches nothing that others can see, so the orders of these steps are all that can matter.
final class StepScheduler: @unchecked Sendable {
  // Sendable: of the threads that it controls, one runs at a time. The thread that calls `run(_:)` waits meanwhile.

  /// A thread of the scenario: a real thread, which runs from one step to the next when it is told to.
  final class Thread: ScheduledThread, @unchecked Sendable {
    let name: String
    /// A Boolean value that indicates whether the scenario can end while the thread waits for work.
    let isQueue: Bool
    unowned let scheduler: StepScheduler
    let turn = DispatchSemaphore(value: 0)
    var step = ScheduledStep(.begin, nil, #fileID, #line)
    var isOver = false
    /// The work of the thread, or `nil` after the run.
    fileprivate(set) var body: (() -> Void)?

    init(
      _ name: String, isQueue: Bool, in scheduler: StepScheduler, _ body: @escaping () -> Void
    ) {
      (self.name, self.isQueue, self.scheduler, self.body) = (name, isQueue, scheduler, body)
    }

    override func reach(_ step: ScheduledStep) {
      self.step = step
      scheduler.goOn(after: self)
    }

    var canGoOn: Bool { !isOver && step.isPossible }
  }

  /// A decision of the scheduler.
  struct Decision {
    /// The thread that took a step before, or `nil` at the beginning.
    var last: Int?
    /// The threads that could go on.
    var possible: [Int]
    /// The thread that goes on.
    var chosen: Int
    /// The step that it takes then.
    var step: StepName

    /// A Boolean value that indicates whether the last thread could have gone on and did not.
    var isPreemption: Bool { last.map { $0 != chosen && possible.contains($0) } ?? false }
  }

  /// A step as far as it is the same in each run.
  struct StepName: Equatable, CustomStringConvertible {
    var kind: ScheduledStep.Kind
    var object: Int
    var file: String
    var line: UInt

    var description: String {
      "\(kind.rawValue)\(object == 0 ? "" : " \(object)") at \(file):\(line)"
    }
  }

  /// Returns the thread that takes the next step, of those that can.
  typealias Choose = (_ decision: Int, _ last: Int?, _ possible: [Int]) -> Int

  private(set) var threads: [Thread] = []
  private(set) var decisions: [Decision] = []
  private(set) var failure: String?
  /// A Boolean value that indicates whether the threads of queues end, because all others have.
  private(set) var isClosing = false
  private let choose: Choose
  private let onStep: (String) -> Void
  private let ended = DispatchSemaphore(value: 0)
  private var last: Int?
  private var lastObject = 0
  private static let maximumSteps = 100_000
  private let number: Int
  nonisolated(unsafe) private static var runs = 0

  init(onStep: @escaping (String) -> Void = { _ in }, _ choose: @escaping Choose) {
    (self.choose, self.onStep) = (choose, onStep)
    Self.runs += 1
    number = Self.runs
  }

  func add(_ name: String, isQueue: Bool = false, _ body: @escaping () -> Void) {
    threads.append(Thread(name, isQueue: isQueue, in: self, body))
  }

  /// Releases what the closures of the threads hold.
  ///
  /// A thread of the pool may hold its closure a little longer than the run lasts. It must not release the objects of
  /// the scenario beside the next run, whose threads may hold locks while they are suspended.
  func removeThreads() {
    for thread in threads { thread.body = nil }
    threads = []
  }

  /// Records the first failure.
  func fail(_ message: String) {
    if failure == nil { failure = message }
  }

  /// Runs all threads to their ends. After a deadlock, its threads stay blocked forever.
  func run() {
    if threads.isEmpty { return }
    for thread in threads { Pool.run(thread) { [self] in end(of: thread) } }
    threads[choice()].turn.signal()
    ended.wait()
    if threads.contains(where: { !$0.isOver && !$0.isQueue }) { return }
    isClosing = true
    for thread in threads where !thread.isOver {
      thread.turn.signal()
      ended.wait()
    }
  }

  /// Lets the chosen thread take its step.
  fileprivate func goOn(after thread: Thread) {
    guard let next = next() else { return thread.turn.wait() }
    if next === thread { return }
    next.turn.signal()
    thread.turn.wait()
  }

  private func end(of thread: Thread) {
    thread.isOver = true
    if isClosing {
      ended.signal()
      return
    }
    next()?.turn.signal()
  }

  /// Returns the thread that goes on, or `nil` if none can, which is the end or a deadlock.
  private func next() -> Thread? {
    if threads.contains(where: \.canGoOn), decisions.count < Self.maximumSteps {
      return threads[choice()]
    }
    let waiting = threads.filter { !$0.isOver && !$0.isQueue }
    if !waiting.isEmpty {
      let what = decisions.count < Self.maximumSteps ? "a deadlock" : "an endless loop"
      fail(
        "\(what): "
          + waiting.map { "\($0.name) waits for \(name($0.step))" }.joined(separator: ", "))
    }
    ended.signal()
    return nil
  }

  private func choice() -> Int {
    let possible = threads.indices.filter { threads[$0].canGoOn }
    let chosen = choose(decisions.count, last, possible)
    let step = name(threads[chosen].step)
    decisions.append(Decision(last: last, possible: possible, chosen: chosen, step: step))
    onStep("\(threads[chosen].name): \(step)")
    last = chosen
    return chosen
  }

  private func name(_ step: ScheduledStep) -> StepName {
    if let object = step.object, object.run != number {
      lastObject += 1
      (object.run, object.number) = (number, lastObject)
    }
    return StepName(
      kind: step.kind, object: step.object?.number ?? 0, file: "\(step.file)", line: step.line)
  }
}

/// Threads of the system that run one body after another.
private final class Pool: @unchecked Sendable {
  // Sendable: the scheduler that took it out of `free` sets `work`, and then signals.
  private var work: (() -> Void)?
  private let hasWork = DispatchSemaphore(value: 0)
  private static let free = DispatchQueue(label: "pool")
  nonisolated(unsafe) private static var idle: [Pool] = []

  static func run(_ thread: StepScheduler.Thread, end: @escaping () -> Void) {
    let pool = free.sync { idle.popLast() } ?? Pool()
    pool.work = {
      ScheduledThread.current = thread
      thread.turn.wait()
      thread.body?()
      ScheduledThread.current = nil
      pool.work = nil
      free.sync { idle.append(pool) }
      end()
    }
    pool.hasWork.signal()
  }

  private init() {
    Foundation.Thread.detachNewThread { [self] in
      while true {
        hasWork.wait()
        let work = work
        work?()
      }
    }
  }
}

/// Calls a closure, whose steps are no steps of the schedule.
func withoutSteps<Result>(_ body: () throws -> Result) rethrows -> Result {
  let thread = ScheduledThread.current
  ScheduledThread.current = nil
  defer { ScheduledThread.current = thread }
  return try body()
}
