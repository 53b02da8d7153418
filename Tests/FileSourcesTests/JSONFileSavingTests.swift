import Diffing
import Foundation
import ObservableCollections
import TestSupport
import Testing

@testable import FileSources

/// Each way to save a file gives one change, on real files.
@Suite(.timeLimit(.minutes(1)))
struct JSONFileSavingTests {
  /// A save, in the directory where `a.json` is; what it needs is prepared before the source starts.
  struct Save: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var prepare: @Sendable (TemporaryDirectory) throws -> Void = { try $0.write(old, to: "a.json") }
    var save: @Sendable (TemporaryDirectory, String) throws -> Void
  }

  static let old = #"[{"id":1,"v":0},{"id":2,"v":0},{"id":3,"v":0}]"#
  /// 1 is deleted, 2 updated, 3 moved before 2, 4 inserted at the end.
  static let new = #"[{"id":3,"v":0},{"id":2,"v":1},{"id":4,"v":0}]"#
  static let last = #"[{"id":9,"v":0}]"#

  static let saves: [Save] = [
    Save(testDescription: "truncate and write") { try $0.write($1, to: "a.json") },
    Save(testDescription: "truncate and write in many parts") { directory, text in
      let file = try OpenFile(directory("a.json"), O_WRONLY | O_TRUNC)
      for character in text { try file.write(String(character)) }
    },
    Save(testDescription: "write over, then truncate") { directory, text in
      let file = try OpenFile(directory("a.json"), O_WRONLY)
      try file.write(text)
      guard truncate(directory("a.json"), text.utf8.count) == 0 else { throw POSIXError.last }
    },
    Save(testDescription: "written and left open") { directory, text in
      // Kept open for ever: nobody says that the writer is done.
      let file = try OpenFile(directory("a.json"), O_WRONLY | O_TRUNC)
      try file.write(text)
      _ = Unmanaged.passRetained(file)
    },
    Save(testDescription: "rename over") { directory, text in
      try directory.write(text, to: ".a.json.tmp")
      try directory.move(".a.json.tmp", to: "a.json")
    },
    Save(testDescription: "atomic write of Foundation") { directory, text in
      try Data(text.utf8).write(to: URL(fileURLWithPath: directory("a.json")), options: .atomic)
    },
    Save(testDescription: "rename to a backup, then write anew") { directory, text in
      try directory.move("a.json", to: "a.json~")
      try directory.write(text, to: "a.json")
      try directory.remove("a.json~")
    },
    Save(
      testDescription: "switch a symbolic link of directories",
      prepare: { directory in
        try directory.makeDirectory("v1")
        try directory.write(old, to: "v1/a.json")
        try directory.link("..data", to: "v1")
        try directory.link("a.json", to: "..data/a.json")
      },
      save: { directory, text in
        let name = "v" + UUID().uuidString
        try directory.makeDirectory(name)
        try directory.write(text, to: name + "/a.json")
        try directory.link("..tmp", to: name)
        try directory.move("..tmp", to: "..data")
      }),
    Save(
      testDescription: "write through a hard link elsewhere",
      prepare: { directory in
        try directory.write(old, to: "a.json")
        try directory.makeDirectory("other")
        try directory.hardLink("a.json", as: "other/b.json")
      },
      save: { try $0.write($1, to: "other/b.json") }),
    Save(
      testDescription: "write through a symbolic link elsewhere",
      prepare: { directory in
        try directory.write(old, to: "a.json")
        try directory.makeDirectory("other")
        try directory.link("other/b.json", to: "../a.json")
      },
      save: { try $0.write($1, to: "other/b.json") }),
    Save(
      testDescription: "rename over the target of a symbolic link",
      prepare: { directory in
        try directory.makeDirectory("other")
        try directory.write(old, to: "other/b.json")
        try directory.link("a.json", to: "other/b.json")
      },
      save: { directory, text in
        try directory.write(text, to: "other/c.json")
        try directory.move("other/c.json", to: "other/b.json")
      }),
    Save(testDescription: "delete and create again") { directory, text in
      try directory.remove("a.json")
      try directory.write(text, to: "a.json")
    },
    Save(testDescription: "write to shared memory") { directory, text in
      let file = try OpenFile(directory("a.json"), O_RDWR)
      try file.overwriteByMapping(text)
    },
  ]

  @Test(arguments: saves)
  func saveIsOneChange(_ save: Save) async throws {
    let directory = try TemporaryDirectory()
    try save.prepare(directory)
    let log = try await SourceLog.afterLoading(source(directory("a.json")))
    #expect(Array(log.source.snapshot) == elements(Self.old))

    try save.save(directory, Self.new)
    let change = try await log.nextChange()
    #expect(Array(change.before) == elements(Self.old))
    #expect(Array(change.after) == elements(Self.new))
    #expect(change.changeset.deletions == [0])
    #expect(change.changeset.insertions == [2])
    #expect(change.changeset.moves.count == 1)
    #expect(change.changeset.updates.count == 1)
    #expect(change.revision == 2)

    // No other change was made in between.
    try save.save(directory, Self.last)
    let next = try await log.nextChange()
    #expect(Array(next.after) == elements(Self.last))
    #expect(next.revision == 3)
    #expect(log.source.status == .loaded)
  }

  @Test func slowWriterIsOneChangeWhenItCloses() async throws {
    let directory = try TemporaryDirectory()
    try directory.write(Self.old, to: "a.json")
    let reads = ReadLog()
    let log = try await SourceLog.afterLoading(source(directory("a.json"), reads))
    try await reads.nextRead()
    do {
      let file = try OpenFile(directory("a.json"), O_WRONLY | O_TRUNC)
      for part in [#"[{"id":3,"v":0}"#, #",{"id":2,"#, #""v":1},{"id":4,"v":0"#, "}]"] {
        try file.write(part)
        // The source has seen this much of the file, and waits for more.
        try await reads.nextRead()
      }
    }
    let change = try await log.nextChange()
    #expect(Array(change.after) == elements(Self.new))
    #expect(change.revision == 2)
  }

  @Test func directoryMovedAwayAndBackIsOneChange() async throws {
    let directory = try TemporaryDirectory()
    try directory.makeDirectory("parent")
    try directory.write(Self.old, to: "parent/a.json")
    let reads = ReadLog()
    let log = try await SourceLog.afterLoading(source(directory("parent/a.json"), reads))
    try await reads.nextRead()
    try directory.move("parent", to: "elsewhere")
    try await reads.nextRead()
    try directory.write(Self.new, to: "elsewhere/a.json")
    try directory.move("elsewhere", to: "parent")
    let change = try await log.nextChange()
    #expect(Array(change.after) == elements(Self.new))
    #expect(change.revision == 2)
    #expect(log.source.status == .loaded)
  }

  @Test func deletedAndSeenMissingIsNeverEmpty() async throws {
    let directory = try TemporaryDirectory()
    try directory.write(Self.old, to: "a.json")
    let reads = ReadLog()
    let log = try await SourceLog.afterLoading(source(directory("a.json"), reads))
    try await reads.nextRead()
    try directory.remove("a.json")
    try await reads.nextRead()
    try directory.write(Self.new, to: "a.json")
    let change = try await log.nextChange()
    #expect(change.changeset.updates.count == 1)
    #expect(change.revision == 2)
  }

  @Test func sameContentsAndAttributesAreNoEvent() async throws {
    let directory = try TemporaryDirectory()
    try directory.write(Self.old, to: "a.json")
    let reads = ReadLog()
    let log = try await SourceLog.afterLoading(source(directory("a.json"), reads))
    try await reads.nextRead()
    try directory.write(Self.old, to: "a.json")
    try await reads.nextRead()
    guard utimes(directory("a.json"), nil) == 0 else { throw POSIXError.last }
    try await reads.nextRead()
    guard chmod(directory("a.json"), 0o600) == 0 else { throw POSIXError.last }
    try await reads.nextRead()
    // Other white space, escapes and order of members.
    try directory.write(
      #"[ {"v":0,"id":1}, {"\u0069d":2,"v":0},{"id":3,"v":0}]"#, to: "b.json")
    try directory.move("b.json", to: "a.json")
    try await reads.nextRead()
    try directory.write(Self.last, to: "a.json")
    let change = try await log.nextChange()
    #expect(change.revision == 2)
    #expect(Array(change.after) == elements(Self.last))
  }

  /// A grace without end: only what is complete is ever shown.
  private func source(
    _ path: String, _ reads: ReadLog = ReadLog()
  ) -> JSONFileDataSource<JSONElement> {
    var timing = ReloadMachine.Timing()
    timing.grace = .seconds(3_600)
    return JSONFileDataSource(
      path: path, key: "id", decoding: ElementDecoding(each: { $0 }), system: reads.system,
      timing: timing)
  }

  private func elements(_ text: String) -> [JSONElement] {
    (try? JSONElement.elements(ofArray: Array(text.utf8), key: "id")) ?? []
  }
}

extension OpenFile {
  /// Changes the length and then the bytes by way of memory, of which the system tells nobody.
  func overwriteByMapping(_ text: String) throws {
    let bytes = Array(text.utf8)
    guard ftruncate(descriptor, off_t(bytes.count)) == 0,
      let memory = mmap(nil, bytes.count, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0),
      memory != MAP_FAILED
    else { throw POSIXError.last }
    memory.copyMemory(from: bytes, byteCount: bytes.count)
    msync(memory, bytes.count, MS_SYNC)
    munmap(memory, bytes.count)
  }
}
