import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import Testing

@testable import Synchronizers

/// What a run would do, and the limit of its removals.
@Suite struct OneWayPlanTests {
  private struct Item: Hashable, Identifiable, Sendable, Differentiable {
    let id: Int
    var text = ""
  }

  private func items(_ ids: some Sequence<Int>, _ text: String = "") -> [Item] {
    ids.map { Item(id: $0, text: text) }
  }

  /// Returns a store with items, and a synchronizer to it.
  private func synchronizer(
    from list: [Item], over stored: [Item], limit: OneWaySynchronizer.RemovalLimit = .percent(50)
  ) async throws -> (CollectionStore<Item>, OneWaySynchronizer) {
    let store = CollectionStore<Item>()
    try await OneWaySynchronizer(from: ArrayDataSource(stored), to: store).sync()
    let synchronizer = OneWaySynchronizer(from: ArrayDataSource(list), to: store)
    synchronizer.options.removalLimit = limit
    return (store, synchronizer)
  }

  @Test func `a plan equals what the run does then, and changes nothing`() async throws {
    var random = SeededGenerator(seed: 7)
    for _ in 0..<1_000 {
      let stored = items((0..<12).filter { _ in Bool.random(using: &random) })
      let list = (0..<12).filter { _ in Bool.random(using: &random) }.shuffled(using: &random)
        .map { Item(id: $0, text: Bool.random(using: &random) ? "" : "new") }
      let (store, synchronizer) = try await synchronizer(from: list, over: stored, limit: .none)
      let plan = try await synchronizer.plan()
      #expect(Array(store.snapshot) == stored)
      #expect(synchronizer.lastOutcome.value == nil)
      var outcome = try await synchronizer.sync()
      #expect(outcome.contents == plan.new + plan.outdated)
      outcome.contents = 0
      #expect(outcome == plan)
      #expect(Array(store.snapshot) == list)
      let again = try await synchronizer.plan()
      #expect((again.new, again.outdated, again.removed) == (0, 0, 0))
    }
  }

  @Test func `an outcome reads like a sentence, and has the keys`() async throws {
    let list = items(3...6) + items(7...8, "new")
    let (_, synchronizer) = try await synchronizer(from: list, over: items(0...7), limit: .none)
    let plan = try await synchronizer.plan()
    #expect("\(plan)" == "6 listed: 1 inserted, 1 updated, 3 removed, 4 unchanged")
    #expect(plan.newKeys == ["8"] && plan.outdatedKeys == ["7"])
    #expect(plan.removedKeys == ["0", "1", "2"])
  }

  @Test func `an empty list does not empty a store by default`() async throws {
    let stored = items(0..<100)
    let (store, synchronizer) = try await synchronizer(from: [], over: stored)
    let error = try await #require(throws: OneWayError.self) { try await synchronizer.sync() }
    #expect(error.stage == .remove)
    #expect(error.description.contains("100 of 100 keys are not in the list"))
    #expect(Array(store.snapshot) == stored)
    #expect(try await synchronizer.plan().removed == 100)
    synchronizer.options.removalLimit = .none
    #expect(try await synchronizer.sync().removed == 100)
    #expect(store.snapshot.isEmpty)
  }

  @Test(
    arguments: [
      (.percent(50), 10, 5, true), (.percent(50), 10, 6, false), (.percent(50), 9, 9, true),
      (.percent(0), 10, 0, true), (.percent(0), 10, 1, false), (.percent(100), 10, 10, true),
      (.count(3), 100, 3, true), (.count(3), 100, 4, false), (.count(0), 2, 1, false),
      (.none, 100, 100, true),
    ] as [(OneWaySynchronizer.RemovalLimit, Int, Int, Bool)])
  func `the limit counts keys or percent`(
    limit: OneWaySynchronizer.RemovalLimit, stored: Int, removed: Int, isAllowed: Bool
  ) async throws {
    // The order and an item are new, too.
    let list = items((removed..<stored).reversed()) + [Item(id: -1)]
    let (store, synchronizer) = try await synchronizer(
      from: list, over: items(0..<stored), limit: limit)
    if isAllowed {
      #expect(try await synchronizer.sync().removed == removed)
      #expect(Array(store.snapshot) == list)
    } else {
      await #expect(throws: OneWayError.self) { try await synchronizer.sync() }
      #expect(Array(store.snapshot) == items(0..<stored))
    }
  }
}
