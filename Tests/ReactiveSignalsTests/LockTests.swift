import Dispatch
import ReactiveSignals
import Testing
import SwappablePrimitives

@Suite struct LockTests {
  @Test func oneThreadAtATimeIsInsideALock() {
    let counter = Shared(0)
    onThreads(4) { _ in for _ in 0..<5000 { counter.value.withLock { $0 += 1 } } }
    #expect(counter.value.withLock { $0 } == 20_000)
  }

  @Test func aBodyThatThrowsLeavesTheLockOpen() {
    struct Refused: Error {}
    let lock = Locked(1)
    #expect(throws: Refused.self) { try lock.withLock { _ throws(Refused) in throw Refused() } }
    #expect(lock.withLock { $0 } == 1)
  }

  @Test func whatALockHoldsIsReleasedWithIt() {
    weak var weakToken: Token?
    do {
      let token = Token()
      weakToken = token
      let lock = Locked<Token?>(token)
      #expect(lock.withLock { $0 != nil })
    }
    #expect(weakToken == nil)
  }

  @Test func oneThreadAtATimePassesAGate() {
    let gate = RecursiveGate()
    let counter = Unguarded()
    onThreads(4) { _ in
      let thread = ThreadID.current
      for _ in 0..<2000 {
        gate.enter(as: thread)
        counter.value += 1
        gate.leave(as: thread)
      }
    }
    #expect(counter.value == 8000)
  }

  @Test func aGateIsOwnedByTheThreadInside() {
    let gate = RecursiveGate()
    #expect(!gate.isOwned(by: .current))
    gate.enter(as: .current)
    #expect(gate.isOwned(by: .current))
    let isElsewhere = Locked(true)
    wait(for: onThread { isElsewhere.withLock { $0 = gate.isOwned(by: .current) } })
    #expect(!isElsewhere.withLock { $0 })
    gate.leave(as: .current)
    #expect(!gate.isOwned(by: .current))
  }

  @Test func gatesTakenInOppositeOrdersTrap() async {
    await #expect(processExitsWith: .failure) {
      let (one, other) = (RecursiveGate(), RecursiveGate())
      let (first, second) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let thread = onThread {
        one.enter(as: .current)
        first.signal()
        second.wait()
        other.enter(as: .current)
      }
      first.wait()
      other.enter(as: .current)
      second.signal()
      one.enter(as: .current)
      // Not reached: one of the two traps.
      thread.wait()
    }
  }

  @Test func gatesTakenInOneOrderDoNotTrap() {
    let (one, other) = (RecursiveGate(), RecursiveGate())
    onThreads(4) { _ in
      let thread = ThreadID.current
      for _ in 0..<500 {
        one.enter(as: thread)
        other.enter(as: thread)
        other.leave(as: thread)
        one.leave(as: thread)
      }
    }
    #expect(!one.isOwned(by: .current))
  }
}

private final class Shared: Sendable {
  let value: Locked<Int>

  init(_ value: Int) {
    self.value = Locked(value)
  }
}

/// Guarded by a gate alone.
private final class Unguarded: @unchecked Sendable {
  // Sendable: touched only inside a gate.
  var value = 0
}
