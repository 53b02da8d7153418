#if canImport(Combine)
  import AppleSupport
  import Combine
  import Dispatch
  import ObservableCollections
  import ReactiveSignals
  import SwappablePrimitives
  import TestTags
  import Testing

  /// A subscriber that logs all calls.
  private final class Taker<Input: Sendable>: Subscriber, @unchecked Sendable {
    // Sendable: guarded by `state`.

    typealias Failure = Never

    struct State: Sendable {
      var log: [String] = []
      var isInside = false
    }

    let state = Locked(State())
    /// A closure that is called with the subscription.
    private let begin: @Sendable (any Subscription) -> Void
    /// The additional demand after each value.
    private let take: @Sendable (Input) -> Subscribers.Demand

    init(
      _ begin: @escaping @Sendable (any Subscription) -> Void,
      _ take: @escaping @Sendable (Input) -> Subscribers.Demand = { _ in .none }
    ) {
      self.begin = begin
      self.take = take
    }

    var log: [String] { state.withLock { $0.log } }

    func receive(subscription: any Subscription) {
      state.withLock { $0.log.append("^") }
      begin(subscription)
    }

    func receive(_ input: Input) -> Subscribers.Demand {
      state.withLock {
        $0.log.append($0.isInside ? "\(input) inside" : "\(input)")
        $0.isInside = true
      }
      let demand = take(input)
      state.withLock { $0.isInside = false }
      return demand
    }

    func receive(completion: Subscribers.Completion<Never>) {
      state.withLock { $0.log.append("|") }
    }
  }

  /// Holds a subscription.
  private final class Held: @unchecked Sendable {
    // Sendable: each is used by one thread.
    var subscription: (any Subscription)?
  }

  /// A source that loads when it is started.
  private final class IdleSource: DataSource {
    let contents = ArrayDataSource<Int>(status: .idle)
    var collection: LiveCollection<Int> { contents.collection }

    func start() { contents.publish([1], status: .loaded) }
  }

  /// The requirements of Combine for publishers. `DemandQueueTests` test the demand and the order of calls, on all systems.
  @Suite(.tags(.concurrency)) struct PublisherTests {
    private let held = Held()

    private func taker(
      _ demand: Subscribers.Demand,
      _ take: @escaping @Sendable (Int) -> Subscribers.Demand = { _ in .none }
    ) -> Taker<Int> {
      Taker(
        { [held] subscription in
          held.subscription = subscription
          if demand > .none { subscription.request(demand) }
        }, take)
    }

    @Test func `no value arrives before it is demanded`() {
      let property = Property(1)
      let taker = taker(.none)
      property.publisher(policy: .everything).subscribe(taker)
      property.value = 2
      #expect(taker.log == ["^"])
      held.subscription?.request(.max(1))
      #expect(taker.log == ["^", "1"])
      held.subscription?.request(.unlimited)
      property.value = 3
      #expect(taker.log == ["^", "1", "2", "3"])
    }

    @Test func `a subscriber that cancels inside a value receives no more`() {
      let property = Property(1)
      let taker = taker(.unlimited) { [held] value in
        if value == 2 { held.subscription?.cancel() }
        return .unlimited
      }
      property.publisher().subscribe(taker)
      property.value = 2
      property.value = 3
      held.subscription?.request(.max(1))
      #expect(taker.log == ["^", "1", "2"])
    }

    @Test func `a subscriber that cancels immediately receives nothing`() {
      let property = Property(1)
      let first = Taker<Int> { $0.cancel() }
      property.publisher().subscribe(first)
      let other = Taker<Int> {
        $0.request(.unlimited)
        $0.cancel()
      }
      property.publisher().subscribe(other)
      property.value = 2
      #expect(first.log == ["^"] && other.log == ["^"])
    }

    @Test func `a subscriber that does not keep its subscription receives values`() {
      let property = Property(1)
      let taker = Taker<Int> { $0.request(.max(3)) }
      property.publisher().subscribe(taker)
      for value in 2...4 { property.value = value }
      #expect(taker.log == ["^", "1", "2", "3"])
    }

    @Test func `the completion arrives once, and not after a cancellation`() {
      let input = SignalInput<Int>()
      let (taker, other) = (taker(.unlimited), Taker<Int> { $0.request(.unlimited) })
      input.signal.publisher().subscribe(taker)
      input.signal.publisher().subscribe(other)
      input.send(1)
      held.subscription?.cancel()
      input.finish()
      #expect(taker.log == ["^", "1"])
      #expect(other.log == ["^", "1", "|"])
      let late = Taker<Int> { _ in }
      input.signal.publisher().subscribe(late)
      #expect(late.log == ["^", "|"])
    }

    @Test func `the demand that a subscriber returns may be unlimited`() {
      let property = Property(1)
      let taker = taker(.max(1)) { _ in .unlimited }
      property.publisher(policy: .everything).subscribe(taker)
      for value in 2...4 { property.value = value }
      #expect(taker.log == ["^", "1", "2", "3", "4"])
    }

    @Test func `a canceled subscription releases its subscriber and its source`() {
      for isInside in [false, true] {
        weak var subscriber: Taker<Int>?
        weak var source: Signal<Int>?
        do {
          let signal = Property(1).map { $0 }.signal
          source = signal
          let taker = taker(.unlimited) { [held] _ in
            if isInside { held.subscription?.cancel() }
            return .none
          }
          subscriber = taker
          signal.publisher().subscribe(taker)
        }
        #expect((subscriber == nil && source == nil) == isInside)
        held.subscription?.cancel()
        #expect(subscriber == nil && source == nil)
      }
    }

    @Test func `a subscription that has ended releases its subscriber and its source`() {
      weak var subscriber: Taker<Int>?
      weak var source: Signal<Int>?
      do {
        let input = SignalInput<Int>()
        let signal = input.signal.map { $0 }
        source = signal
        let taker = taker(.unlimited)
        subscriber = taker
        signal.publisher().subscribe(taker)
        input.finish()
      }
      #expect(subscriber == nil && source == nil)
    }

    @Test func `each subscriber has a subscription of its own`() {
      let property = Property(1)
      let publisher = property.publisher()
      let (one, other) = (taker(.unlimited), Taker<Int> { $0.request(.unlimited) })
      publisher.subscribe(one)
      property.value = 2
      publisher.subscribe(other)
      held.subscription?.cancel()
      property.value = 3
      #expect(one.log == ["^", "1", "2"] && other.log == ["^", "2", "3"])
    }

    @Test func `no value is lost while several threads set, subscribe and cancel`() {
      let property = Property(0)
      let whole = Taker<Int> { $0.request(.unlimited) }
      property.publisher(policy: .everything).subscribe(whole)
      DispatchQueue.concurrentPerform(iterations: 4) { thread in
        for _ in 0..<100 {
          if thread < 2 {
            property.modify { $0 += 1 }
          } else {
            let held = Held()
            let taker = Taker<Int> {
              held.subscription = $0
              $0.request(.max(2))
            }
            property.publisher().subscribe(taker)
            held.subscription?.cancel()
          }
        }
      }
      #expect(whole.log == ["^"] + (0...200).map { "\($0)" })
    }

    @Test func `a sink receives values until it is released`() {
      let property = Property("Ada")
      let log = Locked<[String]>([])
      var label: AnyCancellable? = property.publisher().sink { value in
        log.withLock { $0.append(value) }
      }
      property.value = "Grace"
      label = nil
      property.value = "Edsger"
      _ = label
      #expect(log.withLock { $0 } == ["Ada", "Grace"])
    }

    @Test func `pending events become one, and events that cancel out take no demand`() {
      let items = ArrayDataSource([1])
      let held = held
      let taker = Taker<CollectionEvent<Int>> {
        held.subscription = $0
        $0.request(.max(1))
      }
      items.publisher().subscribe(taker)
      items.append(2)
      items.remove(at: 1)
      held.subscription?.request(.max(1))
      #expect(taker.log.count == 2)
      items.append(3)
      #expect(taker.log.count == 3)
    }

    @Test func `a subscription starts a collection and keeps it alive`() {
      weak var released: IdleSource?
      let held = held
      do {
        let source = IdleSource()
        released = source
        let taker = Taker<CollectionEvent<Int>> {
          held.subscription = $0
          $0.request(.unlimited)
        }
        source.publisher().subscribe(taker)
        #expect(source.contents.status.state == .loaded)
      }
      #expect(released != nil)
      held.subscription?.cancel()
      #expect(released == nil)
    }

    @Test func `a publisher of snapshots sends the latest contents`() {
      let items = ArrayDataSource([1])
      let held = held
      let taker = Taker<Snapshot<Int>> {
        held.subscription = $0
        $0.request(.max(1))
      }
      items.snapshotPublisher().subscribe(taker)
      items.append(2)
      items.append(3)
      held.subscription?.request(.max(1))
      #expect(taker.log == ["^", "[1]", "[1, 2, 3]"])
    }
  }
#endif
