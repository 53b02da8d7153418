import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import Testing

/// Weak references, which must all be `nil` in the end.
struct Leftovers {
  private final class Weak {
    weak var object: AnyObject?
    init(_ object: AnyObject) { self.object = object }
  }
  private var all: [Weak] = []

  mutating func add(_ objects: AnyObject...) { all += objects.map(Weak.init) }

  var count: Int { all.count { $0.object != nil } }
}

/// Rules L1 to L3.
@Suite struct LifetimeTests {
  @Test func `an observation keeps the collection alive`() {
    var leftovers = Leftovers()
    let log = Log<String>([])
    var observation: Disposable?
    do {
      let items = Items([1])
      leftovers.add(items.collection)
      observation = items.observe { log.append($0.brief) }
    }
    #expect(leftovers.count == 1)
    observation?.dispose()
    observation = nil
    #expect(leftovers.count == 0)
  }

  @Test func `a disposed observation that is still held keeps nothing alive`() {
    var leftovers = Leftovers()
    let observation: Disposable
    do {
      let items = Items([1])
      leftovers.add(items, items.collection)
      observation = items.filter { _ in true }.observe { _ in }
    }
    observation.dispose()
    #expect(leftovers.count == 0)
    #expect(observation.isDisposed)
  }

  @Test func `an observation of a derived collection keeps its whole upstream alive`() throws {
    let source = Shared<Items?>(Items([1]))
    var leftovers = Leftovers()
    let recorder: RecordingObserver<TestElement>
    do {
      let items = try #require(source.value)
      let filtered = items.filter { $0.id > 0 }
      let joined = filtered.concatenated(with: Items([9]))
      let sorted = joined.sorted { $0.id > $1.id }
      leftovers.add(filtered, joined, sorted)
      recorder = RecordingObserver(sorted)
      items.append(2)
    }
    #expect(leftovers.count == 3)
    source.value?.append(3)
    #expect(recorder.snapshot.map(\.id) == [9, 3, 2, 1])
    recorder.dispose()
    #expect(leftovers.count == 0)
  }

  @Test func `a derived collection that nobody holds is released and computes no more`() {
    let items = Items([1])
    var leftovers = Leftovers()
    let calls = Shared(0)
    do {
      let filtered = items.filter { _ in
        calls.modify { $0 += 1 }
        return true
      }
      let joined = filtered.concatenated(with: Items([2]))
      leftovers.add(filtered, filtered.node, joined, joined.node)
    }
    #expect(leftovers.count == 0)
    items.append(3)
    #expect(calls.value == 1)
  }

  @Test func `a derived collection keeps its source alive, and not the other way around`() {
    var leftovers = Leftovers()
    var derived: LiveCollection<TestElement>?
    do {
      let items = Items([1])
      leftovers.add(items.collection)
      derived = items.map { $0 }
    }
    #expect(leftovers.count == 1)
    #expect(derived?.snapshot.count == 1)
    derived = nil
    #expect(leftovers.count == 0)
  }

  @Test func `a collection keeps no observer that is disposed`() {
    let items = Items([1])
    var leftovers = Leftovers()
    var observations: [Disposable] = []
    for _ in 0..<40 {
      let token = Token()
      leftovers.add(token)
      observations.append(items.observe { _ in _ = token })
      observations.append(items.observeStatus { _ in _ = token })
    }
    items.append(2)
    #expect(leftovers.count == 40)
    for observation in observations { observation.dispose() }
    #expect(leftovers.count == 0)
  }

  @Test func `a binding keeps its source alive, but not its target`() {
    var leftovers = Leftovers()
    var binding: Disposable?
    let items = Items([1])
    do {
      let target = Items()
      leftovers.add(target)
      binding = items.bind(to: target)
      items.append(2)
      #expect(Array(target.snapshot) == [1, 2])
    }
    #expect(leftovers.count == 0)
    items.append(3)
    binding?.dispose()
    binding = nil
  }

  @Test func `a list uses its draft again, unless somebody keeps it, and releases it`() {
    var leftovers = Leftovers()
    do {
      let items = Items([1])
      weak var first: CollectionDraft<TestElement>?
      items.transaction { draft in
        first = draft
        draft.append(2)
      }
      var kept: CollectionDraft<TestElement>?
      items.transaction { draft in
        #expect(draft === first)
        draft.append(3)
        kept = draft
      }
      withTransaction {
        items.transaction { draft in
          #expect(draft !== kept && Array(draft.snapshot) == [1, 2, 3])
          leftovers.add(draft)
        }
        items.append(4)
      }
      #expect(Array(items.snapshot) == [1, 2, 3, 4])
    }
    #expect(leftovers.count == 0)
  }

  @Test func `an element is released when nothing shows it any more`() {
    let items = ArrayDataSource<Meddler>()
    var leftovers = Leftovers()
    do {
      let token = Token()
      leftovers.add(token)
      items.append(Meddler(id: 1, token: token))
      items.append(Meddler(id: 2))
    }
    items.remove(at: 0)
    #expect(leftovers.count == 0)
  }
}
