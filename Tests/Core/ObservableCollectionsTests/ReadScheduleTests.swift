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

  private static func planned(_ at: Int, latest: Int? = nil) -> State {
    .planned(at: time(at), latest: time(latest ?? at))
  }

  private static let inputs: [Input] = [
    .due, .finished(again: nil), .finished(again: .milliseconds(3)),
    .request(.now), .request(.after(.milliseconds(2))), .request(.atRest),
    .request(.whenQuiet(for: .milliseconds(4))),
  ]

  /// Each state with the next state and the action for each of the inputs, at 10 ms. The rest lasts until 25 ms.
  ///
  /// A run that has begun at 8 ms rests for eight times 2 ms, until 26 ms.
  private static let table: [(state: State, cells: [Cell])] = {
    func wait(_ state: State, _ milliseconds: Int) -> Cell {
      (state, .schedule(after: .milliseconds(milliseconds)))
    }
    func same(_ state: State) -> Cell { (state, .none) }
    let begins: Cell = (.running(since: time(10), next: nil), .run)
    let quiet = wait(planned(14, latest: 210), 4)
    func idle(_ state: State, due: Cell) -> (State, [Cell]) {
      (
        state,
        [
          due, same(state), same(state), wait(planned(10), 0),
          wait(planned(12), 2), wait(planned(25), 15), quiet,
        ]
      )
    }
    /// - Parameter cells: The cells of the requests.
    func waiting(_ state: State, _ cells: Cell...) -> (State, [Cell]) {
      (state, [begins, same(state), same(state)] + cells)
    }
    func running(
      _ next: ReadSchedule.Request?, finished: Cell, again: Cell,
      _ requests: ReadSchedule.Request...
    ) -> (State, [Cell]) {
      let state = State.running(since: time(8), next: next)
      return (
        state,
        [same(state), finished, again]
          + requests.map { same(.running(since: time(8), next: $0)) }
      )
    }
    let after = ReadSchedule.Request.after(.milliseconds(2))
    let pause = ReadSchedule.Request.whenQuiet(for: .milliseconds(4))
    return [
      idle(.idle(until: nil), due: same(.idle(until: nil))),
      idle(.idle(until: time(11)), due: begins),
      // A run at a fixed time.
      waiting(
        planned(30), wait(planned(10), 0), wait(planned(12), 2), wait(planned(25), 15),
        wait(planned(14, latest: 30), 4)),
      waiting(
        planned(11), wait(planned(10), 0), same(planned(11)), same(planned(11)),
        same(planned(11))),
      // A run that waits for quiet.
      waiting(
        planned(13, latest: 200), wait(planned(10), 0), wait(planned(12), 2),
        same(planned(13, latest: 25)), wait(planned(14, latest: 200), 4)),
      waiting(
        planned(13, latest: 13), wait(planned(10), 0), wait(planned(12), 2), same(planned(13)),
        same(planned(13))),
      running(
        nil, finished: (.idle(until: nil), .none), again: wait(.idle(until: time(13)), 3),
        .now, after, .atRest, pause),
      running(
        .now, finished: wait(planned(10), 0), again: wait(planned(10), 0), .now, .now, .now, .now),
      running(
        after, finished: wait(planned(12), 2), again: wait(planned(12), 2),
        .now, after, after, after),
      running(
        .atRest, finished: wait(planned(26), 16), again: wait(planned(26), 16),
        .now, after, .atRest, .atRest),
      running(pause, finished: quiet, again: quiet, .now, after, .atRest, pause),
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
    var schedule = ReadSchedule(in: .idle(until: nil), restUntil: Self.time(5))
    #expect(schedule.handle(.request(.atRest), at: Self.time(10)) == .schedule(after: .zero))
  }

  @Test func `changes without an end delay a run fifty times`() {
    var schedule = ReadSchedule(in: .idle(until: nil))
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
      in: .running(since: Self.time(0), next: .atRest), longestRest: .milliseconds(longest))
    _ = schedule.handle(.finished(again: nil), at: Self.time(longest - 10))
    #expect(schedule.state == Self.planned(2 * longest - 10))
  }
}
