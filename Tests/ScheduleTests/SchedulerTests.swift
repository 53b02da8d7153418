import SwappablePrimitives
import Testing

/// The scheduler finds faults that are planted, and none where there is none.
@Suite struct SchedulerTests {
  /// A fault, and the same code without it.
  enum Planted: String, CaseIterable {
    case lostCount, lostWakeUp, oppositeLocks, brokenDoubleCheck

    func scenario(isRight: Bool) -> (Scenario) -> Void {
      switch self {
      case .lostCount:
        return { scenario in
          let count = Locked(0)
          for _ in 0..<2 {
            scenario.thread {
              if isRight {
                count.withLock { $0 += 1 }
              } else {
                let seen = count.withLock { $0 }
                count.withLock { $0 = seen + 1 }
              }
            }
          }
          scenario.finally { scenario.expect(count.withLock { $0 } == 2, "a count is lost") }
        }
      case .lostWakeUp:
        return { scenario in
          let state = Locked((isReady: false, waits: false))
          let semaphore = Semaphore(value: 0)
          scenario.thread {
            let mustWait = state.withLock { state in
              if isRight { state.waits = !state.isReady }
              return !state.isReady
            }
            if !isRight { state.withLock { $0.waits = true } }
            if mustWait { semaphore.wait() }
          }
          scenario.thread {
            let wakes = state.withLock { state in
              state.isReady = true
              return state.waits
            }
            if wakes { semaphore.signal() }
          }
        }
      case .oppositeLocks:
        return { scenario in
          let locks = Pair()
          scenario.thread { locks.first.withLock { _ in locks.second.withLock { _ in } } }
          scenario.thread {
            if isRight {
              locks.first.withLock { _ in locks.second.withLock { _ in } }
            } else {
              locks.second.withLock { _ in locks.first.withLock { _ in } }
            }
          }
        }
      case .brokenDoubleCheck:
        return { scenario in
          let state = Locked((isStarted: false, starts: 0))
          for _ in 0..<2 {
            scenario.thread {
              if state.withLock({ $0.isStarted }) { return }
              state.withLock { state in
                if isRight, state.isStarted { return }
                state.isStarted = true
                state.starts += 1
              }
            }
          }
          scenario.finally { scenario.expect(state.withLock { $0.starts } == 1, "started twice") }
        }
      }
    }
  }

  private final class Pair: Sendable {
    let first = Locked(0)
    let second = Locked(0)
  }

  @Test(arguments: Planted.allCases)
  func `a planted fault is found, and its schedule finds it again`(_ planted: Planted) throws {
    let explorer = Explorer(planted.scenario(isRight: false))
    let found = explorer.all(preemptions: 2)
    let failure = try #require(found.failure)
    #expect(found.schedules <= 1_000)
    let again = explorer.replay(try #require(Schedule("\(failure.schedule)")))
    #expect(again.failure?.message == failure.message)
    let random = explorer.random(1_000, seed: 1)
    #expect(random.failure != nil)
  }

  @Test(arguments: Planted.allCases)
  func `the same code without the fault passes every schedule`(_ planted: Planted) {
    let explorer = Explorer(planted.scenario(isRight: true))
    let outcome = explorer.all(preemptions: 3)
    #expect(outcome.failure == nil && outcome.schedules > 1)
    #expect(explorer.random(1_000, seed: 1).failure == nil)
  }

  @Test func `a deadlock says what each thread waits for`() throws {
    let outcome = Explorer(Planted.oppositeLocks.scenario(isRight: false)).all(preemptions: 1)
    let message = try #require(outcome.failure).message
    #expect(message.hasPrefix("a deadlock: a waits for lock "))
    #expect(message.contains("SchedulerTests.swift:"))
  }

  @Test func `every order of steps is run once`() {
    // Two threads with two steps each: six orders, and the beginnings of the threads are steps, too.
    final class Orders: @unchecked Sendable { var seen: [String] = [] }
    let orders = Orders()
    let outcome = Explorer { scenario in
      final class Text: @unchecked Sendable { var text = "" }
      let text = Text()
      for name in ["a", "b"] {
        scenario.thread {
          schedulePoint()
          text.text += name
          schedulePoint()
          text.text += name
        }
      }
      scenario.finally { orders.seen.append(text.text) }
    }.all(preemptions: 6)
    // The first run is the one that makes what is made once.
    #expect(Set(orders.seen) == ["aabb", "abab", "abba", "baab", "baba", "bbaa"])
    #expect(outcome.schedules == orders.seen.count - 1 && outcome.schedules == 20)
  }

  @Test func `a scenario that depends on more than its schedule is reported`() throws {
    final class Count: @unchecked Sendable { var runs = 0 }
    let count = Count()
    let outcome = Explorer { scenario in
      count.runs += 1
      let isOdd = count.runs % 2 == 1
      for _ in 0..<2 {
        scenario.thread {
          if isOdd { schedulePoint() } else { Locked(0).withLock { _ in } }
          schedulePoint()
        }
      }
    }.all(preemptions: 2)
    #expect(outcome.failure?.message.contains("depends on more than its schedule") == true)
  }

  @Test func `a schedule is read as it is printed`() {
    #expect("\(Schedule([0, 0, 0, 1, 2, 2]))" == "a3bc2")
    #expect(Schedule("a3bc2")?.choices == [0, 0, 0, 1, 2, 2])
    #expect(Schedule("a3-") == nil)
  }
}
