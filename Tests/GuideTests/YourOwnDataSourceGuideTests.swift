import DataSourceTesting
import Swappable
import TestSupport
import Testing

struct Departure: Hashable, Identifiable, Sendable, Differentiable {
  let id: Int
  var minute: Int
}

actor Station {
  private var departures: [Departure] = []
  private var listeners: [@Sendable () -> Void] = []
  private(set) var isReachable = true

  struct Unreachable: Error {}

  func currentDepartures() throws -> [Departure] {
    guard isReachable else { throw Unreachable() }
    return departures
  }

  func announce(_ departures: [Departure]) {
    self.departures = departures
    tell()
  }

  func setReachable(_ isReachable: Bool) {
    self.isReachable = isReachable
    tell()
  }

  func onChange(_ listener: @escaping @Sendable () -> Void) {
    listeners.append(listener)
  }

  private func tell() {
    for listener in listeners { listener() }
  }
}

struct Departures: PolledSource {
  typealias Element = Departure
  let station: Station

  func start(_ report: @escaping @Sendable (Change) -> Void) {
    Task {
      await station.onChange { report(()) }
      // The station did not announce earlier changes.
      report(())
    }
  }

  func read(_: ReadAttempt, _: inout Void) async throws -> ReadResult {
    do {
      var result = ReadResult.contents(.whole(try await station.currentDepartures()))
      result.mode = ("notified", "The station announces each change.")
      return result
    } catch {
      throw SourceError(
        code: "station-unreachable",
        message: "the station does not answer; its departures are as last announced",
        underlying: error)
    }
  }
}

func departures(of station: Station) -> PolledDataSource<Departures> {
  PolledDataSource(Departures(station: station), location: "the station's timetable")
}

/// The messages of a room, of which a service returns those after a number.
struct Messages: PolledSource {
  typealias Element = String
  let messages: @Sendable (_ number: Int) async throws -> [String]

  /// The memory is the number of the messages that were read.
  func start(_: @escaping @Sendable (Change) -> Void) -> Int { 0 }

  func read(_: ReadAttempt, _ number: inout Int) async throws -> ReadResult {
    let new = try await messages(number)
    number += new.count
    return .contents(.appended(new), again: .seconds(1))
  }
}

/// A departure was added at 1, and the one that follows it was edited.
func publishEdits(of writer: SourceWriter<Departure>, new: Departure, edited: Departure) {
  writer.publish(
    .changed(
      Changeset(insertions: [1], updates: [.init(from: 1, to: 2)]),
      inserted: [new], updated: [edited]),
    .loaded, diagnostics: [.init(code: "night", message: "The station closes at 23:00.")])
}

/// The code of the guide "Write your own data source".
@Suite(.timeLimit(.minutes(10))) struct YourOwnDataSourceGuideTests {
  @Test func `the code of the guide is the code that runs here`() throws {
    let guide = try Guide("YourOwnDataSource")
    #expect(guide.code.count == 6)
    #expect(try guide.paragraphs(missingIn: #filePath) == [])
  }

  @Test func `departures keep the contract`() async throws {
    let station = Station()
    try await checkDataSource(
      makeSource: { departures(of: station) },
      mutate: { _, random in
        let numbers = (0..<9).shuffled(using: &random).prefix(random.below(6))
        await station.announce(numbers.map { Departure(id: $0, minute: random.below(60)) })
      },
      expected: { _ in try await station.currentDepartures() },
      damage: { _ in await station.setReachable(false) },
      repair: { _ in await station.setReachable(true) })
  }

  @Test func `messages are read from a number on`() async throws {
    let all = Shared(["a"])
    let source = PolledDataSource(Messages { number in Array(all.value[number...]) })
    let recorder = RecordingObserver(source)
    try await source.loaded()
    all.modify { $0 += ["b", "c"] }
    await source.refresh()
    #expect(Array(source.snapshot) == ["a", "b", "c"])
    #expect(recorder.changes.last?.changeset.insertions == [1, 2])
  }

  @Test func `explanations show the location, the mode and the reads`() async throws {
    let station = Station()
    let source = departures(of: station)
    let observation = source.observe { _ in }
    defer { observation.dispose() }
    try await source.loaded()
    let node = try #require(source.collection.explain().nodes.first)
    #expect(node.source?.location == "the station's timetable" && node.source?.mode == "notified")
    #expect("\(source.collection.explain())".contains("Departures"))
  }

  @Test func `an exact change and diagnostics are one step`() {
    let writer = SourceWriter(of: ArrayDataSource<Departure>.self)
    writer.publish(.whole([1, 2].map { Departure(id: $0, minute: 0) }))
    let recorder = RecordingObserver(writer.collection)
    publishEdits(
      of: writer, new: Departure(id: 3, minute: 7), edited: Departure(id: 2, minute: 8))
    #expect(writer.collection.snapshot.map(\.id) == [1, 3, 2])
    #expect(recorder.changes.count == 1 && writer.collection.status.diagnostics.count == 1)
  }

  @Test func `loading from a station that cannot be reached throws a SourceError`() async throws {
    let station = Station()
    await station.setReachable(false)
    await #expect(throws: SourceError.self) { try await departures(of: station).loaded() }
  }
}
