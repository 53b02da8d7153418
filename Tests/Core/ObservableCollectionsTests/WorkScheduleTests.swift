@testable import ObservableCollections
import SwappablePrimitives
import Testing

@Suite struct WorkScheduleTests {
  private typealias State = WorkSchedule.State
  private typealias Input = WorkSchedule.Input
  private typealias Action = WorkSchedule.Action
  private typealias Cell = (state: State, action: Action)
  private typealias Row = (state: State, cells: [(input: Input, next: Cell)])

  private static func time(_ milliseconds: Int) -> AnyClock.Instant {
    AnyClock.Instant(offset: .milliseconds(milliseconds))
  }

  private static let soon = WorkSchedule.Request(time: time(12))
  private static let late = WorkSchedule.Request(time: time(30))
  private static let throttled = WorkSchedule.Request(time: time(10), isThrottled: true)

  /// Each state with the next state and the action for each input, at 10 ms.
  ///
  /// A run that has begun at 8 ms rests for eight times 2 ms, until 26 ms.
  private static let table: [Row] = {
    let running = State.running(since: time(10), next: nil)
    func wait(_ milliseconds: Int) -> Cell {
      (.requested, .schedule(after: .milliseconds(milliseconds)))
    }
    func same(_ state: State) -> Cell { (state, .none) }
    let begins: Cell = (running, .run)
    func resting(_ state: State, isForcedOnly: Bool) -> Row {
      (
        state,
        [
          (.start, same(state)), (.stop, (.stopped, .cancel)),
          (.request(soon), wait(2)), (.request(throttled), wait(15)),
          (.request(late), wait(20)),
          (.due, isForcedOnly ? same(state) : begins), (.force, begins),
          (.finished(repeatAfter: nil), same(state)),
          (.finished(repeatAfter: .milliseconds(3)), same(state)),
        ]
      )
    }
    func run(
      next: WorkSchedule.Request?, soon afterSoon: WorkSchedule.Request,
      throttled afterThrottled: WorkSchedule.Request, late afterLate: WorkSchedule.Request,
      finished: Cell, repeating: Cell
    ) -> Row {
      let state = State.running(since: time(8), next: next)
      func after(_ request: WorkSchedule.Request) -> Cell {
        (.running(since: time(8), next: request), .none)
      }
      return (
        state,
        [
          (.start, same(state)), (.stop, (.stopped, .cancel)),
          (.request(soon), after(afterSoon)), (.request(throttled), after(afterThrottled)),
          (.request(late), after(afterLate)), (.due, same(state)), (.force, same(state)),
          (.finished(repeatAfter: nil), finished),
          (.finished(repeatAfter: .milliseconds(3)), repeating),
        ]
      )
    }
    let soonThrottled = WorkSchedule.Request(time: time(12), isThrottled: true)
    return [
      (
        .stopped,
        [
          (.start, (.idle(restUntil: time(10)), .none)), (.stop, same(.stopped)),
          (.request(soon), same(.stopped)), (.request(throttled), same(.stopped)),
          (.request(late), same(.stopped)), (.due, same(.stopped)), (.force, same(.stopped)),
          (.finished(repeatAfter: nil), same(.stopped)),
          (.finished(repeatAfter: .milliseconds(3)), same(.stopped)),
        ]
      ),
      resting(.idle(restUntil: time(25)), isForcedOnly: true),
      resting(.waiting(restUntil: time(25)), isForcedOnly: false),
      (
        .requested,
        [
          (.start, same(.requested)), (.stop, (.stopped, .cancel)),
          (.request(soon), same(.requested)), (.request(throttled), same(.requested)),
          (.request(late), same(.requested)), (.due, begins), (.force, begins),
          (.finished(repeatAfter: nil), same(.requested)),
          (.finished(repeatAfter: .milliseconds(3)), same(.requested)),
        ]
      ),
      run(
        next: nil, soon: soon, throttled: throttled, late: late,
        finished: (.idle(restUntil: time(26)), .none),
        repeating: (.waiting(restUntil: time(26)), .schedule(after: .milliseconds(3)))),
      run(
        next: soon, soon: soon, throttled: soonThrottled, late: soon, finished: wait(2),
        repeating: wait(2)),
      run(
        next: throttled, soon: throttled, throttled: throttled, late: throttled,
        finished: wait(16), repeating: wait(16)),
    ]
  }()

  @Test func `every state answers every input`() {
    for (state, cells) in Self.table {
      #expect(Set(cells.map { $0.input }).count == 9)
      for (input, next) in cells {
        var schedule = WorkSchedule(in: state)
        let action = schedule.handle(input, at: Self.time(10))
        #expect(schedule.state == next.state, "\(state), \(input)")
        #expect(action == next.action, "\(state), \(input)")
      }
    }
  }

  @Test func `a request whose time has passed runs at once`() {
    for state in [State.idle(restUntil: Self.time(5)), .waiting(restUntil: Self.time(5))] {
      for isThrottled in [false, true] {
        var schedule = WorkSchedule(in: state)
        let request = WorkSchedule.Request(time: Self.time(1), isThrottled: isThrottled)
        #expect(schedule.handle(.request(request), at: Self.time(10)) == .schedule(after: .zero))
      }
    }
  }

  @Test(arguments: [100, 500])
  func `the rest after a run has a limit`(longest: Int) {
    var schedule = WorkSchedule(
      in: .running(since: Self.time(0), next: nil), longestRest: .milliseconds(longest))
    _ = schedule.handle(.finished(repeatAfter: nil), at: Self.time(longest - 10))
    #expect(schedule.state == .idle(restUntil: Self.time(2 * longest - 10)))
  }
}
