import DataSourceTesting
import Diffing
import FileWatching
import Foundation
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives
import TestSupport
import TestTags
import Testing

@testable import FileSources

/// Sources that are created and released on several threads while their files are saved.
@Suite(.tags(.concurrency), .timeLimit(.minutes(10)))
struct FileSourceConcurrencyTests {
  private static let rounds =
    TestRun.isLong ? 2_000 : 40

  /// All files of a test. Several tasks save them.
  private struct Files: Sendable {
    let directory: TemporaryDirectory

    init() throws {
      directory = try TemporaryDirectory()
      for file in 0..<4 { try save(file, round: 0, by: 0) }
    }

    func name(_ file: Int) -> String { file < 2 ? "\(file).json" : "\(file).jsonl" }

    /// Saves in place or by a rename, or appends a line.
    func save(_ file: Int, round: Int, by saver: Int) throws {
      let values = (0..<round % 5).map { "{\"id\":\($0),\"v\":\(round + saver)}" }
      let text =
        file < 2 ? "[" + values.joined(separator: ",") + "]" : values.map { $0 + "\n" }.joined()
      switch round % 3 {
      case 0: try directory.write(text, to: name(file))
      case 1 where file >= 2:
        try OpenFile(directory(name(file)), O_WRONLY | O_APPEND | O_CREAT).write(text)
      default:
        try directory.write(text, to: "new\(saver)")
        try directory.move("new\(saver)", to: name(file))
      }
    }

    func source(_ file: Int, system: WatchSystem) -> any DataSource<JSONElement> {
      let decoding = ElementDecoding<JSONElement>(each: { $0 })
      let path = ByteString(directory(name(file)))
      return file < 2
        ? JSONFileDataSource(path: path, key: "id", decoding: decoding, system: system)
        : JSONLinesDataSource(path: path, key: "id", decoding: decoding, system: system)
    }
  }

  private final class WeakSources: Sendable {
    private struct Entry: Sendable { weak var source: (any DataSource<JSONElement> & AnyObject)? }
    private let entries = Shared<[Entry]>([])

    func add(_ source: any DataSource<JSONElement>) {
      entries.append(Entry(source: source as (any DataSource<JSONElement> & AnyObject)))
    }

    var aliveCount: Int { entries.value.count { $0.source != nil } }
  }

  @Test func `sources that end during saves leave nothing behind`() async throws {
    let files = try Files()
    let count = WatchCount()
    let sources = WeakSources()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for saver in 0..<2 {
        group.addTask {
          for round in 0..<(Self.rounds * 4) {
            try files.save((round + saver) % 4, round: round, by: saver)
          }
        }
      }
      for user in 0..<4 {
        group.addTask {
          var random = SeededGenerator(seed: UInt64(user))
          for round in 0..<Self.rounds {
            let source = files.source((round + user) % 4, system: count.system)
            sources.add(source)
            let recorder = RecordingObserver(source)
            let other = source.observe { _ in }
            switch random.below(4) {
            case 0: break
            case 1: other.dispose()
            // While two tasks save the file, it may be malformed.
            case 2: _ = try? await source.loaded()
            default:
              _ = try? await source.loaded()
              other.disposeAndWait()
            }
            try recorder.check()
          }
        }
      }
      try await group.waitForAll()
    }
    // A loop whose source has just ended may still add a watch, and then removes it.
    try await wait(for: "all sources, watches and timers to end") {
      sources.aliveCount == 0 && count.count == 0 && count.timerCount == 0
    }
  }

  @Test func `an observer that releases its source ends the source`() async throws {
    let files = try Files()
    let count = WatchCount()
    let sources = WeakSources()
    for round in 0..<Self.rounds {
      let kept = Shared<[Disposable]>([])
      do {
        let source = files.source(round % 4, system: count.system)
        sources.add(source)
        let observation = source.observe { event in
          if case .change = event { kept.value = [] }
        }
        kept.append(observation)
      }
      // One save may cause no change: the source may read the file for the first time after the save.
      var save = 1
      try await wait(for: "a change after a save") {
        if kept.value.isEmpty { return true }
        try files.save(round % 4, round: save, by: round)
        save += 1
        return false
      }
    }
    try await wait(for: "all sources, watches and timers to end") {
      sources.aliveCount == 0 && count.count == 0 && count.timerCount == 0
    }
  }

  @Test func `timed calls are scheduled and canceled on many threads`() async throws {
    let callLater = WatchCount().system.callLater
    let rung = Shared(0)
    let queues = (0..<4).map { DispatchQueue(label: "alarms \($0)") }
    try await withThrowingTaskGroup(of: [ScheduledTimer].self) { group in
      for task in 0..<4 {
        group.addTask {
          var expected: [ScheduledTimer] = []
          for round in 0..<(Self.rounds * 25) {
            let isCancelled = round % 3 == 0
            let delay = Duration.milliseconds(isCancelled ? 60_000 + round : round % 7)
            let alarm = callLater(delay, queues[(round + task) % 4]) { rung.modify { $0 += 1 } }
            if isCancelled { alarm.cancel() } else { expected.append(alarm) }
          }
          return expected
        }
      }
      let expected = try await group.reduce([], +)
      // All calls that were not canceled are made.
      try await wait(for: "all calls") { rung.value >= expected.count }
      #expect(rung.value == expected.count)
    }
  }
}
