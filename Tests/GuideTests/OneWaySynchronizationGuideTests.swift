import Foundation
import Swappable
import SynchronizerStores
import Synchronizers
import TestSupport
import Testing

/// Tests of the code in the guide "One-way synchronization".
@Suite(.timeLimit(.minutes(10))) struct OneWaySynchronizationGuideTests {
  struct Track: Hashable, Identifiable, Sendable, Differentiable {
    let id: Int
    var title: String
  }

  actor Shelf {
    private(set) var tracks: [Int: Track]

    init(_ tracks: [Track]) {
      self.tracks = Dictionary(uniqueKeysWithValues: tracks.map { ($0.id, $0) })
    }

    var keys: Set<Int> { Set(tracks.keys) }

    func list() throws -> [Track] {
      [Track(id: 1, title: "A"), Track(id: 2, title: "B"), Track(id: 3, title: "C")]
    }
    func download(_ track: Track) throws -> [UInt8] { Array(track.title.utf8) }
    func remove(_ keys: Set<Int>) { for key in keys { tracks[key] = nil } }
    func isOutdated(_ track: Track) -> Bool { tracks[track.id] != track }
    func put(_ bytes: [UInt8], _ track: Track) {
      tracks[track.id] = Track(id: track.id, title: String(decoding: bytes, as: UTF8.self))
    }
    func close() {}
  }

  struct Downloads: OneWayRemote, OneWayStore {
    let shelf: Shelf

    // The remote. Only `items` and `content` are required.
    func items() async throws -> [Track] { try await shelf.list() }
    func prepareDownloads(_ tracks: [Track]) -> [Track] { tracks.sorted { $0.id > $1.id } }
    func content(of track: Track) async throws -> [UInt8] { try await shelf.download(track) }

    // The store. `begin`, `isOutdated` and `storePreview` have default implementations.
    func keys() async -> Set<Int> { await shelf.keys }
    func remove(_ keys: Set<Int>) async { await shelf.remove(keys) }
    func isOutdated(_ track: Track) async -> Bool { await shelf.isOutdated(track) }
    func store(_ bytes: [UInt8], of track: Track) async throws { await shelf.put(bytes, track) }
    func finish(_ tracks: [Track]?) async { await shelf.close() }
  }

  @Test func `the code of the guide is the code that runs here`() throws {
    let guide = try Guide("OneWaySynchronization")
    #expect(guide.code.count == 4)
    #expect(try guide.paragraphs(missingIn: #filePath) == [])
  }

  @Test func `a data source is copied to a collection`() async throws {
    let library = ArrayDataSource([Track(id: 1, title: "Autumn"), Track(id: 2, title: "Winter")])
    let store = CollectionStore<Track>()
    let synchronizer = OneWaySynchronizer(from: library, to: store)
    synchronizer.options.concurrency = 4
    let outcome = try await synchronizer.sync()
    let shown = SwappableContainer<Track>(store.filter { $0.title.hasPrefix("A") })
    #expect(outcome.new == 2)
    #expect(shown.snapshot.map(\.id) == [1])
  }

  @Test func `one type is both the remote and the store`() async throws {
    let shelf = Shelf([
      Track(id: 2, title: "B"), Track(id: 3, title: "old"), Track(id: 4, title: "gone"),
    ])
    let downloads = Downloads(shelf: shelf)
    let outcome = try await OneWaySynchronizer(from: downloads, to: downloads).sync()
    #expect(outcome.removed == 1 && outcome.new == 1 && outcome.outdated == 1)
    #expect(try await shelf.tracks.values.sorted { $0.id < $1.id } == shelf.list())
  }

  // MARK: A mirror

  struct Photo: Hashable, Identifiable, Sendable, Differentiable {
    let id: ExactString
    var version: String
  }

  struct PhotoServer: Sendable {
    let photos: [Photo]

    func list() async throws -> [Photo] { photos }
    func download(_ id: ExactString) async throws -> [UInt8] { Array(id.string.utf8) }
  }

  struct Album: OneWayRemote {
    let server: PhotoServer

    func items() async throws -> [Photo] { try await server.list() }
    func content(of photo: Photo) async throws -> [UInt8] { try await server.download(photo.id) }
  }

  @Test func `photos are mirrored into a folder`() async throws {
    let print = Printed()
    func mirror(_ server: PhotoServer, into folder: String, isDryRun: Bool) async throws {
      let store = try DirectoryStore<Photo>(path: folder, stamp: { $0.version })
      let synchronizer = OneWaySynchronizer(from: Album(server: server), to: store)
      synchronizer.options.stopsOnError = false
      let outcome = try await isDryRun ? synchronizer.plan() : synchronizer.sync()
      for key in outcome.removedKeys { print("-", key) }
      for key in outcome.newKeys { print("+", key) }
      for key in outcome.outdatedKeys { print("~", key) }
      for remark in outcome.diagnostics { print("!", remark.message) }
      print(outcome)  // 12 listed: 3 inserted, 1 updated, 2 removed, 8 unchanged
    }
    let directory = try TemporaryDirectory()
    let server = PhotoServer(photos: [
      Photo(id: "2026/beach.jpg", version: "1"), Photo(id: "../x", version: "1"),
    ])
    let folder = directory("photos")
    try await mirror(server, into: folder, isDryRun: true)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
    let numbers = "2 listed: 1 inserted, 0 updated, 0 removed, 0 unchanged, 1 refused"
    #expect(print.lines.suffix(1) == [numbers])
    try await mirror(server, into: folder, isDryRun: false)
    let paths = try FileManager.default.subpathsOfDirectory(atPath: folder)
    #expect(paths.sorted() == ["2026", "2026/beach.jpg"])
    #expect(print.lines.suffix(1) == [numbers])
    #expect(print.lines.contains { $0.hasPrefix(#"! "../x": the key "../x" cannot be the path"#) })
  }
}
