import DataSourceTesting
import Swappable
import TestSupport
import Testing

/// The code of the guide "Follow a list in time".
@Suite struct TimedListsGuideTests {
  @Test func `the guide's code is compiled here`() throws {
    #expect(try Guide("TimedLists").paragraphs(missingIn: #filePath) == [])
  }

  private func load(_ title: String) async throws -> String { title.uppercased() }

  @Test func `timed lists print what the guide says`() async throws {
    let print = Printed()
    let clock = ManualClock()
    let messages = ArrayDataSource([Todo(id: 1, title: "Saved"), Todo(id: 2, title: "Sent")])
    let recent = messages.expiring(after: .seconds(60), clock: clock)
    let observation = recent.observe { event in
      if case .change(let change) = event {
        print(change.changeset.summary, change.after.map(\.title))
      }
    }
    clock.advance(by: .seconds(30))
    messages.append(Todo(id: 3, title: "Printed"))
    clock.advance(by: .seconds(30))
    observation.dispose()

    let notices = messages.expiring(clock: clock) { message in
      message.title.hasPrefix("Error") ? nil : .seconds(10)
    }
    messages.append(Todo(id: 4, title: "Error: no paper"))
    clock.advance(by: .seconds(10))
    print(notices.snapshot.map(\.title))

    let text = Property("e")
    let end = messages.filter(by: text) { message, text in message.title.contains(text) }
      .suffix(2)
    print(end.snapshot.map(\.title))

    let newest = messages.latest(2, by: \.id)
    messages.insert(Todo(id: 5, title: "Copied"), at: 0)
    print(newest.snapshot.map(\.title))

    let query = Property("")
    let found = messages.filter(by: query) { message, query in message.title.contains(query) }
      .debounced(for: .milliseconds(300), clock: clock)
    query.value = "C"
    query.value = "Co"
    print(found.count)
    clock.advance(by: .milliseconds(300))
    print(found.snapshot.map(\.title))

    let isReading = Property(true)
    let steady = messages.paused(while: isReading)
    messages.append(Todo(id: 6, title: "Mailed"))
    print(messages.count - steady.count)
    isReading.value = false
    print(messages.count - steady.count)

    let thumbnails = messages.mapAsync(
      concurrency: 4, placeholder: { Todo(id: $0.id, title: "…") }
    ) { message in
      Todo(id: message.id, title: try await load(message.title))
    }
    let recorder = RecordingObserver(thumbnails)
    try await recorder.wait { recorder in
      recorder.snapshot.map(\.title)
        == ["COPIED", "SAVED", "SENT", "PRINTED", "ERROR: NO PAPER", "MAILED"]
    }
    #expect(try print.lines == Guide("TimedLists").output)
  }

  @Test func `after a wider filter, suffix shows the last elements and latest the inserted ones`() {
    let log = ArrayDataSource((1...4).map { Todo(id: $0, title: $0.isMultiple(of: 2) ? "b" : "a") })
    let minimum = Property("b")
    let shown = log.filter(by: minimum) { entry, minimum in entry.title >= minimum }
    let (last, inserted) = (shown.suffix(2), shown.latest(2))
    let observations = [last, inserted].map { $0.observe { _ in } }
    minimum.value = "a"
    #expect(last.snapshot.map(\.id) == [3, 4])
    #expect(inserted.snapshot.map(\.id) == [1, 3])
    withExtendedLifetime(observations) {}
  }
}
