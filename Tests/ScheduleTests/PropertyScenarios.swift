import ReactiveSignals
import Testing

/// Properties and signals, each of which is a domain of its own, that several threads set and combine.
@Suite struct PropertyScenarios {
  @Test func `two threads set a property while a third observes, reads and disposes`() {
    explore(preemptions: 2) { scenario in
      let property = Property(0)
      let (early, late) = (ValueFollower<Int>(scenario), ValueFollower<Int>(scenario))
      early.follow(property)
      scenario.thread { property.value = 1 }
      scenario.thread { property.modify { $0 += 10 } }
      scenario.thread {
        late.follow(property)
        late.dispose()
      }
      scenario.finally {
        scenario.expect(
          [[0, 1, 11], [0, 10, 1]].contains(early.seen), "T3: the values are \(early.seen)")
        scenario.expect(property.value == early.seen.last, "T3: a value is lost")
        late.checkFollows(early)
      }
    }
  }

  @Test func `a property is bound while two threads set it`() {
    explore(preemptions: 2) { scenario in
      let (source, target) = (Property(0), Property(-1))
      let follower = ValueFollower<Int>(scenario)
      follower.follow(target)
      final class Held: @unchecked Sendable { var binding: Disposable? }
      let held = Held()
      scenario.thread { source.value = 1 }
      scenario.thread { source.value = 2 }
      scenario.thread { held.binding = source.bind(to: target) }
      scenario.finally {
        scenario.expect(target.value == source.value, "T3: a binding misses \(source.value)")
        scenario.expect(
          follower.seen.first == -1 && follower.seen.last == target.value,
          "T7: the target has had \(follower.seen)")
        scenario.expect(
          Set(follower.seen).count == follower.seen.count, "T7: a value is set twice")
      }
    }
  }

  @Test func `a mapped property agrees with its property`() {
    explore(preemptions: 2) { scenario in
      let property = Property(0)
      let tens = property.map { $0 * 10 }
      let (early, late) = (ValueFollower<Int>(scenario), ValueFollower<Int>(scenario))
      early.follow(tens) { scenario.expect(tens.value >= $0, "the value is older than the event") }
      scenario.thread {
        property.value = 1
        property.value = 2
      }
      scenario.thread {
        let before = property.value
        let mapped = tens.value
        let after = property.value
        scenario.expect(
          (before * 10...after * 10).contains(mapped),
          "a mapped property is \(mapped) while its property goes from \(before) to \(after)")
      }
      scenario.thread {
        late.follow(tens)
        late.dispose()
      }
      scenario.finally {
        scenario.expect(early.seen == [0, 10, 20], "T3: the values are \(early.seen)")
        scenario.expect(tens.value == 20, "the last value is \(tens.value)")
        late.checkFollows(early)
      }
    }
  }

  @Test func `the latest values of two properties are combined while both are set`() {
    explore(preemptions: 2) { scenario in
      let (one, two) = (Property(0), Property(0))
      let both = one.signal.combineLatest(two.signal).map { [$0, $1] }
      let (early, late) = (ValueFollower<[Int]>(scenario), ValueFollower<[Int]>(scenario))
      early.follow(both)
      scenario.thread { one.value = 1 }
      scenario.thread { two.value = 1 }
      scenario.thread { late.follow(both) }
      scenario.finally {
        scenario.expect(
          [[[0, 0], [1, 0], [1, 1]], [[0, 0], [0, 1], [1, 1]]].contains(early.seen),
          "T3: the pairs are \(early.seen)")
        late.checkFollows(early)
      }
    }
  }

  @Test func `a signal that is combined of two properties while both are set misses nothing`() {
    explore(preemptions: 1) { scenario in
      let (one, two) = (Property(0), Property(0))
      let follower = ValueFollower<[Int]>(scenario)
      scenario.thread { one.value = 1 }
      scenario.thread { two.value = 1 }
      scenario.thread {
        follower.follow(one.signal.combineLatest(two.signal).map { [$0, $1] })
      }
      scenario.finally {
        scenario.expect(follower.seen.last == [1, 1], "T7: the pairs are \(follower.seen)")
        for (pair, next) in zip(follower.seen, follower.seen.dropFirst()) {
          scenario.expect(
            pair != next && pair[0] <= next[0] && pair[1] <= next[1],
            "T3: the pairs are \(follower.seen)")
        }
      }
    }
  }

  @Test func `a transaction over two properties is one pair, beside another value`() {
    explore(preemptions: 1) { scenario in
      let (one, two) = (Property(0), Property(0))
      let both = one.signal.combineLatest(two.signal).map { [$0, $1] }
      let (early, late) = (ValueFollower<[Int]>(scenario), ValueFollower<[Int]>(scenario))
      early.follow(both)
      scenario.thread {
        withTransaction {
          one.value = 1
          two.modify { $0 += 1 }
        }
      }
      scenario.thread { two.modify { $0 += 10 } }
      scenario.thread { late.follow(both) }
      scenario.finally {
        let orders = [[[0, 0], [1, 1], [1, 11]], [[0, 0], [0, 10], [1, 11]]]
        scenario.expect(orders.contains(early.seen), "T12: the pairs are \(early.seen)")
        late.checkFollows(early)
      }
    }
  }

  @Test func `a switch to another signal while the inner one ends`() {
    explore(preemptions: 2) { scenario in
      let (first, second) = (SignalInput<Int>(), SignalInput<Int>())
      let outer = Property(first.signal)
      let follower = ValueFollower<Int>(scenario)
      follower.follow(outer.signal.switchToLatest(), hasValue: false)
      scenario.thread {
        first.send(1)
        first.finish()
      }
      scenario.thread { outer.value = second.signal }
      scenario.thread { second.send(2) }
      scenario.finally {
        scenario.expect(
          [[], [1], [2], [1, 2]].contains(follower.seen), "the values are \(follower.seen)")
        scenario.expect(!follower.hasEnded, "the signal ends although its source does not")
        second.send(3)
        scenario.expect(follower.seen.last == 3, "a value of the latest signal is lost")
      }
    }
  }

  @Test func `a switched signal ends after its source and the latest signal have ended`() {
    explore(preemptions: 1) { scenario in
      let outer = SignalInput<Signal<Int>>()
      let (first, second) = (SignalInput<Int>(), SignalInput<Int>())
      let (early, late) = (ValueFollower<Int>(scenario), ValueFollower<Int>(scenario))
      let switched = outer.signal.switchToLatest()
      early.follow(switched, hasValue: false)
      outer.send(first.signal)
      scenario.thread {
        outer.send(second.signal)
        outer.finish()
      }
      scenario.thread { first.finish() }
      scenario.thread {
        second.send(1)
        second.finish()
      }
      scenario.thread { late.follow(switched, hasValue: false) }
      scenario.finally {
        scenario.expect([[], [1]].contains(early.seen), "the values are \(early.seen)")
        scenario.expect(early.hasEnded, "the end is lost")
        scenario.expect(late.hasEnded, "the end is lost for a late observer")
        late.checkFollows(early)
      }
    }
  }

  @Test func `a switch to a property while both properties are set`() {
    explore(preemptions: 1) { scenario in
      let (first, second) = (Property(0), Property(10))
      let outer = Property(first.signal)
      let (early, late) = (ValueFollower<Int>(scenario), ValueFollower<Int>(scenario))
      let switched = outer.signal.switchToLatest()
      early.follow(switched)
      scenario.thread { outer.value = second.signal }
      scenario.thread { first.value = 1 }
      scenario.thread { second.value = 11 }
      scenario.thread {
        late.follow(switched)
        late.dispose()
      }
      scenario.finally {
        scenario.expect(early.seen.last == 11, "the values are \(early.seen)")
        scenario.expect(early.seen.sorted() == early.seen, "the values are \(early.seen)")
        scenario.expect(
          Set(early.seen).count == early.seen.count, "a value is sent twice: \(early.seen)")
        late.checkFollows(early)
      }
    }
  }
}
