import Foundation
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives
import TestSupport
import Testing

@testable import FileSources

/// Logs that rotate while a program writes to them without a pause.
@Suite(.timeLimit(.minutes(10))) struct RotatingLogTests {
  private let directory: TemporaryDirectory
  private let path: String

  init() throws {
    directory = try TemporaryDirectory()
    path = directory("app.jsonl")
  }

  private func open(_ path: String) throws -> OpenFile {
    try OpenFile(path, O_WRONLY | O_CREAT | O_APPEND)
  }

  /// A program that appends numbers to a log without a pause. Each third line is written in two parts.
  private final class Program: Sendable {
    private struct State: @unchecked Sendable {
      // Sendable: the file is used only under the lock.
      var file: OpenFile
      var last = 0
      var isOver = false
    }

    private let state: Locked<State>

    init(_ file: OpenFile) { state = Locked(State(file: file)) }

    /// Writes until ``end()``.
    func run() {
      while state.withLock({ state in
        guard !state.isOver else { return false }
        state.last += 1
        try? state.file.write(state.last % 3 == 0 ? "\(state.last)" : "\(state.last)\n")
        if state.last % 3 == 0 { try? state.file.write("\n") }
        return true
      }) {
        usleep(100)
      }
    }

    /// Lets the program write to another file, between two lines.
    ///
    /// - Returns: The last number in the old file.
    func rotate(_ body: () throws -> OpenFile) throws -> Int {
      try state.withLock { state in
        state.file = try body()
        return state.last
      }
    }

    /// Ends the program, and returns the last number.
    func end() -> Int {
      state.withLock { state in
        state.isOver = true
        return state.last
      }
    }
  }

  /// A source that would wait for an hour for a pause of the writer.
  private func source() -> JSONLinesDataSource<JSONElement> {
    var timing = FileTiming()
    timing.grace = .seconds(3_600)
    timing.writing = .milliseconds(1)
    return JSONLinesDataSource(
      path: ByteString(path), key: nil, decoding: ElementDecoding(each: { $0 }), timing: timing)
  }

  enum Rotation: CaseIterable {
    case renamed, deleted, truncated
  }

  @Test(arguments: Rotation.allCases)
  func `the lines of the new file are shown while its writer goes on`(
    rotation: Rotation
  ) async throws {
    let program = Program(try open(path))
    let writer = Worker { program.run() }
    let source = source()
    let observation = source.observe { _ in }
    try await source.loaded()
    try await wait(for: "the first lines") { source.count > 100 }
    let last = try program.rotate {
      switch rotation {
      case .renamed: try directory.move("app.jsonl", to: "app.jsonl.1")
      case .deleted: try FileManager.default.removeItem(atPath: path)
      case .truncated: guard truncate(path, 0) == 0 else { throw POSIXError.last }
      }
      return try open(path)
    }
    try await wait(for: "the lines of the new file") {
      source.snapshot.first?.integer ?? 0 > last
    }
    // They are no last gasp.
    let count = source.count
    try await wait(for: "more lines") { source.count > count + 100 }
    _ = program.end()
    try writer.join()
    let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
    try await wait(for: "the last line") { source.count == lines.count }
    #expect(source.snapshot.map(\.description) == lines.map(String.init))
    observation.dispose()
  }

  // MARK: Keeping lines

  private func keeping(_ count: Int) -> JSONLinesDataSource<JSONElement> {
    JSONLinesDataSource(path: path, rotation: .keep(last: count))
  }

  private func numbers(_ source: JSONLinesDataSource<JSONElement>) -> [Int] {
    source.snapshot.compactMap(\.integer)
  }

  private func waitForNumbers(
    _ numbers: [Int], in source: JSONLinesDataSource<JSONElement>
  ) async throws {
    try await wait(for: "the numbers \(numbers)") { self.numbers(source) == numbers }
  }

  @Test func `old lines stay, and late ones stand behind those of their file`() async throws {
    let first = try open(path)
    try first.write("1\n2\n")
    let source = keeping(7)
    let observation = source.observe { _ in }
    try await waitForNumbers([1, 2], in: source)
    try first.write("3\n")
    try directory.move("app.jsonl", to: "app.jsonl.1")
    try first.write("4\n")
    let second = try open(path)
    try second.write("10\n")
    try await waitForNumbers([1, 2, 3, 4, 10], in: source)
    // The program hears of the rotation late.
    try first.write("5\n")
    try await waitForNumbers([1, 2, 3, 4, 5, 10], in: source)
    try second.write("11\n12\n")
    try await waitForNumbers([2, 3, 4, 5, 10, 11, 12], in: source)
    // A copy of the file with one more line is no rotation.
    try directory.write("10\n11\n12\n13\n", to: "copy")
    try directory.move("copy", to: "app.jsonl")
    try await waitForNumbers([3, 4, 5, 10, 11, 12, 13], in: source)
    observation.dispose()
  }

  @Test func `a truncated file begins again`() async throws {
    let file = try open(path)
    try file.write("1\n2\n3\n")
    let source = keeping(5)
    let observation = source.observe { _ in }
    try await waitForNumbers([1, 2, 3], in: source)
    try #require(truncate(path, 0) == 0)
    try file.write("4\n")
    try await waitForNumbers([1, 2, 3, 4], in: source)
    // A writer without O_APPEND leaves a hole.
    let other = try OpenFile(path, O_WRONLY)
    try #require(truncate(path, 0) == 0)
    try #require(pwrite(other.descriptor, "5\n", 2, 2) == 2)
    try await waitForNumbers([1, 2, 3, 4, 5], in: source)
    observation.dispose()
  }

  @Test func `a deleted file is read to its end and closed`() async throws {
    let file = try open(path)
    try file.write("1\n")
    let source = keeping(5)
    let observation = source.observe { _ in }
    try await waitForNumbers([1], in: source)
    try file.write("2\n3")
    try FileManager.default.removeItem(atPath: path)
    try await waitForNumbers([1, 2, 3], in: source)
    #if os(Linux)
      let place = URL(fileURLWithPath: path).deletingLastPathComponent().resolvingSymlinksInPath()
        .path
      let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").filter {
        let target = try? FileManager.default.destinationOfSymbolicLink(
          atPath: "/proc/self/fd/\($0)")
        return target?.hasPrefix(place) == true
      }
      // The test itself has it open.
      #expect(open.count == 1)
    #endif
    try directory.write("4\n", to: "app.jsonl")
    try await waitForNumbers([1, 2, 3, 4], in: source)
    observation.dispose()
  }

  @Test func `at first, only the last lines are decoded`() async throws {
    // More than one part of the file.
    let count = 600_000
    try directory.write((1...count).map { "\($0)\n" }.joined(), to: "app.jsonl")
    let decoded = Locked(0)
    let source = JSONLinesDataSource<JSONElement>(path: path, rotation: .keep(last: 3)) { element in
      decoded.withLock { $0 += 1 }
      return element
    }
    let observation = source.observe { _ in }
    try await source.loaded()
    #expect(numbers(source) == [count - 2, count - 1, count])
    #expect(decoded.withLock { $0 } == 3)
    // The messages have the numbers of the lines in the file.
    try OpenFile(path, O_WRONLY | O_APPEND).write("{\n")
    try await wait(for: "the remark") {
      source.status.diagnostics.contains { $0.message.contains("line \(count + 1)") }
    }
    observation.dispose()
  }

  @Test func `old files that are emptied and used again are read once`() async throws {
    let source = keeping(50)
    try directory.write("0\n1\n", to: "app.jsonl")
    let observation = source.observe { _ in }
    try await waitForNumbers([0, 1], in: source)
    try directory.write("2\n3\n", to: "other")
    try directory.exchange("app.jsonl", "other")
    try await waitForNumbers([0, 1, 2, 3], in: source)
    for number in [4, 6, 8] {
      try directory.write("\(number)\n\(number + 1)\n", to: "other")
      try directory.exchange("app.jsonl", "other")
      // It may have been read before it came to the path, so its lines may precede those of the other file.
      try await wait(for: "the new lines") {
        numbers(source).sorted() == Array(0...number + 1)
      }
    }
    observation.dispose()
  }

  @Test func `a file that comes back to the path is not repeated`() async throws {
    let source = keeping(10)
    try directory.write("1\n2\n", to: "app.jsonl")
    let observation = source.observe { _ in }
    try await waitForNumbers([1, 2], in: source)
    try directory.move("app.jsonl", to: "app.jsonl.1")
    try directory.write("3\n", to: "app.jsonl")
    try await waitForNumbers([1, 2, 3], in: source)
    try directory.move("app.jsonl.1", to: "app.jsonl")
    try OpenFile(path, O_WRONLY | O_APPEND).write("4\n")
    try await waitForNumbers([1, 2, 3, 4], in: source)
    observation.dispose()
  }

  @Test func `no line is lost or repeated while a log rotates again and again`() async throws {
    let program = Program(try open(path))
    let writer = Worker { program.run() }
    let source = keeping(10_000_000)
    let observation = source.observe { _ in }
    try await wait(for: "the first line") { source.count > 0 }
    for round in 1...30 {
      let last = try program.rotate {
        try directory.move("app.jsonl", to: "app.jsonl.\(round)")
        if round > 2 {
          try FileManager.default.removeItem(atPath: directory("app.jsonl.\(round - 2)"))
        }
        if round % 3 == 0 { usleep(20_000) }
        return try open(path)
      }
      try await wait(for: "a line of the new file") {
        source.snapshot.last?.integer ?? 0 > last
      }
    }
    let count = program.end()
    try writer.join()
    try await wait(for: "the last line") { source.count >= count }
    #expect(numbers(source) == Array(1...count))
    observation.dispose()
  }
}
