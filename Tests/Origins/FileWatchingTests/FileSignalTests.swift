import FileWatching
import SwappablePrimitives
import Testing

@testable import struct FileWatching.FileSignal

@Suite struct FileSignalTests {
  let stamp = FileStamp(
    identity: FileIdentity(device: 1, inode: 2), size: 3, modified: 4, changed: 5)
  let missing = FileState.missing(.missing("/a"))

  private func changed(_ body: (inout FileStamp) -> Void) -> FileState {
    var copy = stamp
    body(&copy)
    return .file(copy)
  }

  @Test func `an unchanged stamp is an event only after a notification`() {
    let state = FileState.file(stamp)
    for signal in [FileSignal.poll, .attributes, .movedOut, .displaced, .names, []] {
      #expect(signal.eventKind(from: state, to: state) == nil)
    }
    // The clock of a file system may not tick between two writes.
    #expect(FileSignal.written.eventKind(from: state, to: state) == .written)
    #expect(FileSignal([.modified, .written]).eventKind(from: state, to: state) == .written)
    #expect(FileSignal.modified.eventKind(from: state, to: state) == .modified)
    #expect(FileSignal.lost.eventKind(from: state, to: state) == .check)
    // The next file may have the inode of a deleted one.
    #expect(FileSignal.created.eventKind(from: state, to: state) == .created)
    #expect(FileSignal.movedIn.eventKind(from: state, to: state) == .replaced)
  }

  @Test func `a change of the names in a directory is an event without another stamp`() {
    let directory = changed { $0.kind = .directory }
    for signal in [FileSignal.movedOut, .names] {
      #expect(signal.eventKind(from: directory, to: directory) == .modified)
    }
    #expect(FileSignal.created.eventKind(from: directory, to: directory) == .created)
    #expect(FileSignal.poll.eventKind(from: directory, to: directory) == nil)
  }

  @Test func `another file is complete if it was moved`() {
    let other = changed { $0.identity.inode = 9 }
    #expect(FileSignal.movedIn.eventKind(from: .file(stamp), to: other) == .replaced)
    #expect(FileSignal.names.eventKind(from: .file(stamp), to: other) == .replaced)
    #expect(FileSignal.created.eventKind(from: .file(stamp), to: other) == .created)
    #expect(FileSignal.poll.eventKind(from: .file(stamp), to: other) == .created)
    #expect(FileSignal.movedIn.eventKind(from: missing, to: other) == .replaced)
    #expect(FileSignal.poll.eventKind(from: missing, to: other) == .created)
  }

  @Test func `other times and sizes are events`() {
    let old = FileState.file(stamp)
    #expect(FileSignal.poll.eventKind(from: old, to: changed { $0.size = 9 }) == .modified)
    #expect(FileSignal.poll.eventKind(from: old, to: changed { $0.modified = 9 }) == .modified)
    #expect(FileSignal.poll.eventKind(from: old, to: changed { $0.changed = 9 }) == .touched)
    #expect(
      FileSignal.attributes.eventKind(from: old, to: changed { $0.modified = 9 }) == .touched)
    #expect(FileSignal.attributes.eventKind(from: old, to: changed { $0.size = 9 }) == .modified)
  }

  @Test func `another file with the same inode may be incomplete`() {
    let (old, emptied) = (FileState.file(stamp), changed { $0.size = 0 })
    #expect(FileSignal.lost.eventKind(from: old, to: emptied) == .modified)
    #expect(FileSignal([.displaced, .lost]).eventKind(from: old, to: emptied) == .modified)
    #expect(FileSignal([.movedOut, .lost]).eventKind(from: old, to: emptied) == .created)
    #expect(FileSignal([.written, .movedOut]).eventKind(from: old, to: emptied) == .created)
  }

  @Test func `a removal is reported once, and a new reason causes a check`() {
    let denied = FileState.failed(.limit)
    #expect(FileSignal.movedOut.eventKind(from: .file(stamp), to: missing) == .removed)
    #expect(FileSignal.movedOut.eventKind(from: .file(stamp), to: denied) == .removed)
    #expect(FileSignal.lost.eventKind(from: missing, to: missing) == nil)
    #expect(FileSignal.poll.eventKind(from: missing, to: denied) == .check)
  }
}
