import DataSourceTesting
import ReactiveSignals
import SwappablePrimitives
import Synchronization
import TestSupport
import TestTags
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(10))) struct ValueSequenceTests {
  private let input = SignalInput<Int>()

  @Test(arguments: [
    (DeliveryPolicy.coalesce, [5]), (.everything, [1, 2, 3, 4, 5]), (.bounded(2), [1, 5]),
  ])
  func `values are buffered by the policy, and the end of the signal ends the loop`(
    policy: DeliveryPolicy, told: [Int]
  ) async {
    var values = input.signal.values(policy: policy).makeAsyncIterator()
    for value in 1...5 { input.send(value) }
    input.finish()
    for value in told { #expect(await values.next() == value) }
    #expect(await values.next() == nil)
    #expect(await values.next() == nil)
  }

  @Test(.timeLimit(.minutes(10)))
  func `the end of the signal ends each copy of an iterator`() async {
    var values = input.signal.values().makeAsyncIterator()
    var copy = values
    input.finish()
    #expect(await values.next() == nil)
    #expect(await copy.next() == nil)
  }

  @Test func `a signal with memory sends its latest value first`() async {
    let property = Property("a")
    var values = property.signal.map { $0 + "!" }.values(policy: .everything).makeAsyncIterator()
    property.value = "b"
    #expect(await values.next() == "a!")
    #expect(await values.next() == "b!")
  }

  @Test func `a signal that has ended ends a late loop`() async {
    input.finish()
    for await _ in input.signal.values() { Issue.record("a value after the end") }
  }

  @Test func `a loop that waits receives the end`() async {
    let input = input
    let (begun, feed) = AsyncStream<Void>.makeStream()
    let loop = Task {
      var values = input.signal.values().makeAsyncIterator()
      feed.finish()
      return await values.next()
    }
    for await _ in begun {}
    input.finish()
    #expect(await loop.value == nil)
  }

  @Test func `cancellation ends the loop and releases the signal`() async {
    weak var signal: Signal<Int>?
    let (begun, feed) = AsyncStream<Void>.makeStream()
    let loop: Task<Int?, Never>
    do {
      let made = input.signal.map { $0 }
      signal = made
      loop = Task { [made] in
        var values = made.values().makeAsyncIterator()
        feed.finish()
        return await values.next()
      }
    }
    for await _ in begun {}
    loop.cancel()
    #expect(await loop.value == nil)
    #expect(signal == nil)
  }

  @Test func `a canceled iterator releases the signal even if it is kept`() async {
    let input = input
    let isReleased = await Task {
      weak var signal: Signal<Int>?
      var values: ValueSequence<Int>.Iterator
      do {
        let made = input.signal.map { $0 }
        signal = made
        values = made.values().makeAsyncIterator()
      }
      withUnsafeCurrentTask { $0?.cancel() }
      let next = await values.next()
      return next == nil && signal == nil
    }.value
    #expect(isReleased)
  }

  @Test func `an iterator that is released releases the signal`() async {
    weak var signal: Signal<Int>?
    do {
      let made = input.signal.map { $0 }
      signal = made
      var values = made.values().makeAsyncIterator()
      input.send(1)
      #expect(await values.next() == 1)
    }
    #expect(signal == nil)
  }
}

@Suite(.timeLimit(.minutes(10))) struct SignalOfAsyncSequenceTests {
  @Test func `a signal sends the elements of its sequence and ends with it`() async {
    let (stream, feed) = AsyncStream<Int>.makeStream()
    for value in 1...3 { feed.yield(value) }
    feed.finish()
    var values: [Int] = []
    for await value in Signal(stream).map({ $0 * 10 }).values(policy: .everything) {
      values.append(value)
    }
    #expect(values == [10, 20, 30])
  }

  @Test
  func `nothing is lost before the first observer, whatever is derived from the signal`() async {
    let streams = (0..<2).map { _ in
      AsyncStream<Int> { feed in
        for value in 1...3 { feed.yield(value) }
        feed.finish()
      }
    }
    let (one, other) = (Signal(streams[0]), Signal(streams[1]))
    let made = Property(one.merge(with: other).receive(on: .immediate)).signal.switchToLatest()
    // The task of a signal would have run by now.
    for _ in 0..<100 { await Task.yield() }
    let (values, feed) = AsyncStream<Int>.makeStream()
    let observation = made.observe { feed.yield($0) }
    var sum = 0
    for await value in values {
      sum += value
      if sum == 12 { break }
    }
    #expect(sum == 12)
    withExtendedLifetime(observation) {}
  }

  @Test func `a sequence is iterated once, however many observers there are`() async {
    let made = Log<Int>()
    struct Counted: AsyncSequence, Sendable {
      typealias Failure = Never
      let made: Log<Int>
      let stream: AsyncStream<Int>
      func makeAsyncIterator() -> AsyncStream<Int>.Iterator {
        made.append(1)
        return stream.makeAsyncIterator()
      }
    }
    let (stream, feed) = AsyncStream<Int>.makeStream()
    let signal = Signal(Counted(made: made, stream: stream))
    var iterators = (0..<3).map { _ in signal.values(policy: .everything).makeAsyncIterator() }
    feed.yield(7)
    for index in iterators.indices { #expect(await iterators[index].next() == 7) }
    #expect(made.value == [1])
  }

  @Test(.timeLimit(.minutes(10))) func `a sequence that has ended is released`() async throws {
    struct Holding: AsyncSequence, Sendable {
      typealias Failure = Never
      let token: Token
      let stream: AsyncStream<Int>
      func makeAsyncIterator() -> AsyncStream<Int>.Iterator { stream.makeAsyncIterator() }
    }
    let (stream, feed) = AsyncStream<Int>.makeStream()
    weak var weakToken: Token?
    let signal: Signal<Int>
    do {
      let token = Token()
      weakToken = token
      signal = Signal(Holding(token: token, stream: stream))
    }
    feed.finish()
    for await _ in signal.values() {}
    // The task that has ended the signal may still run.
    try await wait(for: "the sequence to be released") { weakToken == nil }
    withExtendedLifetime(signal) {}
  }

  @Test func `releasing the observation cancels the sequence`() async {
    let (ended, end) = AsyncStream<Void>.makeStream()
    let (stream, feed) = AsyncStream<Int>.makeStream()
    feed.onTermination = { _ in end.finish() }
    do {
      let observation = Signal(stream).map { $0 }.observe { _ in }
      withExtendedLifetime(observation) {}
    }
    for await _ in ended {}
  }

  @Test func `a signal that becomes a sequence and a signal again is the same`() async throws {
    let input = SignalInput<Int>()
    let back = Signal(input.signal.values(policy: .everything))
    var values = back.values(policy: .everything).makeAsyncIterator()
    // The task subscribes later.
    try await wait(for: "the task to observe the signal") {
      input.signal.node.domain.lock.withLock { _ in input.signal.node.observers.isInUse }
    }
    for value in 0..<100 { input.send(value) }
    input.finish()
    for value in 0..<100 { #expect(await values.next() == value) }
    #expect(await values.next() == nil)
  }
}

@Suite(.tags(.concurrency), .timeLimit(.minutes(10))) struct AsyncSequenceConcurrencyTests {
  @Test func `values of many threads reach the loop, and then the end does`() async {
    let input = SignalInput<Int>()
    let iterator = input.signal.values(policy: .everything)
    let (begun, feed) = AsyncStream<Void>.makeStream()
    let loop = Task {
      var values: [Int] = []
      var iterator = iterator.makeAsyncIterator()
      feed.finish()
      while let value = await iterator.next() { values.append(value) }
      return values
    }
    for await _ in begun {}
    await withTaskGroup { group in
      for thread in 0..<4 {
        group.addTask { for value in 0..<200 { input.send(thread * 1000 + value) } }
      }
    }
    input.finish()
    let values = await loop.value
    #expect(values.count == 800)
    for thread in 0..<4 {
      #expect(values.filter { $0 / 1000 == thread } == (0..<200).map { thread * 1000 + $0 })
    }
  }

  @Test func `canceling while values arrive ends the loop`() async {
    for _ in 0..<50 {
      let input = SignalInput<Int>()
      let loop = Task {
        var count = 0
        for await _ in input.signal.values() { count += 1 }
        return count
      }
      async let sent: Void = {
        for value in 0..<200 { input.send(value) }
      }()
      loop.cancel()
      await sent
      #expect(await loop.value <= 200)
    }
  }
}
