import Dispatch
import SwappablePrimitives
import TestSupport
import TestTags
import Testing

@Suite(.tags(.concurrency)) struct LockTests {
  @Test func `a lock admits one thread at a time`() {
    let counter = Guarded(0)
    onThreads(4) { _ in for _ in 0..<5000 { counter.value.withLock { $0 += 1 } } }
    #expect(counter.value.withLock { $0 } == 20_000)
  }

  @Test func `a lock is open after a body that throws`() {
    struct Refused: Error {}
    let lock = Locked(1)
    #expect(throws: Refused.self) { try lock.withLock { _ throws(Refused) in throw Refused() } }
    #expect(lock.withLock { $0 } == 1)
  }

  @Test func `a lock returns a value that is neither copyable nor sendable`() {
    struct Unique: ~Copyable { let reference: Reference }
    final class Reference { var count = 1 }
    let lock = Locked(1)
    let unique = lock.withLock { state in
      state = 2
      return Unique(reference: Reference())
    }
    #expect(unique.reference.count == 1)
    #expect(lock.withLock { $0 } == 2)
  }

  @Test func `a lock releases its value`() {
    weak var weakToken: Token?
    do {
      let token = Token()
      weakToken = token
      let lock = Locked<Token?>(token)
      #expect(lock.withLock { $0 != nil })
    }
    #expect(weakToken == nil)
  }

  @Test func `a gate admits one thread at a time`() {
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

  @Test func `the thread inside owns the gate`() throws {
    let gate = RecursiveGate()
    #expect(!gate.isOwned(by: .current))
    gate.enter(as: .current)
    #expect(gate.isOwned(by: .current))
    let isElsewhere = Shared(true)
    try Worker.run { isElsewhere.value = gate.isOwned(by: .current) }
    #expect(!isElsewhere.value)
    gate.leave(as: .current)
    #expect(!gate.isOwned(by: .current))
  }

  @Test func `gates that are entered in opposite orders trap`() async {
    await #expect(processExitsWith: .failure) {
      let (one, other) = (RecursiveGate(), RecursiveGate())
      let (first, second) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let thread = Worker {
        one.enter(as: .current)
        first.signal()
        second.wait()
        other.enter(as: .current)
      }
      first.wait()
      other.enter(as: .current)
      second.signal()
      one.enter(as: .current)
      // Not reached: one of the two threads traps.
      try thread.join()
    }
  }

  @Test func `gates that are entered in the same order do not trap`() {
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

/// Runs a closure on several threads at the same time.
private func onThreads(_ count: Int, _ work: @escaping @Sendable (Int) -> Void) {
  DispatchQueue.concurrentPerform(iterations: count, execute: work)
}

private final class Guarded: Sendable {
  let value: Locked<Int>

  init(_ value: Int) {
    self.value = Locked(value)
  }
}

/// A value that only a gate guards.
private final class Unguarded: @unchecked Sendable {
  // Sendable: accessed only inside a gate.
  var value = 0
}
