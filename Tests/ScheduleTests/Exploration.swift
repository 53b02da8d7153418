import DataSourceTesting
import Dispatch
import Foundation
import SwappablePrimitives
import TestSupport
import Testing

/// What a scenario declares: its threads, and what must hold at the end.
final class Scenario: @unchecked Sendable {
  // Sendable: of the threads of a scenario, one runs at a time.
  fileprivate let scheduler: StepScheduler
  fileprivate var checks: [() throws -> Void] = []
  fileprivate var releases: [() -> Void] = []

  fileprivate init(_ scheduler: StepScheduler) { self.scheduler = scheduler }

  /// Adds a thread, which runs from the beginning.
  func thread(_ body: @escaping () throws -> Void) {
    let name = String(UnicodeScalar(UInt8(97 + scheduler.threads.count)))
    scheduler.add(name) { [self] in
      do { try body() } catch { fail("thread \(name) throws \(error)") }
    }
  }

  /// Adds a serial queue, which has a thread of its own.
  func queue() -> ScheduledQueue {
    let queue = ScheduledQueue()
    scheduler.add(String(UnicodeScalar(UInt8(97 + scheduler.threads.count))), isQueue: true) {
      [scheduler] in queue.run { scheduler.isClosing }
    }
    return queue
  }

  /// Adds a check, which runs after all threads have ended.
  func finally(_ check: @escaping () throws -> Void) { checks.append(check) }

  /// Adds a closure that breaks a reference cycle after the checks, so that a long run does not fill the memory.
  func atEnd(_ release: @escaping () -> Void) { releases.append(release) }

  /// Ends the run with a failure, which is reported with its schedule.
  func fail(_ message: String) { scheduler.fail(message) }

  func expect(_ condition: Bool, _ message: @autoclosure () -> String) {
    if !condition { fail(message()) }
  }
}

/// A serial queue whose work is done by a thread of the scenario.
final class ScheduledQueue: @unchecked Sendable {
  // Sendable: of the threads of a scenario, one runs at a time.
  private var jobs: [() -> Void] = []
  private let waiting = ScheduledObject(permits: 0)

  func async(_ job: @escaping () -> Void) {
    schedulePoint()
    jobs.append(job)
    waiting.permits += 1
  }

  fileprivate func run(until isClosing: () -> Bool) {
    while true {
      _ = waiting.take(.wait, #fileID, #line)
      if isClosing() { return }
      jobs.removeFirst()()
    }
  }
}

/// The order in which the threads of a run have taken their steps: a letter for each thread, and how often it was chosen.
struct Schedule: CustomStringConvertible {
  var choices: [Int]

  init(_ choices: [Int]) { self.choices = choices }

  init?(_ text: String) {
    choices = []
    var rest = Substring(text)
    while let letter = rest.popFirst() {
      guard let value = letter.asciiValue, value >= 97 else { return nil }
      let digits = rest.prefix { $0.isNumber }
      rest = rest.dropFirst(digits.count)
      choices += Array(repeating: Int(value) - 97, count: Int(digits) ?? 1)
    }
  }

  var description: String {
    var text = ""
    var index = 0
    while index < choices.count {
      let end = choices[index...].firstIndex { $0 != choices[index] } ?? choices.count
      text += String(UnicodeScalar(UInt8(97 + choices[index])))
      if end - index > 1 { text += "\(end - index)" }
      index = end
    }
    return text
  }
}

/// What an exploration has found.
struct Outcome {
  /// The number of schedules that were run.
  var schedules = 0
  /// The first failure, with its schedule.
  var failure: (message: String, schedule: Schedule)?
  /// The largest number of decisions in a run.
  var decisions = 0
  /// A Boolean value that indicates whether the time was up.
  var isCut = false
}

/// Runs a scenario under schedules.
struct Explorer {
  let scenario: (Scenario) -> Void

  init(_ scenario: @escaping (Scenario) -> Void) { self.scenario = scenario }

  /// Runs every schedule with at most a number of preemptions, depth first, until the first failure.
  ///
  /// A thread that goes on because another one blocks or ends is no preemption.
  ///
  /// - Parameter seconds: The processor time after which the exploration stops.
  func all(preemptions bound: Int, seconds: Double = .infinity) -> Outcome {
    var outcome = Outcome()
    var prefix: [Int] = []
    var previous: [StepScheduler.Decision] = []
    let end = processorTime() + seconds
    // What is made once in a process, such as a static property, takes its steps in this run.
    _ = run { _, last, possible in Self.next(last, possible) }
    while true {
      let scheduler = run { index, last, possible in
        if index < prefix.count, possible.contains(prefix[index]) { return prefix[index] }
        return Self.next(last, possible)
      }
      let decisions = scheduler.decisions
      outcome.schedules += 1
      outcome.decisions = max(outcome.decisions, decisions.count)
      if let difference = Self.difference(decisions, previous, prefix) {
        scheduler.fail(difference)
      }
      if let failure = scheduler.failure {
        outcome.failure = (failure, Schedule(decisions.map(\.chosen)))
        return outcome
      }
      guard let next = Self.prefix(after: decisions, bound) else { return outcome }
      if processorTime() > end {
        outcome.isCut = true
        return outcome
      }
      (prefix, previous) = (next, decisions)
    }
  }

  /// Runs random schedules until the first failure.
  ///
  /// Each thread has a random priority, and the one with the highest goes on. At `depth` - 1 random decisions, the
  /// thread that runs gets the lowest one. A fault that needs `depth` steps in a certain order is found by a run with a
  /// probability of at least 1 / (*n* · *k*^(`depth` - 1)), for *n* threads and *k* steps (Burckhardt et al., 2010).
  func random(_ count: Int, depth: Int = 3, seed: UInt64) -> Outcome {
    var outcome = Outcome()
    var random = SeededGenerator(seed: seed)
    var length = run { _, last, possible in Self.next(last, possible) }.decisions.count
    while outcome.schedules < count {
      var priorities = (0..<26).map { _ in Int.random(in: depth..<1_000_000, using: &random) }
      let changes = (1..<max(depth, 1)).map { _ in
        Int.random(in: 0..<max(length, 1), using: &random)
      }
      let scheduler = run { index, last, possible in
        for (number, change) in changes.enumerated() where change == index {
          if let last { priorities[last] = number }
        }
        return possible.max { priorities[$0] < priorities[$1] } ?? possible[0]
      }
      outcome.schedules += 1
      length = max(length, scheduler.decisions.count)
      if let failure = scheduler.failure {
        outcome.failure = (failure, Schedule(scheduler.decisions.map(\.chosen)))
        break
      }
    }
    outcome.decisions = length
    return outcome
  }

  /// Runs one schedule. After its end, the first thread that can go on does.
  func replay(
    _ schedule: Schedule, onStep: @escaping (String) -> Void = { _ in }
  ) -> Outcome {
    var outcome = Outcome(schedules: 1)
    _ = run { _, last, possible in Self.next(last, possible) }
    let scheduler = run(onStep: onStep) { index, last, possible in
      if index < schedule.choices.count, possible.contains(schedule.choices[index]) {
        return schedule.choices[index]
      }
      return Self.next(last, possible)
    }
    let taken = scheduler.decisions.map(\.chosen)
    if !taken.starts(with: schedule.choices) {
      scheduler.fail("the scenario has changed since this schedule was printed")
    }
    outcome.failure = scheduler.failure.map { ($0, Schedule(taken)) }
    return outcome
  }

  /// Runs the scenario once.
  private func run(
    onStep: @escaping (String) -> Void = { _ in }, _ choose: @escaping StepScheduler.Choose
  ) -> StepScheduler {
    let scheduler = StepScheduler(onStep: onStep, choose)
    let declared = Scenario(scheduler)
    scenario(declared)
    CrashReport.scheduler = scheduler
    scheduler.run()
    CrashReport.scheduler = nil
    if scheduler.failure == nil {
      for check in declared.checks {
        do { try check() } catch { scheduler.fail("\(error)") }
      }
      // Their closures hold the scenario.
      scheduler.removeThreads()
    }
    for release in declared.releases { release() }
    (declared.checks, declared.releases) = ([], [])
    return scheduler
  }

  /// The thread that goes on without a preemption.
  private static func next(_ last: Int?, _ possible: [Int]) -> Int {
    if let last, possible.contains(last) { return last }
    return possible[0]
  }

  /// Returns the choices that begin the next run, or `nil` after the last one.
  private static func prefix(after decisions: [StepScheduler.Decision], _ bound: Int) -> [Int]? {
    var preemptions = decisions.count { $0.isPreemption }
    for index in decisions.indices.reversed() {
      let decision = decisions[index]
      if decision.isPreemption { preemptions -= 1 }
      if decision.possible.count == 1 { continue }
      let first = next(decision.last, decision.possible)
      let order = [first] + decision.possible.filter { $0 != first }
      guard let tried = order.firstIndex(of: decision.chosen), tried + 1 < order.count else {
        continue
      }
      let costs = decision.last == first ? 1 : 0
      if preemptions + costs <= bound {
        return decisions[..<index].map(\.chosen) + [order[tried + 1]]
      }
    }
    return nil
  }

  /// Returns where a run that repeats the beginning of another one differs from it, or `nil`.
  private static func difference(
    _ decisions: [StepScheduler.Decision], _ previous: [StepScheduler.Decision], _ prefix: [Int]
  ) -> String? {
    for index in prefix.indices.dropLast() {
      if index >= decisions.count || decisions[index].step != previous[index].step
        || decisions[index].possible != previous[index].possible
      {
        let taken = index < decisions.count ? "\(decisions[index].step)" : "its end"
        return """
          the scenario depends on more than its schedule: step \(index + 1) was \
          \(previous[index].step), and is \(taken) now
          """
      }
    }
    return nil
  }
}

/// Runs a scenario under every schedule up to a number of preemptions, and reports the first failure.
///
/// With `SWAPPABLE_SCHEDULE`, runs the schedule that a failure has printed, and prints each step. With `SWAPPABLE_LONG=1`,
/// goes on with the next bound for as many seconds of processor time as `SWAPPABLE_SECONDS` says, and with as many random
/// schedules as `SWAPPABLE_RANDOM` says.
func explore(
  preemptions: Int, _ name: String = #function,
  sourceLocation: SourceLocation = #_sourceLocation, _ scenario: @escaping (Scenario) -> Void
) {
  let explorer = Explorer(scenario)
  let environment = ProcessInfo.processInfo.environment
  func report(_ outcome: Outcome, _ kind: String, _ seconds: Double) -> Bool {
    let end = outcome.isCut ? ", and the time was up" : ""
    print(
      "schedules: \(name.replacing("()", with: "")): \(kind), \(outcome.schedules) schedules "
        + "of up to \(outcome.decisions) decisions, \(String(format: "%.1f", seconds)) s\(end)")
    guard let (message, schedule) = outcome.failure else { return true }
    Issue.record(
      "\(message)\nSWAPPABLE_SCHEDULE=\(schedule), schedule \(outcome.schedules) of \(kind)",
      sourceLocation: sourceLocation)
    return false
  }
  func timed(_ kind: String, _ run: () -> Outcome) -> Bool {
    let start = processorTime()
    let outcome = run()
    return report(outcome, kind, processorTime() - start)
  }
  if let text = environment["SWAPPABLE_SCHEDULE"] {
    guard let schedule = Schedule(text) else {
      Issue.record("SWAPPABLE_SCHEDULE is letters and numbers, such as a3b2a, but is \(text)")
      return
    }
    _ = timed("replay") { explorer.replay(schedule) { print($0) } }
    return
  }
  guard timed("bound \(preemptions)", { explorer.all(preemptions: preemptions) }) else { return }
  if !TestRun.isLong { return }
  let seconds = environment["SWAPPABLE_SECONDS"].flatMap(Double.init) ?? 120
  let count = environment["SWAPPABLE_RANDOM"].flatMap(Int.init) ?? 300_000
  let next = preemptions + 1
  guard timed("bound \(next)", { explorer.all(preemptions: next, seconds: seconds) }) else {
    return
  }
  let seed = TestRun.seed ?? 1
  _ = timed("random from seed \(seed)") { explorer.random(count, seed: seed) }
}

/// The processor time of this process in seconds.
func processorTime() -> Double { Double(clock()) / Double(CLOCKS_PER_SEC) }

/// Prints the schedule of the run that has ended the process.
private enum CrashReport {
  nonisolated(unsafe) static var scheduler: StepScheduler? {
    didSet { _ = isInstalled }
  }

  private static let isInstalled: Bool = {
    for number in [SIGILL, SIGTRAP, SIGABRT, SIGSEGV] {
      signal(number) { number in
        if let scheduler = CrashReport.scheduler {
          let schedule = Schedule(scheduler.decisions.map(\.chosen))
          let text = "The process ends in SWAPPABLE_SCHEDULE=\(schedule)\n"
          FileHandle.standardError.write(Data(text.utf8))
        }
        signal(number, SIG_DFL)
        raise(number)
      }
    }
    return true
  }()
}
