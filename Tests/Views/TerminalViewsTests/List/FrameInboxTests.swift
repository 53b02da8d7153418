import SwappablePrimitives
@testable import TerminalViews
import Testing

/// The work of a view that waits for the main actor.
@Suite struct FrameInboxTests {
  @Test func `a view starts one task, however much work arrives before it runs`() {
    let inbox = FrameInbox()
    let performed = Locked<[Int]>([])
    func add(_ number: Int) -> Bool {
      inbox.add { performed.withLock { $0.append(number) } }
    }
    #expect(add(1) && !add(2))
    for work in inbox.takeAll() { work() }
    // A key has performed the work, and the task still has to run.
    #expect(!add(3))
    inbox.taskBegins()
    #expect(add(4))
    for work in inbox.takeAll() { work() }
    #expect(performed.withLock(\.self) == [1, 2, 3, 4] && inbox.takeAll().isEmpty)
  }
}
