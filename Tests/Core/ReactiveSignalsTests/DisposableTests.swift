import Dispatch
import ReactiveSignals
import SwappablePrimitives
import Synchronization
import TestSupport
import TestTags
import Testing

@Suite(.tags(.concurrency)) struct DisposableTests {
  private let input = SignalInput<Int>()

  // MARK: Rule T6

  @Test func `nothing is called after dispose`() {
    let log = Log<Int>()
    let observation = input.signal.observe { log.append($0) }
    input.send(1)
    observation.dispose()
    #expect(observation.isDisposed)
    input.send(2)
    #expect(log.value == [1])
  }

  @Test func `releasing an observation disposes of it`() {
    let log = Log<Int>()
    do {
      let observation = input.signal.observe { log.append($0) }
      input.send(1)
      withExtendedLifetime(observation) {}
    }
    input.send(2)
    #expect(log.value == [1])
  }

  @Test func `dispose inside an observer takes effect immediately`() {
    let log = Log<String>()
    let later = Locked<Disposable?>(nil)
    let own = Locked<Disposable?>(nil)
    let (signal, input) = (input.signal, input)
    own.withLock {
      $0 = signal.observe { value in
        log.append("a\(value)")
        later.withLock { $0 }?.dispose()
        own.withLock { $0 }?.dispose()
        input.send(value + 1)
      }
    }
    later.withLock { $0 = signal.observe { log.append("b\($0)") } }
    input.send(1)
    #expect(log.value == ["a1"])
  }

  @Test func `dispose releases values that the observer captured`() {
    weak var weakToken: Token?
    let observation: Disposable
    do {
      let token = Token()
      weakToken = token
      observation = input.signal.observe { _ in withExtendedLifetime(token) {} }
    }
    input.send(1)
    #expect(weakToken != nil)
    observation.dispose()
    #expect(weakToken == nil)
  }

  @Test func `values that the observer captured are released at the end of the pass`() {
    let input = input
    let slot = Locked<Disposable?>(nil)
    weak var weakToken: Token?
    do {
      let token = Token()
      weakToken = token
      let observation = input.signal.observe { _ in
        slot.withLock { $0 }?.dispose()
        withExtendedLifetime(token) {}
      }
      slot.withLock { $0 = observation }
    }
    input.send(1)
    #expect(weakToken == nil)
  }

  @Test func `dispose does not wait for a call of another thread, and that call is the last`() {
    let (input, log) = (input, Log<Int>())
    let (isInside, mayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let observation = input.signal.observe { value in
      isInside.signal()
      mayGoOn.wait()
      log.append(value)
    }
    let done = onThread { input.send(1) }
    wait(for: isInside)
    observation.dispose()
    #expect(log.value == [])
    mayGoOn.signal()
    wait(for: done)
    input.send(2)
    #expect(log.value == [1])
  }

  @Test func `disposeAndWait waits for the call of another thread`() {
    let (input, log) = (input, Log<Int>())
    let (isInside, mayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let observation = input.signal.observe { value in
      isInside.signal()
      mayGoOn.wait()
      log.append(value)
    }
    let sending = onThread { input.send(1) }
    wait(for: isInside)
    let disposing = onThread {
      observation.disposeAndWait()
      log.append(100)
    }
    mayGoOn.signal()
    wait(for: disposing)
    wait(for: sending)
    #expect(log.value == [1, 100])
  }

  @Test func `disposeAndWait inside the observer returns immediately`() {
    let (input, log) = (input, Log<Int>())
    let slot = Locked<Disposable?>(nil)
    let observation = input.signal.observe { value in
      slot.withLock { $0 }?.disposeAndWait()
      log.append(value)
    }
    slot.withLock { $0 = observation }
    input.send(1)
    input.send(2)
    #expect(log.value == [1])
  }

  @Test func `disposeAndWait waits for a scheduled call, too`() {
    let (input, log) = (input, Log<Int>())
    let (isInside, mayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let observation = input.signal.observe(on: .queue(DispatchQueue(label: "calls"))) { value in
      isInside.signal()
      mayGoOn.wait()
      log.append(value)
    }
    input.send(1)
    wait(for: isInside)
    let disposing = onThread {
      observation.disposeAndWait()
      log.append(100)
    }
    mayGoOn.signal()
    wait(for: disposing)
    #expect(log.value == [1, 100])
  }

  @Test func `no observer is called after it is disposed while many threads send`() {
    let input = input
    let late = Atomic<Int>(0)
    onThreads(4) { thread in
      for value in 0..<300 {
        if thread < 2 {
          input.send(value)
        } else {
          let isOver = Locked(false)
          let observation = input.signal.observe { _ in
            if isOver.withLock({ $0 }) { late.add(1, ordering: .relaxed) }
          }
          observation.disposeAndWait()
          isOver.withLock { $0 = true }
        }
      }
    }
    #expect(late.load(ordering: .relaxed) == 0)
  }

  // MARK: Closures and bags

  @Test func `a closure is called once, however many threads dispose`() {
    let calls = Atomic<Int>(0)
    do {
      let disposable = Disposable { calls.add(1, ordering: .relaxed) }
      onThreads(4) { _ in disposable.dispose() }
      #expect(calls.load(ordering: .relaxed) == 1)
    }
    #expect(calls.load(ordering: .relaxed) == 1)
  }

  @Test func `a bag disposes of its contents and can still be used`() {
    let log = Log<Int>()
    var bag: DisposeBag? = DisposeBag()
    bag?.add(Disposable { log.append(1) })
    Disposable { log.append(2) }.store(in: bag ?? DisposeBag())
    #expect(log.value == [])
    bag?.dispose()
    #expect(log.value == [1, 2])
    bag?.add(Disposable { log.append(3) })
    bag = nil
    #expect(log.value == [1, 2, 3])
  }

  @Test func `a bag releases disposables that are already disposed`() {
    let bag = DisposeBag()
    weak var weakFirst: Disposable?
    do {
      let first = Disposable {}
      weakFirst = first
      bag.add(first)
      first.dispose()
    }
    for _ in 0..<100 { bag.add(Disposable {}) }
    #expect(weakFirst == nil)
  }

  @Test func `a bag may be disposed inside an observer`() {
    let (input, log, bag) = (input, Log<Int>(), DisposeBag())
    for _ in 0..<3 {
      input.signal.observe { value in
        log.append(value)
        bag.dispose()
      }.store(in: bag)
    }
    input.send(1)
    input.send(2)
    #expect(log.value == [1])
  }
}
