import DataSourceTesting
import Diffing
import Foundation
import ObservableCollections
import SwappableSources
import Synchronizers
import TestSupport
import Testing

@testable import SynchronizerStores

@Suite struct DirectorySynchronizationTests {
  private let directory: TemporaryDirectory
  private var path: String { directory("pages") }

  init() throws { directory = try TemporaryDirectory() }

  @Test func `a run into a directory feeds a container`() async throws {
    let remote = PageRemote([])
    let keys: [ExactString] = ["b", "sub/a", "\u{E9}", "e\u{301}", "-", "B"]
    remote.pages.value = keys.map { Page(id: $0) }
    weak var firstStore: PageStore?
    do {
      let store = try PageStore.make(path)
      firstStore = store
      let container = SwappableContainer(store.filter { $0.key.string != "-" })
      let recorder = RecordingObserver(container)
      let synchronizer = OneWaySynchronizer(
        from: remote, to: store, options: OneWaySynchronizer.Options(downloadsPreview: true))
      try await synchronizer.sync()
      #expect(container.snapshot.map(\.key) == keys.filter { $0.string != "-" })
      #expect(recorder.events.count == 2)
      #expect(remote.downloads.value.count == keys.count)

      // Without changes, there are no downloads and no events.
      try await synchronizer.sync()
      #expect(recorder.events.count == 2)
      #expect(remote.downloads.value.count == keys.count)

      remote.pages.value = [keys[3], keys[0], "new"].map { Page(id: $0) }
      remote.pages.modify { $0[1].stamp = "2" }
      try await synchronizer.sync()
      #expect(container.snapshot.map(\.key) == [keys[3], keys[0], "new"])
      #expect(remote.downloads.value.dropFirst(keys.count).sorted() == ["b", "new"])
      #expect(recorder.events.count == 3)
      try recorder.check(against: container)
    }
    try await wait(for: "the end of the run's task, which holds the store") { firstStore == nil }
    let store = try PageStore.make(path)
    for page in remote.pages.value {
      #expect(try store.contents(forKey: page.id) == PageRemote.content(page))
      #expect(try store.preview(forKey: page.id) == Array(PageRemote.content(page).prefix(1)))
    }
  }

  @Test func `a failed run continues after reopening`() async throws {
    let remote = PageRemote([])
    remote.pages.value = (0..<20).map { Page(id: ExactString("page\($0)")) }
    remote.broken.value = ["page7", "page13"]
    weak var firstStore: PageStore?
    do {
      let store = try PageStore.make(path)
      firstStore = store
      let synchronizer = OneWaySynchronizer(
        from: remote, to: store,
        options: OneWaySynchronizer.Options(concurrency: 4, stopsOnError: false))
      await #expect(throws: OneWayError.self) { try await synchronizer.sync() }
      #expect(store.snapshot.count == 18)
    }
    try await wait(for: "the end of the run's task, which holds the store") { firstStore == nil }
    remote.broken.value = []
    remote.downloads.value = []
    let store = try PageStore.make(path)
    try await OneWaySynchronizer(from: remote, to: store).sync()
    #expect(remote.downloads.value.sorted() == ["page13", "page7"])
    #expect(store.snapshot.map(\.key) == remote.pages.value.map(\.id))
  }

  @Test func `the store keeps the event contract`() async throws {
    let lists = Shared<[String: [Page]]>([:])
    try await checkDataSource(
      seeds: 1...2, steps: 8,
      makeSource: { [directory] in
        let store = try PageStore.make(directory(UUID().uuidString))
        let page = Page(id: "first")
        try await store.store(PageRemote.content(page), of: page)
        try await store.finish([page])
        lists.modify { $0[store.path] = [page] }
        return store
      },
      mutate: { store, random in
        let remote = PageRemote([])
        let keys = (0..<6).shuffled(using: &random).prefix(random.below(7))
        remote.pages.value = keys.map { key in
          Page(id: ExactString("key \(key)"), stamp: "\(random.below(3))")
        }
        lists.modify { $0[store.path] = remote.pages.value }
        try await OneWaySynchronizer(from: remote, to: store).sync()
      },
      expected: { store in
        try (lists.value[store.path] ?? []).map { page in
          let bytes = PageRemote.content(page)
          try #require(try store.contents(forKey: page.id) == bytes)
          return DirectoryEntry(
            key: page.id, path: store.path + "/" + page.id.string, byteCount: bytes.count,
            stamp: page.stamp, digest: Checksum.of(bytes))
        }
      })
  }
}
