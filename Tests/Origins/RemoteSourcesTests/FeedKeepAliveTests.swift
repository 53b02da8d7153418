import DataSourceTesting
import Diffing
import ObservableCollections
@testable import RemoteSources
import TestSupport
import TestTags
import Testing

/// The signs of life that subscribers of a silent list receive.
@Suite(.tags(.concurrency), .timeLimit(.minutes(10))) struct FeedKeepAliveTests {
  @Test func `waits that end at about the same time end together`() async throws {
    let clock = ManualClock()
    let feed = Feed(ArrayDataSource([Item(1)]), clock: clock)
    var tasks: [Task<[Feed.Line?], Never>] = []
    for count in 1...100 {
      let interval = Duration.milliseconds(15_000 - count)
      tasks.append(
        Task {
          var lines = feed.lines(aliveEvery: interval).makeAsyncIterator()
          return [await lines.next(), await lines.next()]
        })
      // The task waits as soon as the alarm has its deadline, which is the earliest one. The timer before may be canceled
      // a moment later.
      try await wait(for: "the deadline of subscriber \(count) alone") {
        clock.nextDeadline?.offset == interval && clock.sleeperCount == 1
      }
    }
    var passes = 0
    while clock.advanceToNextDeadline() != nil { passes += 1 }
    #expect(passes == 1)
    for task in tasks { #expect(await task.value[1]?.text.contains("alive") == true) }
  }

  @Test func `the subscriber with the shorter interval receives its lines in time`() async throws {
    let clock = ManualClock()
    let feed = Feed(ArrayDataSource([Item(1)]), clock: clock)
    let long = Task { for await _ in feed.lines() {} }
    try await wait(for: "the deadline of the longer interval") {
      clock.nextDeadline?.offset == .seconds(15)
    }
    let times = Shared<[Duration]>([])
    let short = Task {
      for await _ in feed.lines(aliveEvery: .seconds(4)) { times.append(clock.now.offset) }
    }
    for end in [4, 8, 12] {
      try await wait(for: "the deadline at second \(end)") {
        clock.nextDeadline?.offset == .seconds(end)
      }
      clock.advance(by: .seconds(4))
    }
    try await wait(for: "four lines") { times.value.count >= 4 }
    #expect(times.value == [0, 4, 8, 12].map { .seconds($0) })
    for task in [long, short] {
      task.cancel()
      await task.value
    }
  }
}
