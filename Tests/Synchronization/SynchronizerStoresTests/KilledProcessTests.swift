import DataSourceTesting
import Diffing
import Foundation
import ObservableCollections
import SynchronizerStores
import Synchronizers
import TestSupport
import TestTags
import Testing

@Suite(.tags(.system), .timeLimit(.minutes(10))) struct KilledProcessTests {
  private struct Kept: Codable, Hashable, Identifiable, Sendable, Differentiable {
    var id: Int
    var text: String
  }

  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  /// Starts a process that saves, waits for some saves, and kills it during the next one.
  ///
  /// - Returns: The number of the last reported save.
  private func saveAndKill(_ kind: String, _ path: String, after count: Int) throws -> Int {
    let process = Process()
    process.executableURL = try SavingProcess.helper()
    process.arguments = ["keep", kind, path]
    let (input, output) = (Pipe(), Pipe())
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    let reports = output.fileHandleForReading
    var answers = try (0..<count).compactMap { _ in try reports.readLine() }
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    // The reports before the kill.
    while let answer = try reports.readLine() { answers.append(answer) }
    return try #require(
      answers.last { $0.allSatisfy(\.isNumber) }.flatMap { Int($0) }, "\(answers)")
  }

  private func check(_ state: SynchronizationState<Kept, Int>?, isSince last: Int) throws {
    let state = try #require(state)
    let number = try #require(state.version)
    // The process may have been killed between a save and its report.
    #expect(number == last || number == last + 1)
    let list = (0..<200 + number % 7).map { Kept(id: $0, text: "\(number)") }
    #expect(Array(state.client) == list)
    #expect(Array(state.shadow) == list)
    #expect((state.push != nil) == (number % 2 == 0))
    if let push = state.push {
      #expect(Array(push.client) == list)
      #expect(Array(push.merged) == list)
    }
  }

  @Test func `a killed process leaves a complete state in the database`() async throws {
    let path = directory("state.db")
    for count in 1...8 {
      let last = try saveAndKill("sqlite", path, after: count)
      let store = try SQLiteSynchronizationStore<Kept, Int>(path: path, name: "kept")
      try check(try await store.load(), isSince: last)
    }
  }

  @Test func `a killed process leaves a complete and unlocked file`() async throws {
    let path = directory("state.json")
    for count in 1...8 {
      let last = try saveAndKill("file", path, after: count)
      let store = try FileSynchronizationStore<Kept, Int>(path: path)
      try check(try await store.load(), isSince: last)
    }
  }

  @Test func `a killed process leaves a mirror that goes on`() async throws {
    let environment = ProcessInfo.processInfo.environment
    let (kills, count) = (
      Int(environment["SWAPPABLE_KILLS"] ?? "") ?? 6, TestRun.isLong ? 5_000 : 300
    )
    let path = directory("mirror")
    let special = [
      " two  spaces ", "\u{E9}", "e\u{301}", ".hidden", "CAPITALS", "capitals", "-dash", "a\\b",
      "😀",
      String(repeating: "n", count: 255), "deep/er/and/deeper/still", "deep/er/other",
    ]
    let names = special + (special.count..<count).map { "folder \($0 % 40)/file \($0)" }
    try names.joined(separator: "\n").write(
      toFile: path + ".names", atomically: true, encoding: .utf8)
    // What others have put there stays.
    try directory.makeDirectory("mirror/folder 1/theirs")
    for name in ["folder 1/theirs/x", "folder 2", "folder 3.link"] {
      try directory.write("theirs", to: "mirror/" + name)
    }
    var random = SeededGenerator(seed: UInt64.random(in: 0 ... .max))
    for round in 1...kills {
      let process = Process()
      process.executableURL = try SavingProcess.helper()
      process.arguments = ["keep", "mirror", path]
      let output = Pipe()
      (process.standardInput, process.standardOutput) = (Pipe(), output)
      try process.run()
      // Kill it in the middle of a run: not at its end.
      for _ in 0..<random.below(3) { _ = try output.fileHandleForReading.readLine() }
      usleep(UInt32(random.below(TestRun.isLong ? 2_000_000 : 200_000)))
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
      let rest = try output.fileHandleForReading.readToEnd() ?? Data()
      #expect(!String(decoding: rest, as: UTF8.self).contains("error"))

      let store = try PageStore.make(path)
      var found = try directory.files(below: "mirror").filter { $0.value != "theirs" }
      for entry in store.snapshot {
        let page = Page(id: entry.key, stamp: entry.stamp)
        let content = PageRemote.content(page)
        #expect(try store.contents(forKey: entry.key) == content, "round \(round)")
        #expect(found.removeValue(forKey: entry.key) == String(decoding: content, as: UTF8.self))
      }
      #expect(found.isEmpty, "round \(round): \(found.keys)")
      let own = try FileManager.default.contentsOfDirectory(atPath: directory(".mirror.store"))
      #expect(own == ["index.jsonl"], "round \(round)")
    }
    let pages = names.dropFirst(3).map { Page(id: ExactString($0), stamp: "end") }
    let store = try PageStore.make(path)
    let synchronizer = OneWaySynchronizer(
      from: PageRemote(pages), to: store,
      options: OneWaySynchronizer.Options(removalLimit: .none))
    let plan = try await synchronizer.plan()
    let outcome = try await synchronizer.sync()
    // A plan does not look for what others have put in the way.
    #expect(Set(plan.newKeys) == Set(outcome.newKeys + outcome.refusedKeys))
    #expect(outcome.outdatedKeys == plan.outdatedKeys)
    #expect(outcome.removedKeys == plan.removedKeys)
    #expect(outcome.refusedKeys.allSatisfy { $0.hasPrefix("folder 2/") })
    let kept = pages.filter { !$0.id.string.hasPrefix("folder 2/") }
    #expect(store.snapshot.map(\.key) == kept.map(\.id))
    #expect(try directory.files(below: "mirror").count == kept.count + 3)
  }

  @Test func `a file has one store among all processes`() async throws {
    let path = directory("state.json")
    let store = try FileSynchronizationStore<Kept, Int>(path: path)
    let process = Process()
    process.executableURL = try SavingProcess.helper()
    process.arguments = ["keep", "file", path]
    let (input, output) = (Pipe(), Pipe())
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    let answer = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    #expect(String(decoding: answer, as: UTF8.self).contains("another store uses this file"))
    #expect(try await store.load() == nil)
  }
}
