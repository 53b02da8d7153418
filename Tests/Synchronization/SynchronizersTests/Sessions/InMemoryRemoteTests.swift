import DataSourceTesting
import ObservableCollections
import Synchronizers
import Testing

@Suite struct InMemoryRemoteTests {
  private let remote = InMemoryRemote([1, 2])

  private func push(
    _ after: [Int], _ version: Int, _ id: String = "\(UInt64.random(in: 0 ... .max))"
  ) async -> Int? {
    let push = RemotePush(id: id, version: version, before: nil, after: Snapshot(after))
    guard case .accepted(let version) = await remote.push(push) else { return nil }
    return version
  }

  @Test func `known contents are not fetched`() async throws {
    let contents = try #require(await remote.fetch(unlessAt: nil))
    #expect(Array(contents.elements) == [1, 2])
    #expect(await remote.fetch(unlessAt: contents.version)?.version == nil)
    remote.contents.append(3)
    let newer = try #require(await remote.fetch(unlessAt: contents.version))
    #expect(Array(newer.elements) == [1, 2, 3] && newer.version != contents.version)
  }

  @Test func `a push against an older version is outdated`() async throws {
    let version = try #require(await remote.fetch(unlessAt: nil)).version
    remote.contents.append(3)
    #expect(await push([1], version) == nil)
    #expect(Array(remote.contents.snapshot) == [1, 2, 3])
  }

  @Test func `a repeated push is accepted and takes effect once`() async throws {
    let version = try #require(await remote.fetch(unlessAt: nil)).version
    let id = "\(UInt64.random(in: 0 ... .max))"
    let accepted = try #require(await push([2], version, id))
    #expect(await remote.fetch(unlessAt: accepted)?.version == nil)
    remote.contents.append(9)
    #expect(await push([2], version, id) == accepted)
    #expect(Array(remote.contents.snapshot) == [2, 9])
    #expect(await remote.fetch(unlessAt: accepted)?.version != nil)
  }

  @Test func `a push of equal contents keeps the version and sends no event`() async throws {
    let recorder = RecordingObserver(remote.contents)
    let version = try #require(await remote.fetch(unlessAt: nil)).version
    #expect(await push([1, 2], version) == version)
    #expect(await push([2, 1], version) != version)
    #expect(recorder.eventCount == 2)
  }
}
