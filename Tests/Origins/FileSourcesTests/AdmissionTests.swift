import DataSourceTesting
import Dispatch
import FileWatching
import SwappablePrimitives
import TestSupport
import TestTags
import Testing

@testable import FileSources

@Suite(.tags(.concurrency), .timeLimit(.minutes(10)))
struct AdmissionTests {
  @Test func `all closures run, at most four at a time`() {
    // The timer never fires.
    let queue = DispatchQueue(label: "timer")
    let limiter = StartLimiter(timer: QueueTimer(queue: queue, clock: AnyClock(ManualClock())))
    let (inside, most) = (Shared(0), Shared(0))
    let done = DispatchSemaphore(value: 0)
    for index in 0..<1_000 {
      limiter.start(on: DispatchQueue(label: "\(index)")) {
        let now = inside.modify { count in
          count += 1
          return count
        }
        most.modify { $0 = max($0, now) }
        inside.modify { $0 -= 1 }
        done.signal()
      }
    }
    for _ in 0..<1_000 { #expect(done.wait(timeout: .now() + 50) == .success) }
    #expect((1...4).contains(most.value))
  }

  @Test func `closures that wait for other closures do not block them`() {
    let limiter = StartLimiter()
    let arrived = DispatchSemaphore(value: 0)
    let gate = Signpost()
    for index in 0..<64 {
      limiter.start(on: DispatchQueue(label: "\(index)")) {
        arrived.signal()
        gate.pass()
      }
    }
    for _ in 0..<64 { #expect(arrived.wait(timeout: .now() + 50) == .success) }
    gate.open()
  }

  @Test func `no more closures than the limit run at the same time`() {
    let (clock, queue) = (ManualClock(), DispatchQueue(label: "timer"))
    let limiter = StartLimiter(
      width: 2, limit: 3, timer: QueueTimer(queue: queue, clock: AnyClock(clock)))
    func fire() {
      clock.advance(by: .milliseconds(5))
      queue.sync {}
    }
    let (arrived, done) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let inside = Shared(0)
    let gate = Signpost()
    for index in 0..<8 {
      limiter.start(on: DispatchQueue(label: "\(index)")) {
        inside.modify { $0 += 1 }
        arrived.signal()
        gate.pass()
        done.signal()
      }
    }
    // The timer fires again and again while no closure finishes.
    for _ in 0..<8 { fire() }
    for _ in 0..<3 { #expect(arrived.wait(timeout: .now() + 50) == .success) }
    for _ in 0..<8 { fire() }
    #expect(inside.value == 3)
    gate.open()
    for _ in 0..<8 { #expect(done.wait(timeout: .now() + 50) == .success) }
  }

  @Test func `a closure is released after its run`() {
    let limiter = StartLimiter()
    let queue = DispatchQueue(label: "work")
    weak var weakToken: Token?
    do {
      let token = Token()
      weakToken = token
      limiter.start(on: queue) { withExtendedLifetime(token) {} }
    }
    let done = DispatchSemaphore(value: 0)
    limiter.start(on: queue) { done.signal() }
    #expect(done.wait(timeout: .now() + 50) == .success)
    #expect(weakToken == nil)
  }
}
