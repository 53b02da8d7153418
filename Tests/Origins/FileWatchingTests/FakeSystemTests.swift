@testable import FileWatching
import SwappablePrimitives
import Testing

/// Situations that a test cannot create on a real system, or only with long waits.
@Suite(.timeLimit(.minutes(10)))
struct FakeSystemTests {
  let fake = FakeSystem()

  @Test func `each name on the path is watched`() {
    fake.setDirectory("/c")
    fake.setDirectory("/c/v1")
    fake.setLink("/c/a", to: "..data/a")
    fake.setLink("/c/..data", to: "/c/v1")
    fake.setFile("/c/v1/a", inode: 7)
    let log = EventLog("/c/a", system: fake.system)
    #expect(fake.watched == ["/c:a", "/c:..data", "/c/v1:a", "/c/v1/a"])
    log.watch.cancel()
    #expect(fake.registrationCount == 0)
  }

  @Test func `the nearest existing directory is watched`() {
    fake.setDirectory("/x")
    let log = EventLog("/x/y/z/a", system: fake.system)
    #expect(fake.watched == ["/x:y"])
    withExtendedLifetime(log) {}
  }

  @Test func `an overflow causes a check even if the stamp is the same`() async throws {
    fake.setFile("/a", inode: 7)
    let log = EventLog("/a", system: fake.system)
    fake.send(.lost, to: "/")
    try await log.next(.check)
  }

  @Test func `a watch that the system ends is registered again`() async throws {
    fake.setFile("/a", inode: 7)
    let log = EventLog("/a", system: fake.system)
    fake.remove("/a")
    fake.send([.lost, .displaced], to: "/a")
    try await log.next(.removed)
    #expect(fake.watched == ["/:a"])
    fake.setFile("/a", inode: 7)
    fake.send(.movedIn, to: "/")
    try await log.next(.replaced)
    #expect(fake.watched == ["/:a", "/a"])
  }

  @Test func `a watch without registrations polls and reports a diagnostic`() async throws {
    fake.setFile("/a", inode: 7)
    fake.deny(.limit)
    let intervals = FileWatch.Intervals(safety: .seconds(1), polling: .milliseconds(250))
    let log = EventLog("/a", intervals: intervals, system: fake.system)
    let diagnostic = try #require(log.watch.diagnostic)
    #expect(diagnostic.contains("/a every 0.25 seconds"))
    #expect(diagnostic.contains("No space left on device"))
    #expect(diagnostic.contains("Raise the system's limit"))

    fake.setFile("/a", inode: 7, size: 2, time: 2)
    #expect(fake.fireTimers() == [.milliseconds(250)])
    try await log.next(.modified)
    fake.setFile("/a", inode: 8, size: 2, time: 2)
    fake.fireTimers()
    try await log.next(.created)
    fake.remove("/a")
    fake.fireTimers()
    try await log.next(.removed)

    // As soon as watches are available, the watch uses them and reports a check.
    fake.setFile("/a", inode: 8)
    fake.fireTimers()
    try await log.next(.created)
    fake.deny(nil)
    fake.fireTimers()
    try await log.next(.check)
    #expect(log.watch.diagnostic == nil)
    #expect(fake.fireTimers() == [.seconds(1)])
  }

  @Test func `the regular check finds a change without a notification`() async throws {
    fake.setFile("/a", inode: 7)
    let log = EventLog("/a", intervals: FileWatch.Intervals(), system: fake.system)
    fake.setFile("/a", inode: 7, size: 1, time: 2)
    #expect(fake.fireTimers() == [.seconds(1)])
    try await log.next(.modified)
  }

  @Test func `an idle file is checked rarely`() {
    fake.setFile("/a", inode: 7)
    let log = EventLog("/a", intervals: FileWatch.Intervals(), system: fake.system)
    let pauses = (0..<20).map { _ in fake.fireTimers()[0] }
    #expect(pauses.prefix(5).allSatisfy { $0 == .seconds(1) })
    #expect(pauses.dropFirst(5).allSatisfy { $0 == .seconds(2) })
    fake.send(.modified, to: "/a")
    fake.fireTimers()
    #expect(fake.fireTimers() == [.seconds(1)])
    withExtendedLifetime(log) {}
  }

  @Test func `a file system that reports no changes is named`() async throws {
    fake.setFile("/a", inode: 7)
    let log = EventLog("/a", intervals: FileWatch.Intervals(), system: fake.system)
    for version in 2...3 {
      fake.setFile("/a", inode: 7, size: Int64(version), time: Int64(version))
      fake.fireTimers()
      try await log.next(.modified)
      for _ in 0..<4 { fake.fireTimers() }
      // A read that is still scheduled would find the next change before the regular check does.
      log.watch.check()
    }
    #expect(try #require(log.watch.diagnostic).contains("its file system reports no changes"))
    fake.send(.modified, to: "/a")
    fake.setFile("/a", inode: 7, size: 4, time: 4)
    fake.fireTimers()
    #expect(log.watch.diagnostic == nil)
  }

  /// A second write may follow before the clock of the file system ticks.
  @Test(arguments: [false, true])
  func `a change that a regular check finds is read again`(isPolled: Bool) async throws {
    fake.setFile("/a", inode: 7)
    if isPolled { fake.deny(.limit) }
    let intervals = FileWatch.Intervals(safety: .seconds(1), polling: .seconds(1))
    let log = EventLog("/a", intervals: intervals, system: fake.system)
    fake.setFile("/a", inode: 7, size: 1, time: 2)
    fake.fireTimers()
    try await log.next(.modified)
    for _ in 0..<64 { fake.fireTimers() }
    for _ in 0..<(isPolled ? 6 : 1) { try await log.next(.check) }
    // The schedule ends, because the stamp is reliable after a while.
    for _ in 0..<200 { fake.fireTimers() }
    fake.setFile("/a", inode: 7, size: 1, time: 3)
    fake.fireTimers()
    var kinds: [FileEvent.Kind] = []
    repeat {
      try await kinds.append(log.next(.check, .modified).kind)
    } while kinds.last != .modified
    #expect(kinds.count <= 6)
  }

  @Test func `a file system of another machine is polled`() throws {
    fake.setDirectory("/net")
    fake.setFile("/net/a", inode: 7)
    let log = EventLog("/net/a", system: fake.system)
    let diagnostic = try #require(log.watch.diagnostic)
    #expect(diagnostic.contains("other machines"))
  }

  @Test func `no event follows the end of a watch`() async throws {
    fake.setFile("/a", inode: 7)
    await confirmation(expectedCount: 0) { called in
      let watch = FileWatch(path: "/a", system: fake.system) { _ in called() }
      watch.cancel()
      fake.setFile("/a", inode: 8)
      fake.send(.lost, to: "/")
      fake.fireTimers()
    }
    #expect(fake.registrationCount == 0)
  }

  @Test func `the end of a watch cancels its timer`() {
    fake.setFile("/a", inode: 7)
    let watch = FileWatch(path: "/a", system: fake.system) { _ in }
    #expect(fake.timerCount == 1)
    fake.fireTimers()
    #expect(fake.timerCount == 1)
    watch.cancel()
    #expect(fake.timerCount == 0)
    var kept: FileWatch? = FileWatch(path: "/a", system: fake.system) { _ in }
    #expect(kept != nil && fake.timerCount == 1)
    kept = nil
    #expect(fake.timerCount == 0)
  }

  @Test func `releasing a watch ends its registrations`() {
    fake.setFile("/a", inode: 7)
    var log: EventLog? = EventLog("/a", system: fake.system)
    #expect(fake.registrationCount == 2)
    log = nil
    #expect(log == nil)
    #expect(fake.registrationCount == 0)
  }
}
