import Diffing
import FileWatching
import Foundation
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives
import TestSupport
import Testing

@testable import FileSources

@Suite(.timeLimit(.minutes(10)))
struct JSONFileDataSourceTests {
  struct Person: Codable, Hashable, Identifiable, Differentiable, Sendable {
    var id: Int
    var firstName: String
    var tags: [String]?
  }

  let directory: TemporaryDirectory
  let path: String

  init() throws {
    directory = try TemporaryDirectory()
    path = directory("a.json")
  }

  private func save(_ people: [Person]) throws {
    let encoder = JSONEncoder()
    encoder.keyEncodingStrategy = .convertToSnakeCase
    try encoder.encode(people).write(to: URL(fileURLWithPath: path), options: .atomic)
  }

  private func source() -> JSONFileDataSource<Person> {
    JSONFileDataSource(path: path) { $0.keyDecodingStrategy = .convertFromSnakeCase }
  }

  @Test func `a configured decoder decodes the elements`() async throws {
    let people = (0..<3_000).map { Person(id: $0, firstName: "é\n\($0)") }
    try save(people)
    let log = try await SourceLog.afterLoading(source())
    #expect(Array(log.source.snapshot) == people)
    var edited = people
    edited[2_000].firstName = "new"
    edited.remove(at: 10)
    try save(edited)
    let change = try await log.nextChange()
    #expect(Array(change.after) == edited)
    #expect(change.changeset.deletions == [10])
    #expect(change.changeset.updates.count == 1)
  }

  @Test func `a decoding error names the element and the path`() async throws {
    try save([Person(id: 1, firstName: "a")])
    let log = try await SourceLog.afterLoading(source())
    try directory.write(
      "[{\"id\":1,\"first_name\":\"a\"},\n{\"id\":2,\"first_name\":\"b\",\"tags\":[\"x\",5]}]",
      to: "a.json")
    let error = try await log.failure()
    #expect(error.code == "json-undecodable")
    #expect(
      error.message.contains(
        "line 2, column 1, element 1: at .tags[1]: a value of type String is expected"),
      "\(error)")
    try directory.write(
      "[{\"id\":1,\"first_name\":\"a\"},{\"id\":2}]", to: "a.json")
    let next = try await log.failure()
    #expect(
      next.message.hasSuffix(
        "element 1: there is no member \"firstName\"; add it, or make it optional"), "\(next)")
    try directory.write("[{\"id\":99999999999999999999,\"first_name\":\"a\"}]", to: "a.json")
    let last = try await log.failure()
    #expect(
      last.message.hasSuffix(
        "element 0: a number does not fit its type; correct it, or take a wider type"),
      "\(last)")
    #expect(log.source.snapshot.count == 1)
  }

  /// The error of such an element contains the path in the inner text.
  @Test func `an error names the element that fails to decode text inside it`() async throws {
    struct Letter: Decodable, Differentiable, Hashable, Sendable {
      enum CodingKeys: CodingKey { case id, numbers }
      var id: Int
      var numbers: [Int]
      var differenceIdentifier: Int { id }

      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        id = try container.decode(Int.self, forKey: .id)
        let text = try container.decode(String.self, forKey: .numbers)
        numbers = try JSONDecoder().decode([Int].self, from: Data(text.utf8))
      }
    }
    let good = #"{"id":1,"numbers":"[1,2]"}"#
    let bad = #"{"id":2,"numbers":"[1,2,3,4,5,null]"}"#
    try directory.write("[\(good)]", to: "a.json")
    let log = try await SourceLog.afterLoading(JSONFileDataSource<Letter>(path: path))
    try directory.write("[\(good),\n\(bad)]", to: "a.json")
    #expect(try await log.failure().message.contains("line 2, column 1, element 1: "))
    let fresh = JSONFileDataSource<Letter>(path: path)
    let error = await #expect(throws: SourceError.self) { try await fresh.loaded() }
    #expect(error?.message.contains("line 2, column 1, element 1: ") == true)
  }

  @Test func `a closure decodes only new elements`() async throws {
    struct Refusal: Error {}
    let decoded = Holder(Locked<[Int]>([]))
    let source = JSONFileDataSource<Person>(path: path) { element in
      guard let id = element["id"]?.integer else { throw Refusal() }
      decoded.value.withLock { $0.append(id) }
      return Person(id: id, firstName: element["name"]?.string ?? "")
    }
    try directory.write(#"[{"id":1},{"id":2},{"id":3},{"id":4}]"#, to: "a.json")
    let log = try await SourceLog.afterLoading(source)
    decoded.value.withLock { $0 = [] }
    try directory.write(
      #"[{"id":3},{"id":5},{"id":2,"name":"x"},{"id":4}]"#, to: "a.json")
    #expect(try await log.nextChange().after.map(\.id) == [3, 5, 2, 4])
    #expect(decoded.value.withLock { $0 } == [5, 2])
    try directory.write(#"[{"id":3},{}]"#, to: "a.json")
    let error = try await log.failure()
    #expect(error.message.contains("element 1: Refusal()"), "\(error)")
  }

  @Test func `an element without a key is identified by its contents`() async throws {
    try directory.write(#"[{"a":1,"b":2},5,"5"]"#, to: "a.json")
    let log = try await SourceLog.afterLoading(JSONFileDataSource(path: path))
    try directory.write(#"["5",{"b":2,"a":1}]"#, to: "a.json")
    let change = try await log.nextChange()
    #expect(change.changeset.deletions == [1])
    #expect(change.changeset.insertions.isEmpty)
    #expect(change.changeset.updates.isEmpty)
    #expect(change.changeset.moves.count == 1)
  }

  @Test func `an observer may save the file`() async throws {
    try directory.write("[1]", to: "a.json")
    let source = JSONFileDataSource(path: path)
    try await source.loaded()
    let (stream, continuation) = AsyncStream.makeStream(of: [String].self)
    let directory = directory
    let observation = source.observe { event in
      let texts = event.snapshot.map(\.description)
      continuation.yield(texts)
      if texts == ["1"] { try? directory.write("[1,2]", to: "a.json") }
    }
    var events = stream.makeAsyncIterator()
    #expect(await events.next() == ["1"])
    #expect(await events.next() == ["1", "2"])
    withExtendedLifetime(observation) {}
  }

  @Test func `an observer may release the last reference`() async throws {
    try directory.write("[1]", to: "a.json")
    let watches = WatchCount()
    var source: JSONFileDataSource<JSONElement>? = JSONFileDataSource(
      path: ByteString(path), key: nil, decoding: ElementDecoding(each: { $0 }),
      system: watches.system)
    weak let weakSource = source
    try await source?.loaded()
    let kept = Holder(Locked<Disposable?>(nil))
    var observation = source?.observe { event in
      guard case .change = event else { return }
      let last = kept.value.withLock { kept in
        defer { kept = nil }
        return kept
      }
      last?.dispose()
    }
    kept.value.withLock { [observation] in $0 = observation }
    observation = nil
    source = nil
    try directory.write("[2]", to: "a.json")
    await watches.ended()
    #expect(weakSource == nil)
  }

  @Test func `releasing the source stops watching`() async throws {
    try directory.write("[1]", to: "a.json")
    let watches = WatchCount()
    var source: JSONFileDataSource<JSONElement>? = JSONFileDataSource(
      path: ByteString(path), key: nil, decoding: ElementDecoding(each: { $0 }),
      system: watches.system)
    weak let weakSource = source
    try await source?.loaded()
    #expect(watches.count > 0)
    source = nil
    await watches.ended()
    #expect(weakSource == nil)
    #expect(watches.count == 0)
  }

  @Test func `many sources of one file receive each save`() async throws {
    try directory.write("[1]", to: "a.json")
    var logs: [SourceLog<JSONElement>] = []
    for _ in 0..<50 { logs.append(try await .afterLoading(JSONFileDataSource(path: path))) }
    for round in 2..<6 {
      try directory.write("[\(round)]", to: "b.json")
      try directory.move("b.json", to: "a.json")
      for log in logs {
        #expect(try await log.nextChange().after.description == "[\(round)]")
      }
    }
  }
}
