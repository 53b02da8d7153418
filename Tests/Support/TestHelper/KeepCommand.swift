import Dispatch
import Foundation
import Swappable
import SynchronizerStores
import Synchronizers

/// An element of the saved states.
private struct Kept: Codable, Hashable, Identifiable, Sendable, Differentiable {
  var id: Int
  var text: String
}

/// `keep KIND PATH`: saves states in a store at PATH of the kind `sqlite`, `file` or `mirror` until it
/// is killed.
///
/// It prints the number of each saved state. In state N, the text of each element is N, and each
/// list has 200 + N % 7 elements. A mirror keeps files.
func runKeepCommand(_ arguments: [String]) -> Int32 {
  guard arguments.count == 2 else {
    answer("error: keep needs a kind, sqlite, file or mirror, and a path")
    return 2
  }
  Task {
    do {
      switch arguments[0] {
      case "sqlite":
        try await keep(SQLiteSynchronizationStore<Kept, Int>(path: arguments[1], name: "kept"))
      case "mirror": try await mirror(into: arguments[1])
      default: try await keep(FileSynchronizationStore<Kept, Int>(path: arguments[1]))
      }
    } catch {
      answer("error: \(error)")
      exitHelper(1)
    }
  }
  dispatchMain()
}

private func keep(_ store: some SynchronizationStore<Kept, Int>) async throws {
  var number = try await store.load()?.version ?? 0
  while true {
    number += 1
    let list = Snapshot((0..<200 + number % 7).map { Kept(id: $0, text: "\(number)") })
    let push = SynchronizationState.PendingPush(
      id: "\(UInt64.random(in: 0 ... .max))", version: number, client: list, merged: list)
    try await store.save(
      SynchronizationState(
        client: list, shadow: list, version: number, push: number % 2 == 0 ? push : nil))
    answer("\(number)")
  }
}

/// A file of a mirror.
private struct Page: Hashable, Identifiable, Sendable, Differentiable {
  let id: ExactString
  var stamp: String
}

/// The list of a run.
private struct Pages: OneWayRemote {
  let list: [Page]

  func items() async throws -> [Page] { list }
  func content(of page: Page) async throws -> [UInt8] { Array("\(page.id) \(page.stamp)".utf8) }
}

/// Mirrors files whose names are the lines of a file beside the folder. From one run to the next, a fifth of them is
/// not listed, a third has other contents, and some become folders.
private func mirror(into path: String) async throws {
  let names = try String(contentsOfFile: path + ".names", encoding: .utf8).split(separator: "\n")
  let store = try DirectoryStore<Page>(path: path, stamp: { $0.stamp })
  let options = OneWaySynchronizer.Options(concurrency: 8, removalLimit: .none)
  var number = Int.random(in: 0..<1_000)
  while true {
    number += 1
    let list = names.enumerated().compactMap { offset, name -> Page? in
      if (offset * 31 + number * 17) % 5 == 0 { return nil }
      let isFolder = offset % 7 == 0 && (offset + number) % 2 == 0
      return Page(
        id: ExactString(isFolder ? name + "/in it" : String(name)),
        stamp: "\((offset + number) / 3)")
    }
    try await OneWaySynchronizer(from: Pages(list: list), to: store, options: options).sync()
    answer("\(number)")
  }
}
