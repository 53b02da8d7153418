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
