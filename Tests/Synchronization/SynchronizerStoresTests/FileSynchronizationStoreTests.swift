import DataSourceTesting
import Diffing
import Foundation
import ObservableCollections
import SynchronizerStores
import Synchronizers
import TestSupport
import TestTags
import Testing

@Suite(.tags(.concurrency)) struct FileSynchronizationStoreTests {
  private typealias Store = FileSynchronizationStore<Note, Int>

  private let directory: TemporaryDirectory
  private var path: String { directory("state.json") }

  init() throws { directory = try TemporaryDirectory() }

  private func some(_ seed: UInt64 = 1) -> NoteState {
    var generator = StateGenerator(seed: seed)
    let shadow = generator.list(3)
    let client = generator.edited(shadow, times: 3)
    return NoteState(
      client: Snapshot(client), shadow: Snapshot(shadow), version: 7,
      push: .init(
        id: "\(UInt64.random(in: 0 ... .max))", version: 6, client: Snapshot(client),
        merged: Snapshot(generator.edited(client, times: 2))))
  }

  @Test func `a store without a saved state returns nil`() async throws {
    #expect(try await Store(path: path).load() == nil)
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == [])
  }

  @Test func `random states survive saving and loading`() async throws {
    var generator = StateGenerator(seed: 77)
    var state = NoteState(client: Snapshot(), shadow: Snapshot())
    for step in 0..<300 {
      state = generator.next(after: state)
      let store = try Store(path: path)
      _ = try await store.load()
      try await store.save(state)
      let again = try await store.load()
      try #require(again.map(StateValue.init) == StateValue(state), "seed 77, step \(step)")
    }
    let last = try await Store(path: path).load()
    #expect(last.map(StateValue.init) == StateValue(state))
  }

  @Test func `infinite numbers and NaN survive saving`() async throws {
    let state = NoteState(
      client: Snapshot([Note(id: 1, text: "", weight: .nan)]), shadow: Snapshot())
    let store = try Store(path: path)
    try await store.save(state)
    #expect(try await store.load()?.client.first?.weight?.isNaN == true)
  }

  @Test func `equal lists are written once`() async throws {
    let notes = Snapshot((0..<1000).map { Note(id: $0, text: "note \($0)") })
    // The list is equal, but does not share storage.
    let others = Snapshot(Array(notes))
    let push = SynchronizationState<Note, Int>.PendingPush(
      id: "\(UInt64.random(in: 0 ... .max))", version: 1, client: others, merged: notes)
    let store = try Store(path: path)
    try await store.save(NoteState(client: notes, shadow: notes))
    let one = try Data(contentsOf: URL(fileURLWithPath: path)).count
    try await store.save(NoteState(client: notes, shadow: others, push: push))
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)).count < one + 300)
    let loaded = try #require(try await store.load())
    #expect(loaded.shadow.hasSameContents(as: notes))
    #expect(loaded.push?.client.hasSameContents(as: notes) == true)
  }

  @Test func `the file is JSON`() async throws {
    let store = try Store(path: path)
    try await store.save(some())
    let json = try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: path)))
    let object = try #require(json as? [String: Any])
    #expect(object["format"] as? String == "swappable.synchronization")
    #expect(object["version"] as? Int == 1)
  }

  @Test func `damage at any byte is detected`() async throws {
    let state = some()
    do {
      try await Store(path: path).save(state)
    }
    let good = try [UInt8](Data(contentsOf: URL(fileURLWithPath: path)))
    let store = try Store(path: path)
    func check(_ bytes: [UInt8], _ what: String) async throws {
      try Data(bytes).write(to: URL(fileURLWithPath: path))
      let error = await storeError { _ = try await store.load() }
      try #require(error != nil, "\(what) is not noticed")
      #expect(error?.path == path)
      #expect(await storeError { try await store.save(state) }?.code == .notLoaded)
      try #require(try [UInt8](Data(contentsOf: URL(fileURLWithPath: path))) == bytes)
    }
    for length in good.indices { try await check(Array(good[..<length]), "length \(length)") }
    for offset in good.indices {
      var bytes = good
      bytes[offset] ^= 1 << (offset % 8)
      try await check(bytes, "bit \(offset % 8) of byte \(offset)")
    }
    try Data(good).write(to: URL(fileURLWithPath: path))
    #expect(try await store.load().map(StateValue.init) == StateValue(state))
    try await store.save(state)
  }

  @Test func `foreign, newer and differently typed files have their own errors`() async throws {
    let cases: [(String, StoreError.Code)] = [
      ("[1, 2, 3]", .foreign), ("", .foreign), ("SQLite format 3\0", .foreign),
      (#"{"format":"swappable.synchronization","version":2,"x":1}"#, .newer),
      (#"{"format":"swappable.synchronization","version":12,"check":"#, .newer),
      (#"{"format":"swappable.synchronization","version":0,"check":"#, .damaged),
      (#"{"format":"swappable.synchronization","version":1,"check":""#, .damaged),
    ]
    let store = try Store(path: path)
    for (text, code) in cases {
      try directory.write(text, to: "state.json")
      #expect(await storeError { _ = try await store.load() }?.code == code, "\(text)")
    }
    do {
      try await FileSynchronizationStore<Int, Int>(path: directory("other")).save(
        SynchronizationState(client: Snapshot([1]), shadow: Snapshot()))
    }
    let error = await storeError { _ = try await Store(path: directory("other")).load() }
    #expect(error?.code == .undecodable)
    #expect(error?.place == "at lists[0][0]")
  }

  @Test func `a state that was not loaded is never overwritten`() async throws {
    do {
      try await Store(path: path).save(some())
    }
    let store = try Store(path: path)
    #expect(await storeError { try await store.save(some(2)) }?.code == .notLoaded)
    _ = try await store.load()
    try await store.save(some(2))
    // The file was removed, so a save overwrites nothing.
    try directory.remove("state.json")
    let other = try await Task { try await store.load() }.value
    #expect(other == nil)
    try await store.save(some(3))
  }

  @Test func `a file has one store at a time`() async throws {
    try directory.link("link.json", to: "state.json")
    do {
      let first = try Store(path: path)
      for other in [path, directory("link.json"), directory("./state.json")] {
        let error = await storeError { _ = try Store(path: other) }
        #expect(error?.code == .inUse)
        #expect(error?.path == path)
      }
      try await first.save(some())
    }
    let second = try Store(path: path)
    #expect(try await second.load() != nil)
  }

  @Test func `a lock file of an ended store does not matter`() async throws {
    // A crash leaves the file without a lock.
    try directory.write("", to: "state.json.swappable-lock")
    try directory.write("half", to: "state.json.swappable-new")
    do {
      let store = try Store(path: path)
      try await store.save(some())
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["state.json"])
  }

  @Test func `other files in the folder stay unchanged`() async throws {
    for name in ["state.json.new", "state.json.lock"] {
      try directory.write("mine", to: name)
    }
    do {
      let store = try Store(path: path)
      try await store.save(some())
    }
    for name in ["state.json.new", "state.json.lock"] {
      #expect(try String(contentsOfFile: directory(name), encoding: .utf8) == "mine", "\(name)")
    }
  }

  @Test func `stores with similar names do not mix`() async throws {
    let names = ["state.json", "state.json.new", "state.json.lock"]
    for (number, name) in names.enumerated() {
      try await Store(path: directory(name)).save(some(UInt64(number + 1)))
    }
    for (number, name) in names.enumerated() {
      let state = try await Store(path: directory(name)).load()
      #expect(state.map { Array($0.client) } == Array(some(UInt64(number + 1)).client), "\(name)")
    }
  }

  @Test func `a folder in place of the file is not replaced`() async throws {
    let store = try Store(path: path)
    try await store.save(some())
    try directory.write("precious", to: "precious")
    try directory.remove("state.json")
    try directory.link("state.json", to: "precious")
    let error = await storeError { try await store.save(some(2)) }
    #expect(error?.code == .notAFile)
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: path) == "precious")
    #expect(try String(contentsOfFile: directory("precious"), encoding: .utf8) == "precious")
    try directory.remove("state.json")
    try await store.save(some(2))
    let state = try await store.load()
    #expect(state.map { Array($0.client) } == Array(some(2).client))
  }

  @Test func `permissions survive a save`() async throws {
    let store = try Store(path: path)
    try await store.save(some())
    for permissions in [0o600, 0o640, 0o444] {
      chmod(path, mode_t(permissions))
      try await store.save(some())
      let attributes = try FileManager.default.attributesOfItem(atPath: path)
      #expect(attributes[.posixPermissions] as? Int == permissions)
    }
  }

  @Test func `a save replaces the target of a symbolic link`() async throws {
    try directory.makeDirectory("elsewhere")
    try directory.link("a.json", to: "b.json")
    try directory.link("b.json", to: "elsewhere/real.json")
    do {
      let store = try Store(path: directory("a.json"))
      #expect(store.path == directory("elsewhere/real.json"))
      try await store.save(some())
      try await store.save(some(2))
    }
    #expect(
      try FileManager.default.destinationOfSymbolicLink(atPath: directory("a.json")) == "b.json")
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: directory("elsewhere")) == ["real.json"])
    let state = some(2)
    #expect(
      try await Store(path: directory("b.json")).load().map { Array($0.client) }
        == Array(state.client))
  }

  @Test func `a path that cannot be a file is an error`() async throws {
    try directory.link("loop", to: "loop")
    let cases: [(String, StoreError.Code)] = [
      (directory("missing/state.json"), .missing), (directory.path, .notAFile), ("", .missing),
      (directory("loop"), .notAFile), (directory("x") + "/", .missing), ("/dev/null", .notAFile),
      (directory(String(repeating: "n", count: 300)), .invalidName), ("a\0b", .missing),
      (path + ".swappable-new", .inUse), (path + ".swappable-lock", .inUse),
    ]
    for (path, code) in cases {
      let error = await storeError { _ = try Store(path: path) }
      #expect(error?.code == code, "\(path): \(error?.description ?? "no error")")
    }
  }

  @Test(arguments: [false, true]) func `a crash at any step leaves the old or the new state`(
    isTearing: Bool
  ) async throws {
    let (old, new) = (some(1), some(2))
    for hasOld in [false, true] {
      for step in 0..<100 {
        try? directory.remove("state.json")
        if hasOld {
          let store = try Store(path: path)
          try await store.save(old)
        }
        let crash = Crash(after: step, isTearing: isTearing)
        var hasSaved = false
        do {
          let store = try Store(path: path, hook: crash.hook)
          _ = try await store.load()
          try await store.save(new)
          hasSaved = true
        } catch is StoreError {}
        let found = try await Store(path: path).load().map(StateValue.init)
        var possible: [StateValue?] = [StateValue(new)]
        if !hasSaved { possible.append(hasOld ? StateValue(old) : nil) }
        try #require(possible.contains(found), "after \(step) steps")
        if !crash.hasHappened { break }
        try #require(step < 50)
      }
    }
  }

  @Test func `a full disk keeps the old state`() async throws {
    for step in 0..<100 {
      let fault = Fault(after: step)
      try? directory.remove("state.json")
      do {
        try await Store(path: path).save(some(1))
      }
      guard let store = try? Store(path: path, hook: fault.hook) else { continue }
      _ = try await store.load()
      guard let error = await storeError({ try await store.save(some(2)) }) else {
        #expect(!fault.hasHappened)
        break
      }
      #expect(error.code == .full)
      #expect(error.description.contains(directory.path))
      #expect(try await store.load() != nil)
      try await store.save(some(3))
      #expect(try await store.load()?.client.count == some(3).client.count)
      try #require(step < 50)
    }
  }

  @Test func `an element that cannot be encoded is an error`() async throws {
    struct Odd: Codable, Hashable, Sendable, Differentiable {
      struct Refusal: Error {}
      var value = 1
      func encode(to encoder: any Encoder) throws { throw Refusal() }
    }
    let store = try FileSynchronizationStore<Odd, Int>(path: path)
    let error = await storeError {
      try await store.save(SynchronizationState(client: Snapshot([Odd()]), shadow: Snapshot()))
    }
    #expect(error?.code == .unencodable)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: directory.path) == [
        "state.json.swappable-lock"
      ])
  }
}
