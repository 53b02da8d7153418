import ObservableCollections
import SwappablePrimitives
import Testing

@Suite struct ReadScheduleTests {
  private typealias State = ReadSchedule.State
  private typealias Input = ReadSchedule.Input
  private typealias Cell = (state: State, action: ReadSchedule.Action)

  private static func time(_ milliseconds: Int) -> AnyClock.Instant {
    AnyClock.Instant(offset: .milliseconds(milliseconds))
  }

  private typealias Plan = ReadSchedule.Plan

  private static func plan(
    _ at: Int, latest: Int? = nil, rest: Bool = false, requested: Bool = true, due: Bool = false
  ) -> Plan {
    var plan = Plan(at: time(at), latest: time(latest ?? at))
    (plan.needsRest, plan.isRequested, plan.isDue) = (rest, requested, due)
    return plan
  }

  private static let inputs: [Input] = [
    .due, .finished(again: nil), .finished(again: .milliseconds(3)),
    .request(.now), .request(.after(.milliseconds(2))), .request(.atRest),
    .request(.whenQuiet(for: .milliseconds(4))), .request(.insteadOfPause(.milliseconds(5))),
  ]

  /// Each state with the next state and the action for each of the inputs, at 10 ms. The rest lasts until 25 ms.
  ///
  /// A run that has begun at 8 ms rests for eight times 2 ms, until 26 ms.
  private static let table: [(state: State, cells: [Cell])] = {
    func wait(_ plan: Plan, _ milliseconds: Int) -> Cell {
      (.planned(plan), .schedule(after: .milliseconds(milliseconds)))
    }
    func same(_ plan: Plan) -> Cell { (.planned(plan), .none) }
    let (now, quiet) = (wait(plan(10, due: true), 0), plan(14, latest: 210))
    let idle: Cell = (.idle, .none)
    /// - Parameter cells: The cells of the requests.
    func planned(_ plan: Plan, _ cells: Cell...) -> (State, [Cell]) {
      (
        .planned(plan),
        [(.running(since: time(10), next: nil), .run), same(plan), same(plan)] + cells
      )
    }
    /// - Parameter requests: The plans after the requests.
    func running(
      _ next: Plan?, finished: Cell, again: Cell, _ requests: Plan...
    ) -> (State, [Cell]) {
      func running(_ next: Plan?) -> Cell { (.running(since: time(8), next: next), .none) }
      return (running(next).0, [running(next), finished, again] + requests.map(running))
    }
    let (due, late) = (plan(10, due: true), wait(plan(9, due: true), 0))
    return [
      (
        .idle,
        [
          idle, idle, idle, now, wait(plan(12), 2), wait(plan(25), 15), wait(quiet, 4),
          wait(plan(15), 5),
        ]
      ),
      // A pause after a run.
      planned(
        plan(11, requested: false), now, same(plan(11)), same(plan(11)), same(plan(11)),
        wait(plan(15), 5)),
      // A run at a fixed time.
      planned(
        plan(30), now, wait(plan(12), 2), wait(plan(25), 15), wait(plan(14, latest: 30), 4),
        wait(plan(15), 5)),
      planned(plan(11), now, same(plan(11)), same(plan(11)), same(plan(11)), same(plan(11))),
      // A run that waits for quiet.
      planned(
        plan(13, latest: 200), now, wait(plan(12), 2), same(plan(13, latest: 25)),
        wait(plan(14, latest: 200), 4), same(plan(13, latest: 15))),
      // A run that may begin, and one whose timer is late.
      planned(due, same(due), same(due), same(due), same(due), same(due)),
      planned(plan(9), late, late, late, late, late),
      running(
        nil, finished: idle, again: wait(plan(13, requested: false), 3),
        plan(10), plan(12), plan(10, rest: true), quiet, plan(15)),
      running(
        plan(10), finished: now, again: now, plan(10), plan(10), plan(10), plan(10), plan(10)),
      running(
        plan(12), finished: wait(plan(12), 2), again: wait(plan(12), 2),
        plan(10), plan(12), plan(10, rest: true), plan(12), plan(12)),
      running(
        plan(10, rest: true), finished: wait(plan(26), 16), again: wait(plan(13), 3),
        plan(10), plan(10, rest: true), plan(10, rest: true), plan(10, rest: true),
        plan(10, rest: true)),
      running(
        quiet, finished: wait(quiet, 4), again: wait(plan(13), 3),
        plan(10), plan(12), plan(10, rest: true), quiet, plan(14, latest: 15)),
    ]
  }()

  @Test func `every state answers every input`() {
    for (state, cells) in Self.table {
      #expect(cells.count == Self.inputs.count)
      for (input, next) in zip(Self.inputs, cells) {
        var schedule = ReadSchedule(in: state, restUntil: Self.time(25))
        let action = schedule.handle(input, at: Self.time(10))
        #expect(schedule.state == next.state, "\(state), \(input)")
        #expect(action == next.action, "\(state), \(input)")
      }
    }
  }

  @Test func `a request whose rest is over runs at once`() {
    var schedule = ReadSchedule(in: .idle, restUntil: Self.time(5))
    #expect(schedule.handle(.request(.atRest), at: Self.time(10)) == .schedule(after: .zero))
  }

  @Test func `changes without an end delay a run fifty times`() {
    var schedule = ReadSchedule()
    var due = Self.time(0)
    for now in 0...300 {
      let action = schedule.handle(
        .request(.whenQuiet(for: .milliseconds(4))), at: Self.time(now))
      if case .schedule(let pause) = action { due = Self.time(now).advanced(by: pause) }
      if due == Self.time(now) { break }
    }
    #expect(due == Self.time(200))
  }

  @Test(arguments: [100, 500])
  func `the rest after a run has a limit`(longest: Int) {
    var schedule = ReadSchedule(
      in: .running(since: Self.time(0), next: Self.plan(0, rest: true)),
      longestRest: .milliseconds(longest))
    _ = schedule.handle(.finished(again: nil), at: Self.time(longest - 10))
    #expect(schedule.state == .planned(Self.plan(2 * longest - 10)))
  }

  @Test func `a thread that comes late with its time delays nothing`() {
    var schedule = ReadSchedule(in: .running(since: Self.time(0), next: nil))
    #expect(schedule.handle(.request(.now), at: Self.time(1_000)) == .none)
    #expect(schedule.handle(.finished(again: nil), at: Self.time(1)) == .schedule(after: .zero))
  }

  @Test func `the end of a pause is not requested`() {
    for (state, isRequested) in [
      (State.idle, false), (.planned(Self.plan(1)), true),
      (.planned(Self.plan(1, requested: false)), false),
      (.running(since: Self.time(0), next: nil), false),
      (.running(since: Self.time(0), next: Self.plan(1)), true),
    ] {
      #expect(ReadSchedule(in: state).isRequested == isRequested)
    }
  }

  @Test(arguments: [Duration.seconds(Int64.max), .seconds(Int64.min), .nanoseconds(1)])
  func `a wait may have any length`(wait: Duration) {
    var schedule = ReadSchedule()
    for request in [ReadSchedule.Request.whenQuiet(for: wait), .after(wait), .insteadOfPause(wait)]
    {
      _ = schedule.handle(.request(request), at: Self.time(10))
      #expect(schedule.isRequested)
    }
  }
}
