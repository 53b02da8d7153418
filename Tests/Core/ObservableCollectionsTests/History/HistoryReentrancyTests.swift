import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import Testing

/// Histories that are made, observed and read inside observers and transactions.
@Suite(.timeLimit(.minutes(10))) struct HistoryReentrancyTests {
  @Test func `a history that begins anywhere records what follows`() throws {
    let items = ArrayDataSource([TestElement(1)])
    let sum = items.filter { $0.content == 0 }
    let histories = Shared<[CollectionHistory<TestElement>]>([])
    let (first, isFirst) = (DisposeBag(), Shared(true))
    items.observe { event in
      guard event.revision == 1, isFirst.exchange(false) else { return }
      histories.append(items.history())
      histories.append(sum.history())
      items.append(TestElement(7))
      histories.append(items.history())
    }.store(in: first)
    items.transaction { draft in
      draft.append(TestElement(2))
      histories.append(items.history())
      histories.append(sum.history())
      draft.append(TestElement(3))
    }
    items.transaction { draft in
      draft.remove(at: 0)
      draft.move(from: 0, to: 1)
      draft.append(TestElement(4))
    }
    #expect(histories.value.count == 5)
    for history in histories.value {
      let revisions = history.revisions.map(\.number)
      #expect(
        history.snapshot(at: try #require(revisions.last)).map(Array.init) == Array(items.snapshot))
      for (one, other) in zip(revisions, revisions.dropFirst()) {
        let change = try #require(history.change(from: one, to: other))
        let before = Array(try #require(history.snapshot(at: one)))
        #expect(
          change.changeset.applying(to: before, with: Array(change.after))
            == history.snapshot(at: other).map(Array.init))
      }
    }
  }

  @Test func `observers resume, commit and end inside an observer and a transaction`() throws {
    let items = ArrayDataSource([TestElement(1)])
    let history = items.history(retaining: .init(revisions: 3))
    let token = history.token
    let observers = Shared<[RecordingObserver<TestElement>]>([])
    let (bag, depth) = (DisposeBag(), Shared(0))
    let owned = Shared<[DisposeBag]>([])
    @Sendable func resume() {
      let (observer, own) = (RecordingObserver<TestElement>(), DisposeBag())
      observers.append(observer)
      history.observe(since: nil) { event in
        observer.receive(event)
        if event.revision % 7 == 6 { own.dispose() }
      }.store(in: own)
      bag.add(history.observe(since: token) { _ in _ = history.change(from: 0, to: 2) })
      owned.append(own)
    }
    bag.add(
      history.observe(since: token) { event in
        guard
          depth.modify({
            $0 += 1; return $0
          }) < 20
        else { return }
        resume()
        items.append(TestElement(event.revision + 100))
        resume()
      })
    items.transaction { draft in
      resume()
      draft.remove(at: 0)
      resume()
    }
    #expect(observers.value.count > 10)
    for observer in observers.value { #expect(observer.violations.isEmpty) }
    #expect(history.revisions.count <= 4)
    bag.dispose()
  }
}
