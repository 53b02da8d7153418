import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct ElementLifetimeTests {
  /// Counts the starts and the ends of the work for each element.
  private final class Ledger: Sendable {
    private let running = Shared<[Int: Int]>([:])
    let log = Log<String>([])

    var active: [Int] { running.value.filter { $0.value > 0 }.keys.sorted() }
    var isBalanced: Bool { running.value.values.allSatisfy { $0 == 0 || $0 == 1 } }

    func start(_ element: TestElement) -> Disposable {
      running.modify { $0[element.id, default: 0] += 1 }
      log.append("+\(element.id)")
      return Disposable { [self] in
        running.modify { $0[element.id, default: 0] -= 1 }
        log.append("-\(element.id)")
      }
    }
  }

  private let items = Items([TestElement(1, 0), TestElement(2, 0)])
  private let ledger = Ledger()

  @Test func `work lives as long as its element`() {
    let work = items.forEach(lifetime: { [ledger] in ledger.start($0) })
    #expect(ledger.log.value == ["+1", "+2"])
    items.append(TestElement(3, 0))
    items.move(from: 0, to: 2)
    items.remove(at: 0)
    #expect(ledger.active == [1, 3])
    items.update(at: 0) { $0.content = 1 }
    #expect(ledger.log.value == ["+1", "+2", "+3", "-2", "-3", "+3"])
    items.transaction { draft in
      draft.removeAll()
      draft.append(TestElement(7, 0))
    }
    #expect(ledger.log.value.suffix(3) == ["-3", "-1", "+7"])
    work.dispose()
    work.dispose()
    items.append(TestElement(8, 0))
    #expect(ledger.active == [] && ledger.log.value.last == "-7")
  }

  @Test func `an update can go on`() {
    let updates = Log<String>([])
    let work = items.forEach(
      lifetime: { [ledger] in ledger.start($0) },
      update: { old, new in
        updates.append("\(old.content) \(new.content)")
        return new.content < 5
      })
    items.update(at: 0) { $0.content = 2 }
    #expect(ledger.log.value == ["+1", "+2"])
    items.update(at: 0) { $0.content = 9 }
    #expect(ledger.log.value == ["+1", "+2", "-1", "+1"] && updates.value == ["0 2", "2 9"])
    withExtendedLifetime(work) {}
  }

  @Test func `a release ends all work, also inside of a start`() {
    let held = Shared<Disposable?>(nil)
    held.value = items.forEach(lifetime: { [ledger] element in
      if element.id == 3 { held.value = nil }
      return ledger.start(element)
    })
    items.transaction { draft in
      for number in 3...5 { draft.append(TestElement(number, 0)) }
    }
    #expect(ledger.log.value == ["+1", "+2", "+3", "-1", "-2", "-3"])
    #expect(ledger.active == [])
  }

  @Test func `a start may edit the list`() {
    let work = items.forEach(lifetime: { [items, ledger] element in
      if element.id < 6 { items.append(TestElement(element.id + 2, 0)) }
      return ledger.start(element)
    })
    #expect(ledger.active == [1, 2, 3, 4, 5, 6, 7])
    items.removeAll()
    #expect(ledger.active == [])
    withExtendedLifetime(work) {}
  }

  @Test func `tasks are canceled`() async throws {
    let states = Log<String>([])
    let work = items.runTask(
      forEach: { element in
        states.append("+\(element.id)")
        do { try await Task.sleep(for: .seconds(1_000)) } catch { states.append("-\(element.id)") }
      }, update: { $1.content == 7 })
    try await wait(for: "both tasks") { Set(states.value) == ["+1", "+2"] }
    items.update(at: 1) { $0.content = 7 }
    items.remove(at: 0)
    try await wait(for: "the end of the first") { states.value.contains("-1") }
    work.dispose()
    try await wait(for: "the end of the second") { states.value.contains("-2") }
    #expect(states.value.count == 4)
  }

  @Test func `each start has one end over random edits`() throws {
    var editor = RandomEditor(seed: TestRun.seed ?? 11, allowsDuplicates: true)
    let items = Items()
    let counts = Shared(0)
    let work = items.forEach(lifetime: { _ in
      counts.modify { $0 += 1 }
      return Disposable { counts.modify { $0 -= 1 } }
    })
    for _ in 1...2_000 {
      try editor.step(items)
      try #require(counts.value == items.snapshot.count)
    }
    work.dispose()
    #expect(counts.value == 0)
  }
}
