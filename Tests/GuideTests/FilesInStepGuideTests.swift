import Foundation
import Swappable
import Synchronizers
import TestSupport
import Testing

struct Entry: Codable, Hashable, Identifiable, Sendable, Differentiable {
  let id: String
  var title: String
  var isDone = false
}

/// The file of one person, the file of all, and the last contents that both had in common.
struct FilesInStep {
  let mine: URL
  let shared: URL
  let base: URL

  /// Merges the files after each change of one of them, until the task is canceled.
  func run() async {
    let own = JSONFileDataSource<Entry>(path: mine.path)
    let common = JSONFileDataSource<Entry>(path: shared.path)
    for await _ in own.concatenated(with: common).events() {
      do {
        for resolved in try merge() { print(resolved) }
      } catch {
        print("not merged: \(error)")
      }
    }
  }

  /// Merges the files once, and returns the conflicts about contents.
  func merge() throws -> [MergeConflict<Entry>.Resolved] {
    let lock = open(shared.path + ".lock", O_CREAT | O_RDWR | O_CLOEXEC, 0o666)
    defer { close(lock) }
    guard flock(lock, LOCK_EX) == 0 else { throw CocoaError(.fileLocking) }
    let isFirst = !FileManager.default.fileExists(atPath: base.path)
    let (before, here, there) = (isFirst ? [] : try read(base), try read(mine), try read(shared))
    let merge = ThreeWayMerge(base: before, mine: here, theirs: there, resolve: Self.resolve)
    if there != merge.merged { try write(merge.merged, to: shared) }
    // If an editor has saved the file in the meantime, this change starts the next merge.
    if try read(mine) == here {
      if here != merge.merged { try write(merge.merged, to: mine) }
      if before != merge.merged { try write(merge.merged, to: base) }
    }
    return merge.conflicts.filter { $0.conflict.kind != .moved }
  }

  /// Takes each field from the side that edited it. An edit survives a deletion.
  static func resolve(_ conflict: MergeConflict<Entry>) -> MergeConflict<Entry>.Resolution {
    guard let mine = conflict.mine else { return .theirs }
    guard var merged = conflict.theirs else { return .mine }
    if merged.title == conflict.base?.title { merged.title = mine.title }
    if merged.isDone == conflict.base?.isDone { merged.isDone = mine.isDone }
    return .merged(merged)
  }

  private func read(_ file: URL) throws -> [Entry] {
    try JSONDecoder().decode([Entry].self, from: Data(contentsOf: file))
  }

  private func write(_ entries: [Entry], to file: URL) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    try encoder.encode(entries).write(to: file, options: .atomic)
  }
}

/// Tests of the recipe "Keep two files in step" in the guide "Differential synchronization".
@Suite(.timeLimit(.minutes(10))) struct FilesInStepGuideTests {
  private let directory: TemporaryDirectory
  private let ada: FilesInStep
  private let ben: FilesInStep

  init() throws {
    directory = try TemporaryDirectory()
    func files(_ name: String, _ directory: TemporaryDirectory) -> FilesInStep {
      let urls = [name, "shared", "\(name)-base"].map {
        URL(fileURLWithPath: directory("\($0).json"))
      }
      return FilesInStep(mine: urls[0], shared: urls[1], base: urls[2])
    }
    (ada, ben) = (files("ada", directory), files("ben", directory))
    try save([], to: ada.shared)
    try save([], to: ada.mine)
    try save([], to: ben.mine)
  }

  /// The beginning of a program of the guide.
  private func runAda(_ folder: (String) -> URL) async {
    let ada = FilesInStep(mine: folder("ada"), shared: folder("shared"), base: folder("ada-base"))
    await ada.run()
  }

  private func save(_ entries: [Entry], to file: URL) throws {
    try JSONEncoder().encode(entries).write(to: file, options: .atomic)
  }

  private func entries(_ file: URL) throws -> [Entry] {
    try JSONDecoder().decode([Entry].self, from: Data(contentsOf: file))
  }

  private static let tea = Entry(id: "1", title: "Tea")
  private static let milk = Entry(id: "2", title: "Milk")

  @Test func `edits of two persons are merged field by field`() throws {
    try save([Self.tea, Self.milk], to: ada.mine)
    #expect(try ada.merge().isEmpty && ben.merge().isEmpty)
    #expect(try entries(ben.mine) == [Self.tea, Self.milk])

    try save([Entry(id: "1", title: "Green tea"), Self.milk], to: ada.mine)
    try save([Entry(id: "1", title: "Tea", isDone: true)], to: ben.mine)
    #expect(try ada.merge().isEmpty)
    let conflicts = try ben.merge().map(\.description)
    #expect(
      conflicts == [
        #"conflict at "1": both sides edited it (title is "Tea" in mine and "Green tea" in theirs, "#
          + "isDone is true in mine and false in theirs); the merged value wins"
      ])
    #expect(try ada.merge().isEmpty)
    let merged = [Entry(id: "1", title: "Green tea", isDone: true)]
    for file in [ada.mine, ada.shared, ada.base, ben.mine, ben.base] {
      #expect(try entries(file) == merged)
    }
  }

  @Test(arguments: 0...3)
  func `a merge that was interrupted after some of its writes is repeated`(writes: Int) throws {
    let before = [Self.tea, Self.milk, Entry(id: "3", title: "Honey")]
    let here = [Entry(id: "4", title: "Bread"), Entry(id: "1", title: "Green tea"), Self.milk]
    let there = [
      Entry(id: "1", title: "Tea", isDone: true), Entry(id: "3", title: "Honey", isDone: true),
      Entry(id: "5", title: "Rice"),
    ]
    let merge = ThreeWayMerge(
      base: before, mine: here, theirs: there, resolve: FilesInStep.resolve)
    let contents = [(ada.shared, there), (ada.mine, here), (ada.base, before)]
    for (number, (file, contents)) in contents.enumerated() {
      try save(number < writes ? merge.merged : contents, to: file)
    }
    _ = try ada.merge()
    for (file, _) in contents { #expect(try entries(file) == merge.merged) }
    #expect(
      merge.merged.map(\.title) == ["Bread", "Green tea", "Honey", "Rice"])
    #expect(merge.merged.map(\.isDone) == [false, true, true, false])
  }

  @Test
  func `a merge with its own result has the same entries, and is final if both sides have it`() {
    let orders = permutations(["1", "2", "3", "4"]).map { $0.map { Entry(id: $0, title: $0) } }
    for mine in orders {
      for theirs in orders {
        let merged = ThreeWayMerge(base: orders[0], mine: mine, theirs: theirs).merged
        let repeated = ThreeWayMerge(base: orders[0], mine: mine, theirs: merged).merged
        // If both sides moved entries, the order can differ.
        #expect(repeated.map(\.id).sorted() == ["1", "2", "3", "4"])
        #expect(mine != orders[0] || repeated == merged)
        #expect(ThreeWayMerge(base: orders[0], mine: merged, theirs: merged).merged == merged)
      }
    }
  }

  private func permutations(_ names: [String]) -> [[String]] {
    if names.isEmpty { return [[]] }
    return names.flatMap { first in
      permutations(names.filter { $0 != first }).map { [first] + $0 }
    }
  }

  @Test func `a missing shared file deletes nothing`() throws {
    try save([Self.tea], to: ada.mine)
    _ = try ada.merge()
    try FileManager.default.removeItem(at: ada.shared)
    #expect(throws: (any Error).self) { try ada.merge() }
    #expect(try entries(ada.mine) == [Self.tea])
  }

  @Test func `each saved change reaches the other file`() async throws {
    let tasks = [ada, ben].map { files in Task { await files.run() } }
    func wait(for titles: [String], in file: URL) async {
      let list = JSONFileDataSource<Entry>(path: file.path)
      for await contents in list.snapshots() where contents.map(\.title) == titles { break }
    }
    try save([Self.tea], to: ada.mine)
    await wait(for: ["Tea"], in: ben.mine)
    try save([Self.tea, Self.milk], to: ben.mine)
    await wait(for: ["Tea", "Milk"], in: ada.mine)
    for task in tasks {
      task.cancel()
      await task.value
    }
  }
}
