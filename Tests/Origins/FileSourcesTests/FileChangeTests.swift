import ObservableCollections
import SwappablePrimitives
import Testing

@testable import FileSources
@testable import FileWatching

@Suite struct FileChangeTests {
  private func change(_ kinds: FileEvent.Kind...) -> FileChange {
    let state = FileState.missing(
      FileError(cause: .missing, operation: "open", path: "/a", reason: "not there"))
    var change = FileChange(FileEvent(kind: kinds[0], state: state))
    for kind in kinds.dropFirst() {
      change.merge(FileChange(FileEvent(kind: kind, state: state)))
    }
    return change
  }

  private protocol Parts { static var value: Bool { get } }
  private enum WithParts: Parts { static let value = true }
  private enum WithoutParts: Parts { static let value = false }

  private struct Format<HasParts: Parts>: FileFormat {
    static var hasParts: Bool { HasParts.value }
    let isReadAtOnce: Bool

    func isReadAtOnce(_: FileChange) -> Bool { isReadAtOnce }
    func read(
      _: FileChange?, after _: LiveCollection<Int>?, waited _: Duration
    ) throws(ReadFailure) -> (SourceWriter<Int>.Contents, isComplete: Bool)? { nil }
  }

  private func request(
    for change: FileChange, atOnce: Bool = false
  ) -> ReadSchedule.Request? {
    request(for: change, Format<WithoutParts>(isReadAtOnce: atOnce))
  }

  private func request(
    for change: FileChange, _ format: some FileFormat
  ) -> ReadSchedule.Request? {
    let file = PolledFile(path: "/a", system: .live, timing: FileTiming(), format: format)
    return file.readTime(
      of: change, .init(watch: FileWatch(path: "/a") { _ in }, format: format)
    ).request
  }

  @Test(
    arguments: [
      (.written, false, false), (.modified, true, false), (.replaced, false, true),
      (.created, true, true), (.removed, false, true), (.touched, false, false),
      (.check, false, false),
    ] as [(FileEvent.Kind, Bool, Bool)])
  func `events tell of writers and of other files`(
    kind: FileEvent.Kind, isBeingWritten: Bool, isReplaced: Bool
  ) {
    let change = change(kind)
    #expect(change.isBeingWritten == isBeingWritten && change.isReplaced == isReplaced)
    // What is complete is read at once, and what is being written after a pause.
    #expect(request(for: change) == (isBeingWritten ? .whenQuiet(for: .milliseconds(20)) : .now))
    #expect(request(for: change, atOnce: true) == .now)
    // A writer of lines may never pause.
    let lines = request(for: change, Format<WithParts>(isReadAtOnce: false))
    #expect(lines == (isBeingWritten ? .after(.milliseconds(20)) : .now))
  }

  @Test func `a close ends the writing, and a check does not`() {
    #expect(!change(.modified, .written).isBeingWritten)
    #expect(!change(.created, .replaced).isBeingWritten)
    #expect(change(.written, .modified).isBeingWritten)
    for kind in [FileEvent.Kind.check, .touched] {
      #expect(change(.modified, kind).isBeingWritten)
      #expect(!change(.written, kind).isBeingWritten)
      #expect(request(for: change(.modified, kind)) == .now)
    }
  }

  @Test func `another file stays another file`() {
    #expect(change(.replaced, .modified).isReplaced)
    #expect(!change(.modified, .written).isReplaced)
  }
}
