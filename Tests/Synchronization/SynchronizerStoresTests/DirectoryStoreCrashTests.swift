import DataSourceTesting
import Diffing
import Foundation
import ObservableCollections
import SynchronizerStores
import Synchronizers
import TestSupport
import Testing

@Suite struct DirectoryStoreCrashTests {
  private let directory: TemporaryDirectory
  private var path: String { directory("pages") }

  init() throws { directory = try TemporaryDirectory() }

  private func content(_ key: ExactString, _ stamp: String) -> [UInt8] {
    // All contents have one length.
    Array("\(key) at \(stamp)".utf8)
  }

  /// The required and the possible contents of each key.
  private struct Truth {
    var isSure: [ExactString: String] = [:]
    var isPossible: [ExactString: Set<String>] = [:]
  }

  private func check(_ truth: Truth, _ what: String) async throws {
    let store = try PageStore.make(path)
    for key in try await store.keys() {
      let bytes = try #require(try store.contents(forKey: key), "\(what): \(key) has no file")
      let stamps = truth.isPossible[key] ?? []
      let stamp = try #require(
        stamps.first { content(key, $0) == bytes },
        "\(what): \(key) has \(String(decoding: bytes, as: UTF8.self))")
      if let sure = truth.isSure[key] { try #require(stamp == sure, "\(what): \(key)") }
      // The stamp of the entry matches its content.
      let entry = try #require(store.snapshot.first { $0.key == key })
      try #require(entry.stamp == stamp, "\(what): \(key)")
    }
    for (key, stamp) in truth.isSure {
      try #require(try store.contents(forKey: key) == content(key, stamp), "\(what): \(key)")
      try #require(try await !store.isOutdated(Page(id: key, stamp: stamp)))
    }
    // The store works, and no temporary file is left.
    let pages = ["a", "b", "long/c", "long/new", "new"].map {
      Page(id: ExactString($0), stamp: "9")
    }
    try await store.remove(try await store.keys().subtracting(pages.map(\.id)))
    for page in pages where try await store.isOutdated(page) {
      try await store.store(content(page.id, "9"), of: page)
    }
    try await store.finish(pages)
    for page in pages { #expect(try store.contents(forKey: page.id) == content(page.id, "9")) }
    #expect(
      try directory.files(below: "pages").keys.map(\.string).sorted() == [
        "a", "b", "long/c", "long/new", "new",
      ], "\(what)")
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: directory(".pages.store")).filter {
        !$0.hasPrefix("preview-")
      } == ["index.jsonl"], "\(what)")
  }

  /// Performs all kinds of operations, and updates the truth before and after each one.
  private func work(_ hook: @escaping FileHook, _ truth: inout Truth) async throws {
    let store = try PageStore.make(path, hook: hook)
    func put(_ key: ExactString, _ stamp: String, _ truth: inout Truth) async throws {
      truth.isSure[key] = nil
      truth.isPossible[key, default: []].insert(stamp)
      let page = Page(id: key, stamp: stamp)
      try await store.storePreview([1], of: page)
      try await store.store(content(key, stamp), of: page)
      truth.isSure[key] = stamp
      truth.isPossible[key] = [stamp]
    }
    try await put("a", "2", &truth)
    try await put("b", "1", &truth)
    truth.isSure["gone/deep"] = nil
    try await store.remove(["gone/deep"])
    truth.isPossible["gone/deep"] = nil
    try await put("long/c", "1", &truth)
    try await store.finish(["long/c", "b", "a"].map { Page(id: $0) })
    try await put("long/c", "2", &truth)
    try await put("gone/deep", "3", &truth)
    try await store.finish(nil)
  }

  @Test(arguments: [false, true])
  func `a crash at any step loses no stored item`(isTearing: Bool) async throws {
    for step in 0..<400 {
      try? directory.remove("pages")
      try? directory.remove(".pages.store")
      var truth = Truth()
      do {
        let store = try PageStore.make(path)
        for key: ExactString in ["a", "gone/deep"] {
          try await store.store(content(key, "1"), of: Page(id: key, stamp: "1"))
          truth.isSure[key] = "1"
          truth.isPossible[key] = ["1"]
        }
        try await store.finish(nil)
      }
      let crash = Crash(after: step, isTearing: isTearing)
      do {
        try await work(crash.hook, &truth)
      } catch is StoreError {}
      try await check(truth, "after \(step) steps")
      if !crash.hasHappened { return }
    }
    Issue.record("the work has no end")
  }

  @Test func `a crash during an update keeps the old content`() async throws {
    for step in 0..<40 {
      try? directory.remove("pages")
      try? directory.remove(".pages.store")
      do {
        let store = try PageStore.make(path)
        try await store.store(content("a", "1"), of: Page(id: "a", stamp: "1"))
        try await store.finish(nil)
      }
      let crash = Crash(after: step)
      do {
        let store = try PageStore.make(path, hook: crash.hook)
        try await store.store(content("a", "2"), of: Page(id: "a", stamp: "2"))
      } catch is StoreError {}
      let store = try PageStore.make(path)
      let stamp = try #require(store.snapshot.first?.stamp, "after \(step) steps")
      #expect(try store.contents(forKey: "a") == content("a", stamp))
      if !crash.hasHappened { return }
    }
    Issue.record("the work has no end")
  }

  @Test func `an interrupted removal is completed beside a name in other case`() async throws {
    for step in 0..<20 {
      try? directory.remove("pages")
      try? directory.remove(".pages.store")
      do {
        let store = try PageStore.make(path)
        for key: ExactString in ["NAME", "name"] {
          try await store.store([1, 2, 3], of: Page(id: key))
        }
        try await store.finish(nil)
      }
      do {
        let store = try PageStore.make(path, hook: Crash(after: step).hook)
        try? await store.remove(["name"])
      }
      let keys = try await PageStore.make(path).keys()
      #expect(keys.contains("NAME"))
      #expect(try Set(directory.files(below: "pages").keys) == keys, "after \(step) steps")
    }
  }

  @Test func `a full disk loses no stored item`() async throws {
    for step in 0..<400 {
      try? directory.remove("pages")
      try? directory.remove(".pages.store")
      var truth = Truth()
      let fault = Fault(after: step)
      let error = await storeError { try await work(fault.hook, &truth) }
      if fault.hasHappened {
        let error = try #require(error, "after \(step) steps")
        #expect(error.code == .full)
        #expect(error.description.contains("pages"))
      }
      try await check(truth, "after \(step) steps")
      if !fault.hasHappened { return }
    }
    Issue.record("the work has no end")
  }

  @Test func `a store continues after a full disk`() async throws {
    for step in 1..<40 {
      try? directory.remove("pages")
      try? directory.remove(".pages.store")
      let fault = Fault(after: step)
      guard let store = try? PageStore.make(path, hook: fault.hook) else { continue }
      var failures = 0
      for round in 1...3 {
        for key: ExactString in ["a", "b", "c"] {
          let page = Page(id: key, stamp: "\(round)")
          let error = await storeError { try await store.store(content(key, "\(round)"), of: page) }
          if error != nil {
            failures += 1
            try #require(try await store.isOutdated(page), "after \(step) steps")
            try await store.store(content(key, "\(round)"), of: page)
          }
          try #require(try await !store.isOutdated(page), "after \(step) steps")
          try #require(try store.contents(forKey: key) == content(key, "\(round)"))
        }
        do {
          try await store.finish(["c", "b", "a"].map { Page(id: $0) })
        } catch is StoreError {
          failures += 1
        }
        try #require(store.snapshot.map(\.key) == ["c", "b", "a"])
      }
      #expect(failures == (fault.hasHappened ? 1 : 0), "after \(step) steps")
      if !fault.hasHappened { return }
    }
  }
}
