import SwappablePrimitives
import Testing

@Suite struct CheckPaceTests {
  private func time(_ milliseconds: Int) -> AnyClock.Instant {
    AnyClock.Instant(offset: .milliseconds(milliseconds))
  }

  /// Returns the times of the checks until a moment.
  private func checks(
    _ pace: inout CheckPace, from start: Int = 0, to end: Int, isPolled: Bool = false
  ) -> [Int] {
    var times: [Int] = []
    var now = start
    while true {
      now += Int(pace.next(at: time(now), isPolled: isPolled) / .milliseconds(1))
      if now > end { return times }
      times.append(now)
    }
  }

  @Test func `checks become rarer when nothing happens`() {
    var pace = CheckPace(shortest: .milliseconds(100), at: time(0))
    let times = checks(&pace, to: 60_000)
    #expect(times.prefix(50) == (1...50).map { $0 * 100 }[...])
    #expect(times.dropFirst(50).prefix(5) == [5_200, 5_600, 6_400, 8_000, 10_000])
    #expect(times.count == 80)
    pace.noteReport(at: time(60_000))
    #expect(pace.next(at: time(60_000)) == .milliseconds(100))
    #expect(!pace.isSilent)
  }

  @Test func `two finds in a row without a report mean that the file system is silent`() {
    var pace = CheckPace(shortest: .milliseconds(100), at: time(0))
    pace.noteFind(at: time(20_000))
    // The report may still come.
    #expect(pace.next(at: time(20_900)) == .milliseconds(100))
    pace.noteFind(at: time(30_000))
    #expect(!pace.isSilent)
    #expect(pace.next(at: time(31_001)) == .milliseconds(100))
    #expect(pace.isSilent)
    #expect(checks(&pace, from: 34_000, to: 40_000).count == 15)
    pace.noteFind(at: time(40_000))
    #expect(pace.next(at: time(40_000)) == .milliseconds(100))
    pace.noteReport(at: time(41_000))
    #expect(!pace.isSilent)
  }

  @Test(arguments: [(-1_000, true), (-1_001, false), (1_000, true), (1_001, false)])
  func `a report a second before or after a find belongs to it`(offset: Int, belongs: Bool) {
    var pace = CheckPace(shortest: .milliseconds(100), at: time(0))
    for find in [10_000, 20_000, 30_000] {
      if offset < 0 { pace.noteReport(at: time(find + offset)) }
      pace.noteFind(at: time(find))
      if offset > 0 {
        _ = pace.next(at: time(find + offset))
        if belongs { pace.noteReport(at: time(find + offset)) }
      }
      _ = pace.next(at: time(find + 2_000))
    }
    // A report between two finds ends the row of the finds.
    #expect(pace.isSilent == (offset == 1_001))
  }

  @Test func `finds again and again count once a second`() {
    var pace = CheckPace(shortest: .milliseconds(100), at: time(0))
    for step in 0...11 { pace.noteFind(at: time(10_000 + step * 100)) }
    #expect(!pace.isSilent)
    for step in 12...24 { pace.noteFind(at: time(10_000 + step * 100)) }
    #expect(pace.isSilent)
  }

  @Test func `what is polled is checked often while it changes`() {
    var pace = CheckPace(shortest: .milliseconds(100), at: time(0))
    #expect(checks(&pace, to: 5_000, isPolled: true).count == 50)
    #expect(checks(&pace, from: 5_000, to: 65_000, isPolled: true).count == 60)
  }
}
