import DataSourceTesting
import Foundation
import ObservableCollections
import Synchronizers
import TestSupport
import TestTags
import Testing

/// Compares random runs with a model, call by call.
@Suite(.timeLimit(.minutes(20))) struct OneWayRandomTests {
  private static let seeds = (0..<(TestRun.isLong ? 50_000 : 500)).map { UInt64($0) }

  /// The calls that must fail in some runs, and a run without failures.
  private static let failures = Coverage.Cases([
    "begin", "fetch", "local", "remove", "update?", "prepare", "preview", "content", "end", "none",
  ])

  /// The input of a run.
  private struct Case {
    let source: [TestElement]
    let local: Set<Int>
    let current: Set<Int>
    let order: [Int]
    let options: OneWaySynchronizer.Options
    let failing: Set<String>

    init(seed: UInt64) {
      var random = SeededGenerator(seed: seed)
      source = (0..<random.below(7)).map { _ in TestElement(random.below(8), random.below(3)) }
      local = Set((0..<random.below(7)).map { _ in random.below(10) })
      current = Set((0..<random.below(4)).map { _ in random.below(8) })
      order = (0..<10).shuffled(using: &random)
      options = OneWaySynchronizer.Options(
        concurrency: 1, downloadsPreview: random.oneIn(2), downloadsContent: !random.oneIn(4),
        stopsOnError: random.oneIn(2))
      var names = ["begin", "fetch", "local", "remove", "prepare", "end"]
      for id in 0..<8 { names += ["update? \(id)", "preview \(id)", "content \(id)"] }
      failing = Set(names.filter { _ in random.oneIn(15) })
    }

    /// Returns the number of a call in `failing`.
    static func name(of call: String) -> String {
      let words = call.split(whereSeparator: { " .".contains($0) }).map(String.init)
      return ["update?", "preview", "content"].contains(words[0])
        ? "\(words[0]) \(words[1])" : words[0]
    }

    /// Returns the calls of a run and the failed ones.
    func expectation() -> (calls: [String], failures: [String]) {
      var calls: [String] = []
      var failures: [String] = []
      func call(_ name: String) -> Bool {
        calls.append(name)
        let isFailure = failing.contains(Case.name(of: name))
        if isFailure { failures.append(Case.name(of: name)) }
        return !isFailure
      }
      func work() {
        guard call("begin"), call("fetch"), call("local") else { return }
        var listed: [TestElement] = []
        for item in source where !listed.contains(where: { $0.id == item.id }) {
          listed.append(item)
        }
        let gone = local.filter { id in !listed.contains { $0.id == id } }.sorted()
        guard gone.isEmpty || call("remove" + gone.map { " \($0)" }.joined()) else { return }
        var due: [TestElement] = []
        for item in listed {
          guard local.contains(item.id) else {
            due.append(item)
            continue
          }
          guard call("update? \(item.id) \(item)") else { return }
          if !current.contains(item.id) { due.append(item) }
        }
        guard call("prepare" + due.map { " \($0)" }.joined()) else { return }
        due.sort { order[$0.id] < order[$1.id] }
        let stages = [
          options.downloadsPreview ? "preview" : nil, options.downloadsContent ? "content" : nil,
        ]
        for stage in stages.compactMap({ $0 }) {
          for item in due {
            if !call("\(stage) \(item)") && options.stopsOnError { return }
          }
        }
      }
      work()
      _ = call("end")
      return (calls, failures)
    }
  }

  @Test(.reaches(Self.failures)) func `random runs equal the model`() async throws {
    for seed in Self.seeds {
      let testCase = Case(seed: seed)
      let subject = Subject(
        source: testCase.source, local: testCase.local, options: testCase.options)
      subject.sides.isCurrent.value = { testCase.current.contains($0.id) }
      subject.sides.preparing.value = { items in
        items.sorted { testCase.order[$0.id] < testCase.order[$1.id] }
      }
      subject.sides.hook.value = { call in
        if testCase.failing.contains(Case.name(of: call)) { throw Refusal() }
      }
      let trace = try await subject.run()
      let (calls, failures) = testCase.expectation()
      for failure in failures { Coverage.note(String(failure.prefix { $0 != " " })) }
      if failures.isEmpty { Coverage.note("none") }
      try #require(
        trace == Subject.trace(calls, answer: failures.isEmpty ? "ok" : "failed"), "seed \(seed)")
      try #require(subject.error?.failures.count ?? 0 == failures.count, "seed \(seed)")
      let stages = (subject.error?.failures ?? []).map(\.stage)
      try #require(stages == failures.map { Subject.stage(of: $0) }, "seed \(seed)")
    }
  }

  /// Performs some interrupted runs, and then a complete one.
  @Test(.reaches(.changes)) func `after any failures, a complete run stores the whole list`()
    async throws
  {
    for seed in Self.seeds {
      var random = SeededGenerator(seed: seed)
      let store = CollectionStore<TestElement>()
      let recorder = RecordingObserver(store, seed: seed)
      func list() -> [TestElement] {
        (0..<9).shuffled(using: &random).prefix(random.below(10)).map {
          TestElement($0, random.below(3))
        }
      }
      for _ in 0..<4 {
        let (before, count) = (Array(store.snapshot), recorder.changes.count)
        let listed = list()
        let failing = Set((0..<9).filter { _ in random.oneIn(3) })
        let remote = FailingRemote(listed: listed, failing: failing)
        let synchronizer = OneWaySynchronizer(
          from: remote, to: store,
          options: OneWaySynchronizer.Options(concurrency: 1, stopsOnError: random.oneIn(2)))
        _ = try? await synchronizer.sync()
        try #require(recorder.changes.count <= count + 1, "seed \(seed)")
        let now = Array(store.snapshot)
        let known = Set(now.map(\.id))
        // The store has listed items only, old or new, in the order of the list.
        try #require(
          now.map(\.id) == listed.map(\.id).filter { known.contains($0) }, "seed \(seed)")
        try #require(
          now.allSatisfy { before.contains($0) || listed.contains($0) && !failing.contains($0.id) },
          "seed \(seed)")
        // Old items stay if possible.
        let keys = Set(listed.map(\.id))
        try #require(before.allSatisfy { known.contains($0.id) == keys.contains($0.id) })
      }
      let listed = list()
      try await OneWaySynchronizer(
        from: FailingRemote(listed: listed, failing: []), to: store
      ).sync()
      try #require(Array(store.snapshot) == listed, "seed \(seed)")
      try recorder.check(against: store)
      Coverage.note(recorder)
    }
  }

  /// Edits of the user during a run always stay.
  @Test func `an unlisted item follows its predecessor`() async throws {
    for seed in Self.seeds {
      var random = SeededGenerator(seed: seed)
      let store = CollectionStore<TestElement>(
        (0..<8).shuffled(using: &random).map { TestElement($0) })
      let listed = (0..<12).shuffled(using: &random).prefix(random.below(12)).map {
        TestElement($0, 1)
      }
      let keys = Set(listed.map(\.id))
      let removed = Set((0..<8).filter { _ in random.oneIn(5) }).subtracting(keys)
      let stored = listed.filter { _ in random.oneIn(2) }
      await store.remove(removed)
      for item in stored { try await store.store(item, of: item) }
      let before = Array(store.snapshot)
      await store.finish(listed)
      let after = Array(store.snapshot)

      let here = Set(before.map(\.id)).union(stored.map(\.id))
      try #require(
        after.map(\.id).filter { keys.contains($0) }
          == listed.map(\.id).filter { here.contains($0) }, "seed \(seed)")
      // Each unlisted item follows its previous predecessor that still exists.
      let stayed = before.map(\.id).filter { !removed.contains($0) }
      for (index, id) in stayed.enumerated() where !keys.contains(id) {
        let position = try #require(after.firstIndex { $0.id == id }, "seed \(seed)")
        let neighbour = position > 0 ? after[position - 1].id : nil
        try #require(neighbour == (index > 0 ? stayed[index - 1] : nil), "seed \(seed)")
      }
      try #require(after.count == here.subtracting(removed).count, "seed \(seed)")
      try #require(stored.allSatisfy(after.contains), "seed \(seed)")
    }
  }
}

private struct FailingRemote: OneWayRemote {
  typealias Content = TestElement
  let listed: [TestElement]
  let failing: Set<Int>

  func items() async throws -> [TestElement] { listed }

  func content(of item: TestElement) async throws -> TestElement {
    if failing.contains(item.id) { throw Refusal() }
    return item
  }
}
