import Diffing
import Foundation
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives
import TestSupport
import Testing

@testable import FileSources

/// The elements of all files whose paths match a pattern.
@Suite(.timeLimit(.minutes(10))) struct MatchingFilesTests {
  /// An element that tells by which version of the files it was written.
  private struct Entry: Codable, Hashable, Identifiable, Sendable, Differentiable {
    let id: String
    let version: Int
  }

  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func text(_ name: String, _ version: Int) -> String {
    (0..<5).map { #"{"id": "\#(name)\#($0)", "version": \#(version)}"# }.joined(separator: ",")
  }

  /// Writes a directory with the files of a version.
  private func makeVersion(_ version: Int, in name: String, files: Range<Int> = 0..<20) throws {
    try directory.makeDirectory(name)
    for file in files {
      try directory.write("[\(text("f\(file)-", version))]", to: "\(name)/f\(file).json")
    }
  }

  /// The contents that a list has shown.
  private final class Shown: Sendable {
    private let contents = Locked<[[Entry]]>([])
    let states = Locked<[SourceStatus.State]>([])

    func note(_ event: CollectionEvent<Entry>) {
      let elements = Array(event.snapshot)
      contents.withLock { $0.append(elements) }
    }

    var all: [[Entry]] { contents.withLock { $0 } }

    /// The versions of the elements of each list that was shown.
    var versions: [Set<Int>] { all.map { Set($0.map(\.version)) } }
  }

  enum Switch: CaseIterable {
    case link, exchange, twoRenames, filesOfLinks, relinked
  }

  @Test(arguments: Switch.allCases)
  func `all files of a directory that is switched change at once`(way: Switch) async throws {
    try makeVersion(0, in: "rel0")
    switch way {
    case .link, .relinked: try directory.link("cur", to: "rel0")
    case .exchange, .twoRenames: try directory.move("rel0", to: "cur")
    case .filesOfLinks:
      try directory.link("data", to: "rel0")
      try directory.makeDirectory("cur")
      for file in 0..<20 { try directory.link("cur/f\(file).json", to: "../data/f\(file).json") }
    }
    let shown = Shown()
    let list = JSONFileDataSource<Entry>.files(matching: directory("cur/*.json"))
    let observation = list.observe { shown.note($0) }
    try await list.loaded()
    #expect(list.count == 100)
    let switches = 40
    for version in 1...switches {
      let name = "rel\(version)"
      try makeVersion(version, in: name)
      switch way {
      case .link:
        try directory.link("new", to: name)
        try directory.move("new", to: "cur")
      case .relinked:
        try directory.remove("cur")
        try directory.link("cur", to: name)
      case .filesOfLinks:
        try directory.link("new", to: name)
        try directory.move("new", to: "data")
      case .exchange: try directory.exchange("cur", name)
      case .twoRenames:
        try directory.move("cur", to: "old\(version)")
        try directory.move(name, to: "cur")
      }
      try await wait(for: "version \(version)") { list.snapshot.first?.version == version }
    }
    await list.flush()
    #expect(shown.versions.allSatisfy { $0.count <= 1 })
    await list.flush()
    #expect(shown.versions.suffix(switches + 1) == (0...switches).map { [$0] })
    // The initial contents may be empty.
    #expect(shown.all.count <= switches + 2)
    observation.dispose()
  }

  @Test func `files that come and go with a switch are part of its change`() async throws {
    try makeVersion(0, in: "rel0")
    try directory.link("cur", to: "rel0")
    let shown = Shown()
    let list = JSONFileDataSource<Entry>.files(matching: directory("cur/*.json"))
    let observation = list.observe { shown.note($0) }
    try await list.loaded()
    for version in 1...20 {
      try makeVersion(version, in: "rel\(version)", files: version % 2 == 0 ? 0..<20 : 5..<25)
      try directory.link("new", to: "rel\(version)")
      try directory.move("new", to: "cur")
      try await wait(for: "version \(version)") { list.snapshot.first?.version == version }
    }
    await list.flush()
    #expect(shown.versions.suffix(21) == (0...20).map { [$0] })
    #expect(list.count == 100)
    observation.dispose()
  }

  /// The kubelet switches a link, and then makes and removes the links of files that have come or gone.
  @Test func `no two versions of a ConfigMap are shown together`() async throws {
    let sets = [0..<3, 0..<2, 2..<5, 1..<3, 4..<6]
    try makeVersion(0, in: "v0", files: sets[0])
    try directory.link("data", to: "v0")
    try directory.makeDirectory("conf")
    for file in sets[0] { try directory.link("conf/f\(file).json", to: "../data/f\(file).json") }
    let shown = Shown()
    let list = JSONFileDataSource<Entry>.files(matching: directory("conf/*.json"))
    let observation = list.observe { shown.note($0) }
    try await list.loaded()
    for version in 1...25 {
      let (old, new) = (sets[(version - 1) % sets.count], sets[version % sets.count])
      try makeVersion(version, in: "v\(version)", files: new)
      try directory.link("next", to: "v\(version)")
      try directory.move("next", to: "data")
      for file in new where !old.contains(file) {
        try directory.link("conf/f\(file).json", to: "../data/f\(file).json")
      }
      for file in old where !new.contains(file) { try directory.remove("conf/f\(file).json") }
      try await wait(for: "version \(version)") {
        list.snapshot.count == new.count * 5 && list.snapshot.first?.version == version
      }
    }
    await list.flush()
    #expect(shown.versions.allSatisfy { $0.count <= 1 })
    observation.dispose()
  }

  @Test func `other files come at once when a directory is replaced in two steps`() async throws {
    let sets = [0..<3, 0..<1, 2..<5]
    try makeVersion(0, in: "conf", files: sets[0])
    let shown = Shown()
    let list = JSONFileDataSource<Entry>.files(matching: directory("conf/*.json"))
    let observation = list.observe { shown.note($0) }
    try await list.loaded()
    for version in 1...12 {
      let files = sets[version % sets.count]
      try makeVersion(version, in: "new", files: files)
      try directory.move("conf", to: "old\(version)")
      try directory.move("new", to: "conf")
      try await wait(for: "version \(version)") {
        list.snapshot.count == files.count * 5 && list.snapshot.first?.version == version
      }
    }
    await list.flush()
    #expect(shown.versions.suffix(13) == (0...12).map { [$0] })
    observation.dispose()
  }

  @Test func `saves during a switch do not mix the versions`() async throws {
    try makeVersion(0, in: "rel0")
    try directory.link("cur", to: "rel0")
    let shown = Shown()
    let list = JSONFileDataSource<Entry>.files(matching: directory("cur/*.json"))
    let observation = list.observe { shown.note($0) }
    try await list.loaded()
    for version in 1...20 {
      try makeVersion(version, in: "rel\(version)")
      try directory.link("new", to: "rel\(version)")
      // The save of the old version is read when the link may lead to the new one.
      try directory.write("[\(text("f3-", version - 1))]", to: "cur/f3.json")
      try directory.move("new", to: "cur")
      try await wait(for: "version \(version)") { list.snapshot.first?.version == version }
    }
    await list.flush()
    #expect(shown.versions.allSatisfy { $0.count <= 1 })
    observation.dispose()
  }

  @Test func `a temporary file that becomes another file is never shown`() async throws {
    try directory.write("[\(text("a", 1))]", to: "a.json")
    let shown = Shown()
    let list = JSONFileDataSource<Entry>.files(matching: directory("*.json"))
    let observation = list.observe { shown.note($0) }
    let statuses = list.observeStatus { status in shown.states.withLock { $0.append(status.state) }
    }
    try await list.loaded()
    for version in 2...11 {
      let file = try OpenFile(directory("a.tmp.json"), O_WRONLY | O_CREAT | O_TRUNC)
      try file.write("[\(text("a", version).dropLast(3))")
      await Task.yield()
      try file.write("\(text("a", version).suffix(3))]")
      try directory.move("a.tmp.json", to: "a.json")
      try await wait(for: "version \(version)") { list.snapshot.first?.version == version }
    }
    await list.flush()
    #expect(shown.versions.suffix(11) == (1...11).map { [$0] })
    let others = shown.states.withLock { $0 }.filter { $0 != .loaded && $0 != .loading }
    #expect(others == [])
    #expect(shown.all.count <= 12)
    observation.dispose()
    statuses.dispose()
  }

  @Test func `a new file enters the list when it is read`() async throws {
    try directory.write("[\(text("a", 1))]", to: "a.json")
    let shown = Shown()
    let list = JSONFileDataSource<Entry>.files(matching: directory("*.json"))
    let observation = list.observe { shown.note($0) }
    let statuses = list.observeStatus { status in shown.states.withLock { $0.append(status.state) }
    }
    try await list.loaded()
    shown.states.withLock { $0 = [] }
    let file = try OpenFile(directory("b.json"), O_WRONLY | O_CREAT | O_TRUNC)
    try file.write("[\(text("b", 1).dropLast(3))")
    await Task.yield()
    try file.write("\(text("b", 1).suffix(3))]")
    try await wait(for: "the new file") { list.count == 10 }
    try directory.write("[\(text("c", 1))]", to: ".c")
    try directory.move(".c", to: "c.json")
    try await wait(for: "the renamed file") { list.count == 15 }
    try directory.remove("a.json")
    try await wait(for: "the end of the first file") { list.count == 10 }
    await list.flush()
    #expect(shown.all.suffix(4).map(\.count) == [5, 10, 15, 10])
    #expect(shown.states.withLock { $0 }.allSatisfy { $0 == .loaded })
    observation.dispose()
    statuses.dispose()
  }

  @Test func `a file that stays malformed is shown as a failure, and the others stay`() async throws
  {
    try directory.write("[\(text("a", 1))]", to: "a.json")
    let list = JSONFileDataSource<Entry>.files(matching: directory("*.json"))
    let observation = list.observe { _ in }
    try await list.loaded()
    try directory.write("[{", to: "b.json")
    try await wait(for: "the failure") { list.status.error != nil }
    #expect(list.count == 5)
    try directory.write("[\(text("b", 1))]", to: "b.json")
    try await wait(for: "the repaired file") { list.count == 10 && list.status.error == nil }
    observation.dispose()
  }

  @Test func `files of lines are one list, too`() async throws {
    func line(_ version: Int) -> String { #"{"id": "\#(version)", "version": \#(version)}"# + "\n" }
    try directory.write(line(1), to: "a.jsonl")
    try directory.write(line(2), to: "b.jsonl")
    let list = JSONLinesDataSource<Entry>.files(matching: directory("*.jsonl"))
    let observation = list.observe { _ in }
    try await list.loaded()
    #expect(list.snapshot.map(\.version) == [1, 2])
    try OpenFile(directory("a.jsonl"), O_WRONLY | O_APPEND).write(line(3))
    try await wait(for: "the new line") { list.snapshot.map(\.version) == [1, 3, 2] }
    observation.dispose()
  }

  @Test func `a path without wildcards is a pattern, too`() async throws {
    let list = JSONFileDataSource<Entry>.files(matching: directory("a.json"))
    let observation = list.observe { _ in }
    try await list.loaded()
    #expect(list.isEmpty)
    try directory.write("[\(text("a", 1))]", to: "a.json")
    try await wait(for: "the file") { list.count == 5 }
    observation.dispose()
  }
}
