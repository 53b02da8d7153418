import AppleSupport
import Dispatch
import ReactiveSignals
import SwappablePrimitives
import TestSupport
import TestTags
import Testing

/// A receiver that logs all calls.
private final class Taker: Sendable {
  let log = Log<String>()
  private let inside = Locked(0)

  /// - Parameter demanded: The additional demand after each value, or `nil` for an item without a value.
  func receiver(
    _ demanded: @escaping @Sendable (Int) -> Int? = { _ in 0 }
  ) -> DemandQueue<LatestValue<Int>>.Receiver {
    .init(
      take: { [self] item in
        let depth = inside.withLock { inside in
          inside += 1
          return inside
        }
        log.append(depth == 1 ? "\(item.value)" : "\(item.value) inside another call")
        let demanded = demanded(item.value)
        inside.withLock { $0 -= 1 }
        return demanded
      }, end: { [self] in log.append("|") })
  }
}

extension DemandQueue<LatestValue<Int>> {
  fileprivate func post(_ value: Int) { post(LatestValue(value: value)) }
}

@Suite struct DemandQueueTests {
  private let taker = Taker()

  @Test func `a value is taken only if it was demanded`() {
    let queue = DemandQueue(.everything, taker.receiver())
    for value in 1...4 { queue.post(value) }
    #expect(taker.log.value == [])
    queue.request(1)
    #expect(taker.log.value == ["1"])
    queue.request(2)
    #expect(taker.log.value == ["1", "2", "3"])
    queue.request(5)
    queue.post(5)
    #expect(taker.log.value == ["1", "2", "3", "4", "5"])
  }

  @Test func `the coalesce policy keeps only the latest pending value`() {
    let queue = DemandQueue(.coalesce, taker.receiver())
    for value in 1...4 { queue.post(value) }
    queue.request(.max)
    for value in 5...6 { queue.post(value) }
    #expect(taker.log.value == ["4", "5", "6"])
  }

  @Test func `the demand that the receiver returns is added`() {
    let queue = DemandQueue(.everything, taker.receiver { $0 < 3 ? 1 : 0 })
    for value in 1...5 { queue.post(value) }
    queue.request(1)
    #expect(taker.log.value == ["1", "2", "3"])
    queue.request(.max)
    queue.request(.max)
    queue.post(6)
    #expect(taker.log.value == ["1", "2", "3", "4", "5", "6"])
  }

  @Test func `an item that the receiver skips takes no demand`() {
    let queue = DemandQueue(.everything, taker.receiver { $0 == 1 ? nil : 0 })
    for value in 1...3 { queue.post(value) }
    queue.request(1)
    #expect(taker.log.value == ["1", "2"])
  }

  @Test func `the end follows the pending values and needs no demand`() {
    let queue = DemandQueue(.everything, taker.receiver())
    queue.post(1)
    queue.finish()
    queue.post(2)
    #expect(taker.log.value == [])
    queue.request(1)
    #expect(taker.log.value == ["1", "|"])
    queue.finish()
    #expect(taker.log.value == ["1", "|"])
    let other = Taker()
    DemandQueue(.coalesce, other.receiver()).finish()
    #expect(other.log.value == ["|"])
  }

  @Test func `a queue that its receiver cancels calls it no more and releases it`() {
    let queues = Log<DemandQueue<LatestValue<Int>>>()
    weak var released: Taker?
    do {
      let taker = Taker()
      released = taker
      let queue = DemandQueue(
        .everything,
        taker.receiver { value in
          if value == 2 { queues.value[0].cancel() }
          return 0
        })
      queues.append(queue)
      for value in 1...3 { queue.post(value) }
      queue.request(.max)
      #expect(taker.log.value == ["1", "2"])
      queue.finish()
      #expect(taker.log.value == ["1", "2"])
    }
    #expect(released == nil && queues.value[0].isOver)
  }

  @Test func `a canceled queue keeps neither pending nor later values`() {
    weak var waiting: Token?
    weak var late: Token?
    let queue = DemandQueue<LatestValue<Token>>(.everything, .init(take: { _ in 0 }, end: {}))
    do {
      let (first, second) = (Token(), Token())
      (waiting, late) = (first, second)
      queue.post(LatestValue(value: first))
      queue.cancel()
      queue.post(LatestValue(value: second))
    }
    #expect(waiting == nil && late == nil && queue.isOver)
  }

  @Test func `values that the receiver demands and posts follow its call`() {
    let queues = Log<DemandQueue<LatestValue<Int>>>()
    let queue = DemandQueue(
      .everything,
      taker.receiver { value in
        if value < 4 {
          queues.value[0].request(1)
          queues.value[0].post(value + 1)
        }
        return 0
      })
    queues.append(queue)
    queue.request(1)
    queue.post(1)
    #expect(taker.log.value == ["1", "2", "3", "4"])
  }
}

@Suite(.tags(.concurrency)) struct DemandQueueConcurrencyTests {
  @Test func `each item is taken once, and never two at the same time`() {
    let taker = Taker()
    let queue = DemandQueue(.everything, taker.receiver())
    DispatchQueue.concurrentPerform(iterations: 4) { thread in
      for value in 0..<250 {
        if thread < 2 { queue.post(thread * 250 + value) } else { queue.request(1) }
      }
    }
    queue.finish()
    #expect(Set(taker.log.value) == Set((0..<500).map { "\($0)" } + ["|"]))
    #expect(taker.log.value.count == 501 && taker.log.value.last == "|")
  }
}
