import FileWatching
import Foundation
import SwappablePrimitives
import TestSupport
import TestTags
import Testing

/// Watches of real files.
@Suite(.tags(.concurrency), .timeLimit(.minutes(10)))
struct FileWatchTests {
  let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  @Test func `truncating and writing ends with written`() async throws {
    try directory.write("old", to: "a")
    let log = EventLog(directory("a"))
    try directory.write("n", "e", "w", to: "a")
    let event = try await log.next(.written)
    #expect(event.state.stamp?.size == 3)
  }

  @Test func `writing without closing is modified`() async throws {
    try directory.write("old", to: "a")
    let log = EventLog(directory("a"))
    let file = try OpenFile(directory("a"), O_WRONLY | O_APPEND)
    try file.write("more")
    let event = try await log.next(.modified)
    #expect(event.state.stamp?.size == 7)
    withExtendedLifetime(file) {}
  }

  @Test func `each change of a name in a directory is an event`() async throws {
    try FileManager.default.createDirectory(
      atPath: directory("sub"), withIntermediateDirectories: true)
    let log = EventLog(directory("sub"))
    for number in 1...20 {
      try directory.write("x", to: "sub/\(number)")
      try await log.next(.created)
      try directory.remove("sub/\(number)")
      try await log.next(.modified)
      try directory.write("x", to: "outside")
      try directory.move("outside", to: "sub/\(number)")
      try await log.next(.replaced)
      try directory.move("sub/\(number)", to: "outside")
      try await log.next(.modified)
    }
  }

  @Test func `renaming over the file is replaced`() async throws {
    try directory.write("old", to: "a")
    let log = EventLog(directory("a"))
    try directory.write("newer", to: "b")
    try directory.move("b", to: "a")
    let event = try await log.next(.replaced)
    #expect(event.state.stamp?.size == 5)
    // The new file is watched.
    try directory.write("again", "again", to: "a")
    try await log.next(.written)
  }

  @Test func `a file that is moved away and created again is removed and created`() async throws {
    try directory.write("old", to: "a")
    let log = EventLog(directory("a"))
    try directory.move("a", to: "a~")
    try await log.next(.removed)
    let file = try OpenFile(directory("a"), O_WRONLY | O_CREAT | O_EXCL)
    try await log.next(.created)
    try file.write("new")
    // If the creation was found before the system reported it, it may be reported again, together with
    // the write.
    while try await log.next(.created, .modified).state.stamp?.size != 3 {}
    withExtendedLifetime(file) {}
  }

  @Test func `deleting is removed and names the missing file`() async throws {
    try directory.write("old", to: "a")
    let log = EventLog(directory("a"))
    try directory.remove("a")
    let event = try await log.next(.removed)
    guard case .missing(let failure) = event.state else {
      Issue.record("\(event)")
      return
    }
    #expect(failure.path.description == directory("a"))
    #expect(failure.cause == .missing)
  }

  @Test func `switching a link is replaced`() async throws {
    // Volumes of configuration work this way: a -> ..data/a, ..data -> v1, and ..data is replaced.
    try directory.makeDirectory("v1")
    try directory.makeDirectory("v2")
    try directory.write("one", to: "v1/a")
    try directory.write("second", to: "v2/a")
    try directory.link("..data", to: "v1")
    try directory.link("a", to: "..data/a")
    let log = EventLog(directory("a"))
    #expect(log.watch.state.stamp?.size == 3)
    try directory.link("..new", to: "v2")
    try directory.move("..new", to: "..data")
    let event = try await log.next(.replaced)
    #expect(event.state.stamp?.size == 6)
    try directory.write("third, in the new directory", to: "v2/a")
    try await log.next(.written)
  }

  @Test func `a write through a hard link is reported`() async throws {
    try directory.makeDirectory("other")
    try directory.write("old", to: "a")
    try directory.hardLink("a", as: "other/b")
    let log = EventLog(directory("a"))
    try directory.write("newer", to: "other/b")
    try await log.next(.written)
  }

  @Test func `a write to the target of a link in another directory is reported`() async throws {
    try directory.makeDirectory("other")
    try directory.write("old", to: "other/b")
    try directory.link("a", to: "other/b")
    let log = EventLog(directory("a"))
    try directory.write("newer", to: "other/b")
    try await log.next(.written)
    try directory.write("newest", to: "other/c")
    try directory.move("other/c", to: "other/b")
    try await log.next(.replaced)
  }

  @Test func `renaming a parent directory away and back is reported`() async throws {
    try directory.makeDirectory("parent")
    try directory.write("old", to: "parent/a")
    let log = EventLog(directory("parent/a"))
    try directory.move("parent", to: "elsewhere")
    try await log.next(.removed)
    try directory.move("elsewhere", to: "parent")
    try await log.next(.replaced)
    try directory.write("newer", to: "parent/a")
    try await log.next(.written)
  }

  @Test func `the creation of parents is reported`() async throws {
    let log = EventLog(directory("x/y/z/a"))
    #expect(log.watch.diagnostic == nil)
    try directory.makeDirectory("x/y/z")
    try directory.write("new", to: "x/y/z/a")
    try await log.next(.created, .written)
    #expect(log.watch.state.stamp != nil)
  }

  @Test func `deleting a parent and creating it again is reported`() async throws {
    try directory.makeDirectory("parent")
    try directory.write("old", to: "parent/a")
    let log = EventLog(directory("parent/a"))
    try directory.remove("parent")
    try await log.next(.removed)
    try directory.makeDirectory("parent")
    try directory.write("new", to: "parent/a")
    try await log.next(.created, .written)
  }

  @Test func `changes of permissions and times are touched`() async throws {
    try directory.write("old", to: "a")
    let log = EventLog(directory("a"))
    #expect(chmod(directory("a"), 0o600) == 0)
    try await log.next(.touched)
    #expect(utimes(directory("a"), nil) == 0)
    try await log.next(.touched)
  }

  @Test func `a link loop is a failure until it is broken`() async throws {
    try directory.link("a", to: "b")
    try directory.link("b", to: "a")
    let log = EventLog(directory("a"))
    guard case .failed(let failure) = log.watch.state else {
      Issue.record("\(log.watch.state)")
      return
    }
    #expect(failure.cause == .loop)
    try directory.write("new", to: "c")
    try directory.move("c", to: "b")
    try await log.next(.replaced)
    #expect(log.watch.state.stamp?.size == 3)
  }

  @Test func `a file at the path of a directory is missing`() async throws {
    try directory.write("x", to: "parent")
    let log = EventLog(directory("parent/a"))
    guard case .missing = log.watch.state else {
      Issue.record("\(log.watch.state)")
      return
    }
    try directory.remove("parent")
    try directory.makeDirectory("parent")
    try directory.write("new", to: "parent/a")
    try await log.next(.created, .written, .replaced)
  }

  @Test func `changes of siblings are not reported`() async throws {
    try directory.write("old", to: "a")
    let log = EventLog(directory("a"))
    try directory.write("x", to: "b")
    try directory.remove("b")
    try directory.write("new", to: "a")
    // The first event of any kind is an event of the file itself.
    let event = try await log.next(
      .modified, .written, .created, .replaced, .removed, .touched, .check)
    #expect(event.kind == .modified || event.kind == .written)
  }

  @Test func `relative paths and dots are resolved`() async throws {
    try directory.makeDirectory("x/y")
    try directory.write("old", to: "x/a")
    let log = EventLog(directory("x/./y/..//a"))
    #expect(log.watch.state.stamp?.size == 3)
    try directory.write("newer", to: "x/a")
    try await log.next(.written)
    let relative = FileWatch(path: "no-such-file.json") { _ in }
    guard case .missing(let failure) = relative.state else {
      Issue.record("\(relative.state)")
      return
    }
    #expect(
      failure.path.description == FileManager.default.currentDirectoryPath + "/no-such-file.json")
  }

  @Test func `a callback may release its own watch`() async throws {
    try directory.write("old", to: "a")
    let holder = Holder()
    await confirmation { called in
      await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
        holder.hold(
          FileWatch(path: ByteString(directory("a"))) { _ in
            called()
            holder.cancelAndLetGo()
            continuation.resume()
          })
        try? directory.write("new", to: "a")
      }
      try? directory.write("newer", to: "a")
    }
    #expect(holder.isEmpty)
  }

  @Test func `watches begin and end on many threads during saves`() async throws {
    try directory.write("old", to: "a")
    await withTaskGroup(of: Void.self) { group in
      for task in 0..<4 {
        group.addTask { [directory] in
          for round in 0..<50 {
            let log = EventLog(directory("a"))
            try? directory.write("\(round)", to: "b\(task)")
            try? directory.move("b\(task)", to: "a")
            // Each watch reports the save, although other watches begin and end all the time.
            await #expect(throws: Never.self) { try await log.next(.replaced) }
          }
        }
      }
    }
  }

  @Test func `a slow callback blocks no other watch`() async throws {
    try directory.write("old", to: "a")
    let gate = DispatchSemaphore(value: 0)
    let blocked = FileWatch(path: ByteString(directory("a"))) { _ in gate.wait() }
    let log = EventLog(directory("a"))
    try directory.write("new", to: "a")
    try await log.next(.written)
    try directory.write("newer", to: "a")
    try await log.next(.written)
    blocked.cancel()
    gate.signal()
  }
}

/// An owner of a watch, which the callback of the watch releases.
private final class Holder: @unchecked Sendable {
  // Sendable: guarded by the lock.
  private let lock = NSLock()
  private var watch: FileWatch?

  func hold(_ watch: FileWatch) { lock.withLock { self.watch = watch } }

  func cancelAndLetGo() {
    let taken = lock.withLock {
      defer { watch = nil }
      return watch
    }
    taken?.cancel()
  }

  var isEmpty: Bool { lock.withLock { watch == nil } }
}
