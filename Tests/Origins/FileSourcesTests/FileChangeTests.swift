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

  /// A format that answers whether the file has only grown.
  private struct Growing: FileFormat {
    let hasGrown: Bool

    func hasGrown(_: FileChange) -> Bool { hasGrown }
    func read(
      _: FileChange?, after _: LiveCollection<Int>, isGraceOver _: Bool
    ) throws(ReadFailure) -> (SourceWriter<Int>.Contents, isComplete: Bool)? { nil }
  }

  private func request(
    for change: FileChange, hasGrown: Bool = false
  ) -> ReadSchedule.Request? {
    let format = Growing(hasGrown: hasGrown)
    let file = PolledFile(path: "/a", system: .live, timing: FileTiming(), format: format)
    let memory = PolledFile<Growing>.Memory(watch: FileWatch(path: "/a") { _ in }, format: format)
    return file.readTime(of: change, memory).request
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
    #expect(request(for: change, hasGrown: true) == .now)
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
