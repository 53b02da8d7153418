import Diffing
import ObservableCollections
import SwappableSources
import Synchronizers
import TestSupport
import Testing

struct Track: Hashable, Identifiable, Sendable, Differentiable {
  let id: Int
  var title: String
}

actor Folder {
  private(set) var tracks: [Int: Track]

  init(_ tracks: [Track]) {
    self.tracks = Dictionary(uniqueKeysWithValues: tracks.map { ($0.id, $0) })
  }

  var keys: Set<Int> { Set(tracks.keys) }

  func list() throws -> [Track] {
    [Track(id: 1, title: "A"), Track(id: 2, title: "B"), Track(id: 3, title: "C")]
  }
  func remove(_ keys: Set<Int>) { for key in keys { tracks[key] = nil } }
  func isOlder(than track: Track) -> Bool { tracks[track.id] != track }
  func download(_ track: Track) throws { tracks[track.id] = track }
}

struct Downloads: OneWayProcessor {
  let folder: Folder

  func begin() {}
  func fetchSourceList() async throws -> [Track] { try await folder.list() }
  func localKeys() async -> Set<Int> { await folder.keys }

  func removeLocalItems(_ keys: Set<Int>) async { await folder.remove(keys) }
  func shouldUpdate(_ key: Int, _ track: Track) async -> Bool { await folder.isOlder(than: track) }
  func prepareDownload(_ tracks: [Track]) -> [Track] { tracks.sorted { $0.id > $1.id } }
  func downloadContent(_ track: Track) async throws { try await folder.download(track) }
}

/// The code of the guide "One-way synchronisation".
@Suite struct OneWaySynchronizationGuideTests {
  @Test func theGuidesCodeIsWhatIsRunHere() throws {
    let guide = try Guide("OneWaySynchronization")
    #expect(guide.code.count == 3)
    #expect(try guide.paragraphs(missingIn: #filePath) == [])
  }

  @Test func fromARemoteToAStore() async throws {
    let library = ArrayDataSource([Track(id: 1, title: "Autumn"), Track(id: 2, title: "Winter")])
    let remote = DataSourceRemote(library)
    let store = CollectionStore<Track>()
    let synchronizer = OneWaySynchronizer(from: remote, to: store)
    synchronizer.options.concurrency = 4
    let outcome = try await synchronizer.sync()
    let shown = SwappableContainer<Track>(store.filter { $0.title.hasPrefix("A") })
    #expect(outcome.new == 2)
    #expect(shown.snapshot.map(\.id) == [1])
  }

  @Test func aProcessor() async throws {
    let folder = Folder([
      Track(id: 2, title: "B"), Track(id: 3, title: "old"), Track(id: 4, title: "gone"),
    ])
    let outcome = try await OneWaySynchronizer(processor: Downloads(folder: folder)).sync()
    #expect(outcome.removed == 1 && outcome.new == 1 && outcome.outdated == 1)
    #expect(try await folder.tracks.values.sorted { $0.id < $1.id } == folder.list())
  }
}
