import ObservableCollections
import SwappablePrimitives
import Testing

@testable import SQLiteSources

@Suite struct ReadTimingTests {
  private func change(_ extents: [DatabaseChange.Extent]) -> DatabaseChange {
    var change = DatabaseChange(extents[0])
    for extent in extents.dropFirst() { change.merge(DatabaseChange(extent)) }
    return change
  }

  @Test func `single commits are read at once, and a burst in pauses`() {
    let monitor = ChangeMonitor(reader: DatabaseReader(path: "/missing"), watch: .none)
    let query = SQLiteLiveQuery<TestRow>(
      monitor: monitor,
      query: SQLiteQuery(
        sql: "SELECT 1", arguments: [], needsUniqueColumnNames: false), tracking: ChangeTracking()
    ) { _ in throw CancellationError() }
    var memory = query.start { _ in }
    let single = change([.ownCommits])
    let several = change([.ownCommits, .ownCommits])
    #expect(query.readTime(of: single, memory).request == .now)
    #expect(query.readTime(of: change([.found, .found]), memory).request == .now)
    #expect(query.readTime(of: several, memory).request == .atRest)
    // The commit after a burst may belong to it.
    memory.isBurst = true
    #expect(query.readTime(of: single, memory).request == .atRest)
  }

  @Test(
    arguments: [
      ([.ownCommits, .ownCommits], .ownCommits), ([.found, .found], .found),
      ([.ownCommits, .found], .all), ([.found, .ownCommits], .all), ([.all, .found], .all),
      ([.all, .ownCommits, .ownCommits], .all),
    ] as [([DatabaseChange.Extent], DatabaseChange.Extent)])
  func `a read includes all changes, unless the unread changes are of one kind`(
    changes: [DatabaseChange.Extent], expected: DatabaseChange.Extent
  ) {
    #expect(change(changes).extent == expected)
  }

  @Test func `checks follow a hint in growing intervals, and then steadily`() {
    let now = AnyClock.Instant(offset: .zero)
    var intervals = CheckIntervals(pace: CheckPace(shortest: .milliseconds(100), at: now))
    #expect(intervals.next(at: now) == .milliseconds(100))
    intervals.restart(isWAL: true, at: now)
    #expect(intervals.isRestarted)
    let pauses = (0..<9).map { _ in intervals.next(at: now) }
    var times: [Duration] = []
    for pause in pauses { times.append((times.last ?? .zero) + pause) }
    #expect(
      times.prefix(7) == [
        .microseconds(100), .microseconds(300), .milliseconds(1), .milliseconds(3),
        .milliseconds(10), .milliseconds(30), .milliseconds(100),
      ])
    #expect(pauses.suffix(2) == [.milliseconds(100), .milliseconds(100)])
    #expect(!intervals.isRestarted)
    intervals.restart(isWAL: false, at: now)
    #expect(intervals.next(at: now) == .milliseconds(7))
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
}
