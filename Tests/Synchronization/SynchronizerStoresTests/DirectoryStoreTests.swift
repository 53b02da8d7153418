import DataSourceTesting
import Diffing
import Foundation
import ObservableCollections
import SwappableSources
import SynchronizerStores
import Synchronizers
import TestSupport
import Testing

@Suite struct DirectoryStoreTests {
  private let directory: TemporaryDirectory
  private var path: String { directory("pages") }

  init() throws { directory = try TemporaryDirectory() }

  private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

  private var index: String { directory(".pages.store/index.jsonl") }

  private func ownNames() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: directory(".pages.store")).sorted()
  }

  private func names() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: path).sorted()
  }

  @Test func `contents survive reopening`() async throws {
    do {
      let store = try PageStore.make(path)
      for key in ["one", "two", "Three"] {
        try await store.store(bytes("content of \(key)"), of: Page(id: ExactString(key)))
      }
      #expect(try store.contents(forKey: "two") == bytes("content of two"))
      #expect(try store.contents(forKey: "none") == nil)
    }
    #expect(try names() == ["Three", "one", "two"])
    let store = try PageStore.make(path)
    #expect(try await store.keys() == ["one", "two", "Three"])
    #expect(try store.contents(forKey: "Three") == bytes("content of Three"))
    #expect(store.snapshot.map(\.key) == ["one", "two", "Three"])
    #expect(store.status == .loaded)
  }

  @Test func `a plain key type needs no closures`() async throws {
    struct Number: Hashable, Identifiable, Sendable, Differentiable { var id: Int }
    do {
      let store = try DirectoryStore<Number>(path: path, stamp: { _ in "1" })
      try await store.store([1, 2], of: Number(id: -7))
    }
    let store = try DirectoryStore<Number>(path: path, stamp: { _ in "1" })
    #expect(try await store.keys() == [-7])
    #expect(try names() == ["-7"])
  }

  @Test func `an item with another stamp or without a file is outdated`() async throws {
    let store = try PageStore.make(path)
    #expect(try await store.isOutdated(Page(id: "a")))
    try await store.store([1], of: Page(id: "a", stamp: "x"))
    #expect(try await !store.isOutdated(Page(id: "a", stamp: "x")))
    #expect(try await store.isOutdated(Page(id: "a", stamp: "y")))
    #expect(try await store.isOutdated(Page(id: "a", stamp: nil)))
    try await store.store([1], of: Page(id: "b", stamp: nil))
    #expect(try await store.isOutdated(Page(id: "b", stamp: nil)))
    // Stamps are compared by their bytes, too.
    try await store.store([1], of: Page(id: "c", stamp: "\u{E9}"))
    #expect(try await store.isOutdated(Page(id: "c", stamp: "e\u{301}")))
    try directory.remove("pages/a")
    #expect(try await store.isOutdated(Page(id: "a", stamp: "x")))
  }

  @Test func `a run is one change in the order of the remote`() async throws {
    let store = try PageStore.make(path)
    let container = SwappableContainer(store)
    let recorder = RecordingObserver(container)
    let pages = ["c", "a", "b"].map { Page(id: ExactString($0)) }
    for page in pages.reversed() { try await store.store([1], of: page) }
    #expect(recorder.events.count == 1)
    try await store.finish(pages)
    #expect(recorder.events.count == 2)
    #expect(container.snapshot.map(\.key) == ["c", "a", "b"])
    // Equal contents are no change. Other contents are an update.
    try await store.store([1], of: pages[1])
    try await store.finish(pages)
    #expect(recorder.events.count == 2)
    try await store.store([2], of: pages[1])
    try await store.remove(["c"])
    try await store.finish([pages[2], pages[1]])
    #expect(recorder.events.count == 3)
    #expect(container.snapshot.map(\.key) == ["b", "a"])
    #expect(container.snapshot.map(\.path) == [directory("pages/b"), directory("pages/a")])
    try recorder.check(against: container)
  }

  @Test func `a failed run publishes its completed work`() async throws {
    let store = try PageStore.make(path)
    try await store.store([1], of: Page(id: "a"))
    try await store.finish(nil)
    #expect(store.snapshot.map(\.key) == ["a"])
  }

  @Test func `the order survives reopening`() async throws {
    let keys: [ExactString] = ["e", "a", "d", "b", "c"]
    do {
      let store = try PageStore.make(path)
      for key in keys.sorted() { try await store.store([1], of: Page(id: key)) }
      try await store.finish(keys.map { Page(id: $0) })
    }
    #expect(try PageStore.make(path).snapshot.map(\.key) == keys)
  }

  @Test func `a run without changes writes nothing`() async throws {
    let crash = Crash(after: .max)
    do {
      let store = try PageStore.make(path, hook: crash.hook)
      try await store.store([1], of: Page(id: "a"))
      try await store.finish([Page(id: "a")])
    }
    // Each change of the disk would fail.
    let store = try PageStore.make(path, hook: Crash(after: 0).hook)
    #expect(try await store.keys() == ["a"])
    #expect(try await !store.isOutdated(Page(id: "a")))
    try await store.finish([Page(id: "a")])
  }

  @Test func `previews are not contents`() async throws {
    do {
      let store = try PageStore.make(path)
      try await store.storePreview(bytes("small"), of: Page(id: "a"))
      try await store.storePreview(bytes("small"), of: Page(id: "b"))
      #expect(try await store.keys() == [])
      #expect(try store.contents(forKey: "a") == nil)
      #expect(try store.preview(forKey: "a") == bytes("small"))
      #expect(try await store.isOutdated(Page(id: "a")))
      try await store.finish([Page(id: "a")])
      #expect(try store.preview(forKey: "b") == nil)
      #expect(store.snapshot.isEmpty)
      try await store.store(bytes("large"), of: Page(id: "a"))
      #expect(try store.preview(forKey: "a") == bytes("small"))
      try await store.storePreview(bytes("lost"), of: Page(id: "c"))
    }
    let store = try PageStore.make(path)
    #expect(try store.preview(forKey: "a") == bytes("small"))
    #expect(try store.preview(forKey: "c") == nil)
    try await store.remove(["a"])
    #expect(try store.preview(forKey: "a") == nil)
    #expect(try names() == [] && ownNames() == ["index.jsonl"])
  }

  @Test func `a folder is created and has one store`() async throws {
    let deep = directory("a/b/c")
    do {
      let store = try PageStore.make(deep)
      #expect(store.path == deep)
      let error = await storeError { _ = try PageStore.make(directory("a/../a/b/c")) }
      #expect(error?.code == .inUse)
      try await store.store([1], of: Page(id: "x"))
    }
    #expect(try await PageStore.make(deep).keys() == ["x"])
  }

  @Test func `a path that cannot be a store is an error and stays unchanged`() async throws {
    try directory.write("text", to: "file")
    let error = await storeError { _ = try PageStore.make(directory("file")) }
    #expect(error?.code == .notAFolder)
    #expect(
      error?.description
        == "cannot create the folder: \(directory("file")) (File exists); use the path of a folder"
    )

    let cases: [(String, StoreError.Code)] = [
      ("", .foreign), ("hello\n", .foreign), ("{}\n", .foreign),
      (#"{"format":"swappable.directory","version":2,"count":0}"# + "\n", .newer),
    ]
    try directory.makeDirectory(".pages.store")
    for (text, code) in cases {
      try directory.write(text, to: ".pages.store/index.jsonl")
      #expect(await storeError { _ = try PageStore.make(path) }?.code == code)
      #expect(try String(contentsOfFile: index, encoding: .utf8) == text)
    }
    try directory.remove(".pages.store/index.jsonl")
    try directory.link(".pages.store/index.jsonl", to: directory("file"))
    #expect(await storeError { _ = try PageStore.make(path) }?.code == .notAFile)
    #expect(try String(contentsOfFile: directory("file"), encoding: .utf8) == "text")
  }

  @Test func `keys of another type are an error`() async throws {
    struct Number: Hashable, Identifiable, Sendable, Differentiable { var id: Int }
    do {
      try await PageStore.make(path).store([1], of: Page(id: "no number"))
    }
    let error = await storeError { _ = try DirectoryStore<Number>(path: path, stamp: { _ in nil }) }
    #expect(error?.code == .foreign)
    #expect(try await PageStore.make(path).keys() == ["no number"])
  }

  @Test func `the folder of the store's own files can be chosen`() async throws {
    do {
      let store = try DirectoryStore<Page>(
        path: path, state: directory("state"), text: { $0.string }, key: { ExactString($0) },
        stamp: { $0.stamp })
      try await store.store([1], of: Page(id: ".pages.store/index.jsonl"))
      let error = await storeError { _ = try PageStore.make(path) }
      #expect(error?.code == .inUse && error?.path == path)
      let other = await storeError {
        _ = try PageStore(
          path: directory("other"), state: directory("state"), text: { $0.string },
          key: { ExactString($0) }, stamp: { $0.stamp })
      }
      #expect(other?.code == .inUse && other?.path == directory("state"))
    }
    #expect(try Set(directory.names) == ["pages", "state", "other", ".pages.store"])
    #expect(try names() == [".pages.store"])
    for inside in ["pages", "pages/state", "link"] {
      if inside == "link" { try directory.link(inside, to: path) }
      let error = await storeError {
        _ = try PageStore(
          path: path, state: directory(inside), text: { $0.string }, key: { ExactString($0) },
          stamp: { $0.stamp })
      }
      #expect(error?.code == .foreign, "\(inside)")
    }
  }

  @Test func `the store never writes through symbolic or hard links`() async throws {
    try directory.makeDirectory("outside")
    try directory.write("precious", to: "outside/file")
    do {
      let store = try PageStore.make(path)
      try await store.store([1], of: Page(id: "a"))
      try await store.storePreview([1], of: Page(id: "a"))
      try await store.finish([Page(id: "a")])
    }
    // Put links at the names of previews, new files and the index.
    for name in try ownNames() where name.hasPrefix("preview-") {
      try directory.remove(".pages.store/" + name)
      try directory.link(".pages.store/" + name, to: directory("outside/file"))
    }
    for name in ["new-1", "new-2", "index.new"] {
      try directory.link(".pages.store/" + name, to: directory("outside/file"))
    }
    try directory.hardLink(".pages.store/index.jsonl", as: "outside/index")
    let kept = try Data(contentsOf: URL(fileURLWithPath: directory("outside/index")))
    do {
      let store = try PageStore.make(path)
      #expect(await storeError { _ = try store.preview(forKey: "a") }?.code == .notAFile)
      for key: ExactString in ["a", "b", "c"] {
        try await store.storePreview(bytes("preview"), of: Page(id: key))
        try await store.store(bytes(key.string), of: Page(id: key))
      }
      try await store.finish(nil)
      try await store.remove(["b"])
      #expect(try store.contents(forKey: "a") == bytes("a"))
      #expect(try store.preview(forKey: "a") == bytes("preview"))
    }
    #expect(try String(contentsOfFile: directory("outside/file"), encoding: .utf8) == "precious")
    #expect(try Data(contentsOf: URL(fileURLWithPath: directory("outside/index"))) == kept)
  }

  @Test(arguments: ["nothing", "pipe", "hard link"])
  func `a file in place of the open index is replaced`(kind: String) async throws {
    try directory.write("precious", to: "precious")
    do {
      let store = try PageStore.make(path)
      try await store.store([1], of: Page(id: "a"))
      try directory.remove(".pages.store/index.jsonl")
      switch kind {
      case "pipe": #expect(mkfifo(index, 0o600) == 0)
      case "hard link": try directory.hardLink("precious", as: ".pages.store/index.jsonl")
      default: break
      }
      try await store.store([3], of: Page(id: "b"))
    }
    #expect(try String(contentsOfFile: directory("precious"), encoding: .utf8) == "precious")
    let store = try PageStore.make(path)
    #expect(try store.contents(forKey: "a") == [1])
    #expect(try store.contents(forKey: "b") == [3])
  }

  @Test func `a store without its index begins again`() async throws {
    do {
      let store = try PageStore.make(path)
      try await store.store([1], of: Page(id: "a"))
    }
    // A crash leaves such files.
    for number in 1...3 { try directory.write("half", to: ".pages.store/new-\(number)") }
    try directory.remove(".pages.store/index.jsonl")
    let store = try PageStore.make(path)
    try await store.store([2], of: Page(id: "b"))
    // The store does not know its own file, unless the bytes are the same.
    #expect(await storeError { try await store.store([3], of: Page(id: "a")) }?.code == .foreign)
    try await store.store([1], of: Page(id: "a"))
    #expect(try store.contents(forKey: "a") == [1])
    #expect(try ownNames() == ["index.jsonl"])
  }

  @Test func `a changed file is outdated, and returns under its name`() async throws {
    do {
      let store = try PageStore.make(path)
      try await store.store(bytes("content"), of: Page(id: "a"))
      try await store.finish([Page(id: "a")])
    }
    try directory.write("changed by hand", to: "pages/a")
    // It stays a file of the store, whatever happens before the next run.
    for _ in 1...2 {
      let store = try PageStore.make(path)
      try await store.finish(nil)
      try await store.store(bytes("content"), of: Page(id: "b"))
    }
    let store = try PageStore.make(path)
    #expect(try await store.keys() == ["a", "b"])
    #expect(try await store.isOutdated(Page(id: "a")))
    #expect(try store.contents(forKey: "a") == nil)
    try await store.remove(["b"])
    try await store.store(bytes("content"), of: Page(id: "a"))
    // An item that is listed twice is shown once.
    try await store.finish([Page(id: "a"), Page(id: "a")])
    #expect(store.snapshot.map(\.path) == [directory("pages/a")])
    #expect(try names() == ["a"])
  }

  @Test func `a changed file that is not listed is removed`() async throws {
    do {
      let store = try PageStore.make(path)
      try await store.store(bytes("content"), of: Page(id: "a"))
      try await store.finish(nil)
    }
    try directory.write("changed by hand", to: "pages/a")
    let store = try PageStore.make(path)
    let pages = [Page(id: "a/b")]
    let outcome = try await OneWaySynchronizer(from: PageRemote(pages), to: store).sync()
    #expect(outcome.removedKeys == ["a"] && outcome.refusedKeys == [])
    #expect(try directory.files(below: "pages").keys.map(\.string) == ["a/b"])
  }

  @Test func `a name that another program took from a removed file is not overwritten`()
    async throws
  {
    do {
      let store = try PageStore.make(path)
      try await store.store(bytes("content"), of: Page(id: "a"))
      try await store.finish(nil)
    }
    try directory.remove("pages/a")
    let store = try PageStore.make(path)
    try directory.write("theirs", to: "pages/a")
    #expect(await storeError { try await store.store([1], of: Page(id: "a")) }?.code == .foreign)
    #expect(try directory.files(below: "pages") == ["a": "theirs"])
  }

  @Test func `a folder in use is no folder for the store's own files`() async throws {
    try directory.makeDirectory(".pages.store")
    for name in ["new-ideas.txt", "preview-1.png", "notes"] {
      try directory.write("theirs", to: ".pages.store/" + name)
      let error = await storeError { _ = try PageStore.make(path) }
      #expect(error?.code == .foreign && error?.message.contains(name) == true)
      #expect(try ownNames() == [name])
      try directory.remove(".pages.store/" + name)
    }
    _ = try PageStore.make(path)
  }

  @Test func `an error of the whole store is no refusal`() async throws {
    let store = try PageStore.make(path)
    try directory.remove(".pages.store/index.jsonl")
    try directory.makeDirectory(".pages.store/index.new/x")
    let pages = ["a", "b"].map { Page(id: ExactString($0)) }
    await #expect(throws: OneWayError.self) {
      try await OneWaySynchronizer(from: PageRemote(pages), to: store).sync()
    }
  }

  @Test func `an index cannot name files outside of the folder`() async throws {
    try directory.write("secret", to: "secret")
    do {
      try await PageStore.make(path).store(bytes("secret"), of: Page(id: "a"))
    }
    let text = try String(contentsOfFile: index, encoding: .utf8)
    for name in ["../secret", "/etc/passwd", ".", "..", "x/../../secret", ""] {
      // Write a correct checksum, as an attacker would.
      let first = try #require(text.split(separator: "\n").first)
      var line = try #require(text.split(separator: "\n").last.map(String.init))
      line = line.replacingOccurrences(of: #""key":"a""#, with: "\"key\":\"\(name)\"")
      let body = line.utf8.dropFirst(28)
      var sum: UInt64 = 0xcbf2_9ce4_8422_2325
      for byte in body { sum = (sum ^ UInt64(byte)) &* 0x100_0000_01b3 }
      let digits = String(
        String(String(sum, radix: 16).reversed()).padding(
          toLength: 16, withPad: "0", startingAt: 0
        ).reversed())
      line = "{\"check\":\"\(digits)\"," + String(decoding: body, as: UTF8.self)
      try directory.write("\(first)\n\(line)\n", to: ".pages.store/index.jsonl")
      let store = try PageStore.make(path)
      #expect(try await store.keys() == [], "\(name)")
      #expect(try store.contents(forKey: ExactString(name)) == nil)
      try await store.finish([])
    }
    #expect(try String(contentsOfFile: directory("secret"), encoding: .utf8) == "secret")
  }

  @Test func `a damaged index never gives a key the content of another key`() async throws {
    let keys = (0..<3).map { ExactString("key\($0)") }
    do {
      let store = try PageStore.make(path)
      // All contents have one length, so only the names distinguish them.
      for key in keys { try await store.store(bytes("content \(key)"), of: Page(id: key)) }
      try await store.finish(keys.prefix(2).map { Page(id: $0) })
      try await store.store(bytes("Content key1"), of: Page(id: "key1", stamp: "2"))
      try await store.remove(["key2"])
    }
    let good = try [UInt8](Data(contentsOf: URL(fileURLWithPath: index)))
    let files = try names().map { name in
      (name, try Data(contentsOf: URL(fileURLWithPath: path + "/" + name)))
    }
    func check(_ bytes: [UInt8], _ what: String, isWhole: Bool = true) async throws {
      for (name, data) in files { try data.write(to: URL(fileURLWithPath: path + "/" + name)) }
      try Data(bytes).write(to: URL(fileURLWithPath: index))
      guard let store = try? PageStore.make(path) else { return }
      for key in try await store.keys() {
        // A file that does not fit the index is outdated.
        guard let content = try store.contents(forKey: key) else { continue }
        let isRight =
          key == "key1"
          ? content == self.bytes("Content key1") || content == self.bytes("content key1")
          : keys.contains(key) && content == self.bytes("content \(key)")
        try #require(isRight, "\(what): \(key) has \(content)")
        // Missing lines cannot be detected.
        if key == "key1", isWhole {
          let isNew = content == self.bytes("Content key1")
          try #require(try await store.isOutdated(Page(id: key, stamp: isNew ? "1" : "2")))
        }
      }
    }
    try await check(good, "whole")
    for length in good.indices {
      try await check(Array(good[..<length]), "length \(length)", isWhole: false)
    }
    for offset in good.indices {
      var bytes = good
      bytes[offset] ^= 1 << (offset % 7)
      try await check(bytes, "byte \(offset)")
    }
  }
}
