import DataSourceTesting
import Diffing
import Foundation
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives
import SynchronizerStores
import Synchronizers
import TestSupport

/// An element. Several elements may have one identity.
struct Note: Codable, Hashable, Identifiable, Sendable, Differentiable {
  var id: Int
  var text: String
  var weight: Double? = nil
  var tags: [String: Int] = [:]
}

typealias NoteState = SynchronizationState<Note, Int>

/// The parts of a state that must survive saving.
struct StateValue: Hashable, Sendable {
  var client: [Note]
  var shadow: [Note]
  var version: Int?
  var push: String?
  var pushVersion: Int?
  var pushed: [Note]?
  var merged: [Note]?

  init(_ state: NoteState) {
    client = Array(state.client)
    shadow = Array(state.shadow)
    version = state.version
    push = state.push?.id
    pushVersion = state.push?.version
    pushed = state.push.map { Array($0.client) }
    merged = state.push.map { Array($0.merged) }
  }
}

/// A generator of random states, including ones that sessions never make.
struct StateGenerator {
  /// The kinds of edits of a list, and the steps from one state to the next.
  static let cases = Coverage.Cases([
    "insertion", "removal", "text", "move", "edit of the client", "push", "end of a push",
    "abandoned push", "edit of the push", "other state", "edit of the shadow",
  ])

  var random: SeededGenerator
  var nextID = 0

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  private static let texts = [
    "", "a", "é", "e\u{301}", "\"\\/", "\u{0}\u{1}\n\r\t", "\u{2028}", "😀👨‍👩‍👧", "<script>", "\u{FFFD}",
    String(repeating: "long ", count: 60),
  ]

  mutating func note() -> Note {
    nextID += 1
    return Note(
      id: random.oneIn(8) ? random.below(5) : nextID,
      text: Self.texts[random.below(Self.texts.count)],
      weight: [nil, 0.1, -0.0, 1e300, .leastNonzeroMagnitude, .infinity][random.below(6)],
      tags: random.oneIn(3) ? ["x": random.below(9), "y": 1, "z": 2] : [:])
  }

  mutating func list(_ count: Int) -> [Note] { (0..<count).map { _ in note() } }

  mutating func edited(_ notes: [Note], times: Int) -> [Note] {
    var notes = notes
    for _ in 0..<times {
      switch random.below(4) {
      case 0:
        Coverage.note("insertion")
        notes.insert(note(), at: random.below(notes.count + 1))
      case 1 where !notes.isEmpty:
        Coverage.note("removal")
        notes.remove(at: random.below(notes.count))
      case 2 where !notes.isEmpty:
        Coverage.note("text")
        notes[random.below(notes.count)].text = Self.texts[random.below(Self.texts.count)]
      case 3 where !notes.isEmpty:
        Coverage.note("move")
        let note = notes.remove(at: random.below(notes.count))
        notes.insert(note, at: random.below(notes.count + 1))
      default: break
      }
    }
    return notes
  }

  /// Returns a state that may follow another one.
  mutating func next(after state: NoteState) -> NoteState {
    var state = state
    let edits = random.below(4)
    switch random.below(6) {
    case 0:
      Coverage.note("edit of the client")
      state.client = Snapshot(edited(Array(state.client), times: edits))
    case 1:
      Coverage.note("push")
      let merged = edited(Array(state.shadow), times: edits)
      state.push = .init(
        id: "\(UInt64.random(in: 0 ... .max))", version: random.below(100), client: state.client,
        merged: random.oneIn(4) ? state.client : Snapshot(merged))
    case 2:
      if let push = state.push {
        Coverage.note("end of a push")
        state.shadow = push.merged
        state.client = Snapshot(edited(Array(state.client), times: edits))
        state.push = nil
      }
      state.version = random.oneIn(5) ? nil : random.below(1000)
    case 3:
      if state.push != nil { Coverage.note("abandoned push") }
      state.push = nil
    case 4:
      if state.push != nil { Coverage.note("edit of the push") }
      state.client = state.shadow
      state.push?.merged = Snapshot(edited(Array(state.shadow), times: edits))
    default:
      if random.oneIn(6) {
        Coverage.note("other state")
        state = NoteState(client: Snapshot(list(random.below(12))), shadow: Snapshot())
      } else {
        Coverage.note("edit of the shadow")
        state.shadow = Snapshot(edited(Array(state.shadow), times: edits))
      }
    }
    return state
  }
}

/// A remote item with an exact key.
struct Page: Identifiable, Hashable, Sendable, Differentiable {
  var id: ExactString
  var stamp: String? = "1"
}

typealias PageStore = DirectoryStore<Page>

extension DirectoryStore<Page> {
  /// Creates a store with a hook for disk operations.
  static func make(_ path: String, hook: FileHook? = nil) throws -> PageStore {
    try PageStore(
      path: path, text: { $0.string }, key: { ExactString($0) }, stamp: { $0.stamp }, hook: hook)
  }
}

/// A remote of pages whose content names their state.
final class PageRemote: OneWayRemote {
  struct Offline: Error {}

  let pages: Shared<[Page]>
  let broken = Shared<Set<ExactString>>([])
  let downloads = Log<String>([])

  init(_ pages: [Page]) { self.pages = Shared(pages) }

  static func content(_ page: Page) -> [UInt8] { Array("\(page.id) \(page.stamp ?? "")".utf8) }

  func items() async throws -> [Page] { pages.value }

  func preview(of item: Page) async throws -> [UInt8]? { Array(Self.content(item).prefix(1)) }

  func content(of item: Page) async throws -> [UInt8] {
    if broken.value.contains(item.id) { throw Offline() }
    downloads.append(item.id.string)
    return Self.content(item)
  }
}

extension TemporaryDirectory {
  /// Returns the paths of all files and links below a folder, with their contents.
  ///
  /// Foundation's paths do not take a slash before a combining character for a slash.
  func files(below folder: String) throws -> [ExactString: String] {
    var files: [ExactString: String] = [:]
    func list(_ folder: ByteString, _ start: ByteString) throws {
      for name in folder.namesInDirectory() ?? [] {
        let path = folder.appending(name: name)
        var status = stat()
        guard path.withCString({ lstat($0, &status) }) == 0 else { throw POSIXError.last }
        switch status.st_mode & S_IFMT {
        case S_IFDIR: try list(path, start + name + "/")
        case S_IFREG:
          let descriptor = path.withCString { open($0, O_RDONLY) }
          let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
          let bytes = try handle.readToEnd() ?? Data()
          files[ExactString((start + name).description)] = String(decoding: bytes, as: UTF8.self)
        default: files[ExactString((start + name).description)] = "no file"
        }
      }
    }
    try list(ByteString(self(folder)), "")
    return files
  }
}

/// A simulated crash at one of the steps that change the disk.
final class Crash: Sendable {
  private struct State {
    var stepsLeft: Int
    var isTearing: Bool
    var hasHappened = false
  }

  private let state: Locked<State>

  /// - Parameters:
  ///   - step: The number of steps before the crash.
  ///   - isTearing: A Boolean value that indicates whether a write at the crash writes half of its bytes.
  init(after steps: Int, isTearing: Bool = false) {
    state = Locked(State(stepsLeft: steps, isTearing: isTearing))
  }

  var hasHappened: Bool { state.withLock { $0.hasHappened } }

  /// Fails the step of the crash and all later steps.
  var hook: FileHook {
    { [self] step in
      let tears: Bool? = state.withLock { state in
        if state.stepsLeft > 0 {
          state.stepsLeft -= 1
          return nil
        }
        defer { state.hasHappened = true }
        return state.isTearing && !state.hasHappened
      }
      guard let tears else { return 0 }
      if tears, case .write(let descriptor, let bytes) = step {
        let part = Array(bytes.prefix(bytes.count / 2))
        _ = Foundation.write(descriptor, part, part.count)
      }
      return EIO
    }
  }
}

/// A simulated full disk. It fails one step, and later steps succeed.
final class Fault: Sendable {
  private let state: Locked<(stepsLeft: Int, hasHappened: Bool)>

  init(after steps: Int) { state = Locked((steps, false)) }

  var hasHappened: Bool { state.withLock { $0.hasHappened } }

  var hook: FileHook {
    { [self] _ in
      state.withLock { state in
        state.stepsLeft -= 1
        if state.stepsLeft != -1 { return 0 }
        state.hasHappened = true
        return ENOSPC
      }
    }
  }
}

/// Returns the store error that a body throws, also as a refusal, or `nil`.
func storeError(_ body: () async throws -> Void) async -> StoreError? {
  do {
    try await body()
    return nil
  } catch {
    return (error as? OneWaySynchronizer.Refusal)?.cause as? StoreError ?? error as? StoreError
  }
}
