import FileWatching
import Foundation
import SwappablePrimitives
import TestSupport
import Testing

/// A way to save `a.json` in a directory. The files that it needs are prepared before the source starts.
struct FileSave: Sendable, CustomTestStringConvertible {
  var testDescription: String
  /// A Boolean value that indicates whether the source must wait for a pause of the writer.
  var needsRest = false
  var prepare: @Sendable (TemporaryDirectory, String) throws -> Void = {
    try $0.write($1, to: "a.json")
  }
  var save: @Sendable (TemporaryDirectory, String) throws -> Void

  static let all: [FileSave] = [
    FileSave(testDescription: "truncate and write") { try $0.write($1, to: "a.json") },
    FileSave(testDescription: "truncate and write in many parts") { directory, text in
      let file = try OpenFile(directory("a.json"), O_WRONLY | O_TRUNC)
      for character in text { try file.write(String(character)) }
    },
    FileSave(testDescription: "write over, then truncate") { directory, text in
      let file = try OpenFile(directory("a.json"), O_WRONLY)
      try file.write(text)
      guard ftruncate(file.descriptor, off_t(text.utf8.count)) == 0 else { throw POSIXError.last }
    },
    FileSave(testDescription: "written and left open", needsRest: true) { directory, text in
      // The file stays open forever, so the writer never reports its end.
      let file = try OpenFile(directory("a.json"), O_WRONLY | O_TRUNC)
      try file.write(text)
      _ = Unmanaged.passRetained(file)
    },
    FileSave(testDescription: "rename over") { directory, text in
      try directory.write(text, to: ".a.json.tmp")
      try directory.move(".a.json.tmp", to: "a.json")
    },
    FileSave(testDescription: "atomic write of Foundation") { directory, text in
      try Data(text.utf8).write(to: URL(fileURLWithPath: directory("a.json")), options: .atomic)
    },
    FileSave(testDescription: "rename to a backup, then write anew", needsRest: true) {
      directory, text in
      try directory.move("a.json", to: "a.json~")
      try directory.write(text, to: "a.json")
      try directory.remove("a.json~")
    },
    FileSave(
      testDescription: "switch a symbolic link of directories",
      prepare: { directory, old in
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
    FileSave(
      testDescription: "write through a hard link elsewhere",
      prepare: { directory, old in
        try directory.write(old, to: "a.json")
        try directory.makeDirectory("other")
        try directory.hardLink("a.json", as: "other/b.json")
      },
      save: { try $0.write($1, to: "other/b.json") }),
    FileSave(
      testDescription: "write through a symbolic link elsewhere",
      prepare: { directory, old in
        try directory.write(old, to: "a.json")
        try directory.makeDirectory("other")
        try directory.link("other/b.json", to: "../a.json")
      },
      save: { try $0.write($1, to: "other/b.json") }),
    FileSave(
      testDescription: "rename over the target of a symbolic link",
      prepare: { directory, old in
        try directory.makeDirectory("other")
        try directory.write(old, to: "other/b.json")
        try directory.link("a.json", to: "other/b.json")
      },
      save: { directory, text in
        try directory.write(text, to: "other/c.json")
        try directory.move("other/c.json", to: "other/b.json")
      }),
    FileSave(testDescription: "delete and create again", needsRest: true) { directory, text in
      try directory.remove("a.json")
      try directory.write(text, to: "a.json")
    },
    FileSave(testDescription: "write to shared memory") { directory, text in
      let file = try OpenFile(directory("a.json"), O_RDWR)
      try file.overwriteByMapping(text)
    },
  ]
}

extension OpenFile {
  /// Changes the length, and then the bytes through memory, which the system does not report.
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

/// Returns a Boolean value that indicates whether the file system updates the time after a write to a
/// mapping. A file system in memory does not.
func notesWritesToMappings(in directory: TemporaryDirectory) throws -> Bool {
  try directory.write("a", to: "mapped")
  let process = try SavingProcess(directory("mapped"), "map")
  let before = try FileAccess.live.stamp(ByteString(directory("mapped"))).get()
  for _ in 0..<1_000 {
    try process.save("b")
    // The clock of a file system ticks slowly.
    if try FileAccess.live.stamp(ByteString(directory("mapped"))).get().modified != before.modified
    {
      return true
    }
  }
  return false
}
