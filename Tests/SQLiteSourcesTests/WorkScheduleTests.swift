import SwappablePrimitives
import SwappableSources
import Testing

@testable import SQLiteSources

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
          (.start, (.requested, .schedule(after: .zero))), (.stop, same(.stopped)),
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

  @Test func `single commits are read at once, and a burst in pauses`() {
    var schedule = WorkSchedule()
    var unread = UnreadChanges()
    func request(at milliseconds: Int) -> Action {
      let time = Self.time(milliseconds)
      return schedule.handle(
        .request(.init(time: time, isThrottled: unread.isBurst)), at: time)
    }
    func commit(at milliseconds: Int) -> Action {
      unread.note(.ownCommits)
      return request(at: milliseconds)
    }
    func begin(at milliseconds: Int) -> Bool {
      #expect(schedule.handle(.due, at: Self.time(milliseconds)) == .run)
      return unread.beginRead() == .all
    }
    func finish(at milliseconds: Int) -> Action {
      schedule.handle(.finished(repeatAfter: nil), at: Self.time(milliseconds))
    }
    unread.note(.all)
    #expect(schedule.handle(.start, at: Self.time(0)) == .schedule(after: .zero))
    #expect(commit(at: 0) == .none)
    #expect(begin(at: 0))
    // A single commit during a run is read right after the run. So is a commit after the run.
    #expect(commit(at: 0) == .none)
    #expect(finish(at: 1) == .schedule(after: .zero))
    #expect(!begin(at: 1))
    #expect(finish(at: 2) == .none)
    #expect(commit(at: 2) == .schedule(after: .zero))
    #expect(!begin(at: 2))
    // Several commits during a run are a burst.
    #expect(commit(at: 2) == .none)
    #expect(commit(at: 2) == .none)
    #expect(finish(at: 3) == .schedule(after: .milliseconds(8)))
    #expect(commit(at: 4) == .none)
    #expect(!begin(at: 11))
    #expect(commit(at: 11) == .none)
    #expect(finish(at: 111) == .schedule(after: .milliseconds(100)))
    #expect(!begin(at: 211))
    #expect(finish(at: 212) == .none)
  }

  @Test(
    arguments: [
      ([], .all), ([.ownCommits, .ownCommits], .ownCommits), ([.found, .found], .found),
      ([.ownCommits, .found], .all), ([.found, .ownCommits], .all), ([.all, .found], .all),
      ([.all, .ownCommits, .ownCommits], .all),
    ] as [([UnreadChanges.Extent], UnreadChanges.Extent)])
  func `a read includes all changes, unless the unread changes are of one kind`(
    changes: [UnreadChanges.Extent], expected: UnreadChanges.Extent
  ) {
    var unread = UnreadChanges()
    for change in changes { unread.note(change) }
    #expect(unread.beginRead() == expected)
    // The read has begun, so none of the changes is unread.
    unread.note(.found)
    #expect(unread.beginRead() == .found)
  }

  @Test func `checks follow a hint in growing intervals, and then steadily`() {
    var intervals = CheckIntervals(steady: .milliseconds(100))
    #expect(intervals.next() == .milliseconds(100))
    intervals.restart(isWAL: true)
    #expect(intervals.isRestarted)
    let pauses = (0..<9).map { _ in intervals.next() }
    var times: [Duration] = []
    for pause in pauses { times.append((times.last ?? .zero) + pause) }
    #expect(
      times.prefix(7) == [
        .microseconds(100), .microseconds(300), .milliseconds(1), .milliseconds(3),
        .milliseconds(10), .milliseconds(30), .milliseconds(100),
      ])
    #expect(pauses.suffix(2) == [.milliseconds(100), .milliseconds(100)])
    #expect(!intervals.isRestarted)
    intervals.restart(isWAL: false)
    #expect(intervals.next() == .milliseconds(7))
  }

  @Test(
    arguments: [
      (true, nil, nil, 0), (true, 0, 0, 1), (true, 1, 0, 0), (false, nil, nil, 3),
      (false, 0, 99, 30), (false, 0, 100, 3),
    ] as [(Bool, Int?, Int?, Int)])
  func `the first check after a hint depends on the journal and on the last change`(
    isWAL: Bool, sinceCommit: Int?, sinceChange: Int?, expected: Int
  ) {
    let pause = CheckIntervals.first(
      isWAL: isWAL, sinceCommit: sinceCommit.map { .milliseconds($0) },
      sinceChange: sinceChange.map { .milliseconds($0) })
    #expect(pause == .milliseconds(expected))
  }

  @Test func `the intervals between attempts grow to 250 ms, and a success resets them`() {
    var retry = RetryBackoff()
    let expected = [1, 2, 5, 10, 20, 50, 100, 250, 250]
    for milliseconds in expected {
      #expect(retry.failed(at: Self.time(0)) == .milliseconds(milliseconds))
    }
    #expect(!retry.isReported(at: Self.time(999)))
    #expect(retry.isReported(at: Self.time(1000)))
    retry.succeeded()
    #expect(!retry.isReported(at: Self.time(2000)))
    #expect(retry.failed(at: Self.time(2000)) == .milliseconds(1))
  }
}
