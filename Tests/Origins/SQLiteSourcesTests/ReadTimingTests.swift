import ObservableCollections
import SwappablePrimitives
import Testing

@testable import SQLiteSources

@Suite struct ReadTimingTests {
  private static func time(_ milliseconds: Int) -> AnyClock.Instant {
    AnyClock.Instant(offset: .milliseconds(milliseconds))
  }

  @Test func `single commits are read at once, and a burst in pauses`() {
    var schedule = WorkSchedule()
    var unread = UnreadChanges()
    func request(at milliseconds: Int) -> WorkSchedule.Action {
      let time = Self.time(milliseconds)
      return schedule.handle(
        .request(.init(time: time, isThrottled: unread.isBurst)), at: time)
    }
    func commit(at milliseconds: Int) -> WorkSchedule.Action {
      unread.note(.ownCommits)
      return request(at: milliseconds)
    }
    func begin(at milliseconds: Int) -> Bool {
      #expect(schedule.handle(.due, at: Self.time(milliseconds)) == .run)
      return unread.beginRead() == .all
    }
    func finish(at milliseconds: Int) -> WorkSchedule.Action {
      schedule.handle(.finished(repeatAfter: nil), at: Self.time(milliseconds))
    }
    unread.note(.all)
    #expect(schedule.handle(.start, at: Self.time(0)) == .none)
    #expect(request(at: 0) == .schedule(after: .zero))
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
    var failures = ReadFailures()
    let expected = [1, 2, 4, 8, 16, 32, 64, 128, 250, 250]
    for milliseconds in expected {
      #expect(failures.add(at: Self.time(0)) == .milliseconds(milliseconds))
    }
    #expect(!failures.isReported(at: Self.time(999)))
    #expect(failures.isReported(at: Self.time(1000)))
    failures = ReadFailures()
    #expect(!failures.isReported(at: Self.time(2000)))
    #expect(failures.add(at: Self.time(2000)) == .milliseconds(1))
  }
}
