import DataSourceTesting
import Diffing
import Foundation
import ObservableCollections
import SynchronizerStores
import Synchronizers
import TestSupport
import TestTags
import Testing

@Suite(.tags(.concurrency)) struct DirectoryStoreConcurrencyTests {
  private let directory: TemporaryDirectory
  private var path: String { directory("pages") }

  init() throws { directory = try TemporaryDirectory() }

  @Test func `items are stored concurrently`() async throws {
    let pages = (0..<120).map { Page(id: ExactString("page\($0)")) }
    do {
      let store = try PageStore.make(path)
      let recorder = RecordingObserver(store)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for page in pages {
          group.addTask {
            try await store.storePreview([1], of: page)
            try await store.store(Array(page.id.string.utf8), of: page)
            #expect(try store.contents(forKey: page.id) == Array(page.id.string.utf8))
          }
        }
        for _ in 0..<4 {
          group.addTask {
            for page in pages {
              _ = try await store.isOutdated(page)
              _ = try store.preview(forKey: page.id)
              _ = try await store.keys()
              _ = store.snapshot.count
            }
          }
        }
        try await group.waitForAll()
      }
      try await store.finish(pages)
      #expect(recorder.events.count == 2)
      try recorder.check(against: store)
    }
    let store = try PageStore.make(path)
    #expect(store.snapshot.map(\.key) == pages.map(\.id))
    for page in pages {
      #expect(try store.contents(forKey: page.id) == Array(page.id.string.utf8))
    }
  }

  @Test func `concurrent stores of one key leave one of the contents`() async throws {
    let keys: [ExactString] = ["a", "b", "c"]
    do {
      let store = try PageStore.make(path)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<60 {
          group.addTask {
            let page = Page(id: keys[number % 3], stamp: "\(number)")
            try await store.store(Array("\(page.id) \(number)".utf8), of: page)
            if number % 7 == 0 { try await store.remove([keys[number % 3]]) }
            if number % 11 == 0 { try await store.finish(nil) }
          }
        }
        try await group.waitForAll()
      }
      try await store.finish(keys.map { Page(id: $0) })
    }
    let store = try PageStore.make(path)
    for entry in store.snapshot {
      let stamp = try #require(entry.stamp)
      #expect(try store.contents(forKey: entry.key) == Array("\(entry.key) \(stamp)".utf8))
    }
  }
}
