import DataSourceTesting
import Diffing
import ObservableCollections
import Synchronizers
import TestSupport

/// A violation of an invariant.
struct Divergence: Error, CustomStringConvertible {
  let seed: UInt64
  let message: String

  var description: String { "seed \(seed): \(message)" }
}

/// A defect that a history must detect.
enum Weakness: Sendable {
  case none, forgetfulRemote, forgetfulStore
}

/// Several clients that randomly edit, synchronize, fail, crash and restart.
///
/// The history records the edits of each key. If only one client has edited a key, its last edit must
/// survive, even if other clients moved or pushed it.
actor ConvergenceHistory {
  typealias Session = SynchronizationSession<HookedRemote<TestElement>>

  private struct Machine {
    var session: Session?
    /// If it is false, calls of sessions have no effect.
    var power = Shared(true)
    let disk = Disk<TestElement>(nil)
    var isBusy = false
    /// A Boolean value that indicates whether a save is interrupted. Another save would wait for it.
    var isSaving = false
    var isOnline = true
    /// The number of edits during a synchronization.
    var editCount = 0
  }

  /// The last edit of a key by a client: a content, or a deletion.
  private struct Touch {
    let client: Int
    let content: Int?
  }

  private struct PowerCut: Error {}

  private static let sharedKeys = 0..<6
  /// The names of the events that happen at random.
  static let events = Coverage.Cases([
    "power cut", "refused call", "canceled session", "nested synchronization", "edit during a call",
    "breakdown", "change of the connection",
  ])

  private let seed: UInt64
  /// The counter of the test, because a session may make calls in tasks of its own.
  private let coverage = Coverage.current
  private let weakness: Weakness
  private var random: SeededGenerator
  private let remote: InMemoryRemote<TestElement>
  private let initial: [Int: Int]
  private var machines: [Machine]
  private var touches: [Int: [Touch]] = [:]
  private var lastContent = 0
  private var lastKey = 1000
  private var owners: [Int: Int] = [:]
  /// The reciprocal of the failure rate of calls, or `nil` for no failures.
  private var faultRate: Int?
  private(set) var callCount = 0
  private var tooMany: Divergence?

  init(seed: UInt64, weakness: Weakness = .none) {
    self.seed = seed
    self.weakness = weakness
    random = SeededGenerator(seed: seed)
    let elements = Self.sharedKeys.dropLast(random.below(7)).map { TestElement($0) }
    initial = Dictionary(uniqueKeysWithValues: elements.map { ($0.id, $0.content) })
    remote = InMemoryRemote(elements)
    machines = (0..<2 + random.below(4)).map { _ in Machine() }
  }

  /// Runs the history and checks its end.
  func run() async throws {
    for index in machines.indices {
      try await start(index)
      // A client that adds an existing key without knowing it counts as an editor.
      if !initial.isEmpty { try await machines[index].session?.synchronize() }
    }
    faultRate = [nil, 3, 5, 10, 20][random.below(5)]
    for _ in 0..<8 + random.below(25) {
      let index = random.below(machines.count)
      switch random.below(20) {
      case 0..<9: await edit(index)
      case 9..<17: await synchronize(index)
      case 17:
        coverage?.note("breakdown")
        await breakDown(index)
      default:
        coverage?.note("change of the connection")
        machines[index].isOnline.toggle()
      }
      try await restartThoseWithoutPower()
    }
    faultRate = nil
    for index in machines.indices { machines[index].isOnline = true }
    for _ in 1...2 {
      for index in machines.indices.shuffled(using: &random) {
        try await machines[index].session?.synchronize()
      }
    }
    if let tooMany { throw tooMany }
    try checkEnd()
    for index in machines.indices { try await start(index) }
    try checkEnd()
  }

  // MARK: Events

  private func start(_ index: Int) async throws {
    machines[index].session = nil
    let power = Shared(true)
    machines[index].power = power
    let hook: CallHook = { [weak self] call, moment in
      try await self?.pass(call, moment, of: index, power)
    }
    machines[index].session = try await Session(
      remote: HookedRemote(remote, isForgetful: weakness == .forgetfulRemote, hook: hook),
      store: HookedStore(
        machines[index].disk, isForgetful: weakness == .forgetfulStore, hook: hook))
  }

  private func restartThoseWithoutPower() async throws {
    for index in machines.indices where !machines[index].power.value { try await start(index) }
  }

  private func synchronize(_ index: Int) async {
    guard let session = machines[index].session, !machines[index].isBusy,
      !machines[index].isSaving
    else { return }
    machines[index].isBusy = true
    machines[index].editCount = 0
    let revision = session.client.revision
    _ = try? await session.synchronize()
    machines[index].isBusy = false
    let count = session.client.revision - revision - machines[index].editCount
    if count > 1 { tooMany = violation("client \(index) received \(count) changes at once") }
    // Wait for background saves, because a seed must determine the whole history.
    _ = try? await session.save()
  }

  /// Loses the last edits and all other data that is not on the disk.
  private func breakDown(_ index: Int) async {
    guard let session = machines[index].session else { return }
    machines[index].power.value = false
    _ = edit(session.client, by: index)
  }

  /// Edits a client, and records the edits when they are on the disk.
  private func edit(_ index: Int) async {
    guard let session = machines[index].session, machines[index].power.value,
      !machines[index].isSaving
    else { return }
    let revision = session.client.revision
    let edited = edit(session.client, by: index)
    machines[index].editCount += session.client.revision - revision
    while machines[index].power.value {
      if (try? await session.save()) != nil { break }
    }
    guard let saved = machines[index].disk.value else { return }
    let contents = Self.contents(Array(saved.client))
    // A transaction is saved completely or not at all. But a deleted key may be back if the edit of
    // another client arrived with the save.
    let written = edited.filter { $0.value != nil }
    guard (written.isEmpty ? edited : written).contains(where: { contents[$0.key] == $0.value })
    else { return }
    for (key, content) in edited {
      touches[key, default: []].append(Touch(client: index, content: content))
    }
  }

  /// Lets a call fail, or lets something happen during the call.
  private func pass(
    _ call: Call, _ moment: Moment, of index: Int, _ power: Shared<Bool>
  ) async throws {
    guard power.value else { throw PowerCut() }
    if call == .load { return }
    callCount += 1
    if call != .save, !machines[index].isOnline { throw Refusal() }
    guard let faultRate, random.oneIn(faultRate) else { return }
    if call == .save { machines[index].isSaving = true }
    defer { if call == .save { machines[index].isSaving = false } }
    switch random.below(10) {
    case 0:
      coverage?.note("power cut")
      power.value = false
      throw PowerCut()
    case 1:
      // A failed save has no effect.
      guard call != .save || moment == .before else { break }
      coverage?.note("refused call")
      throw Refusal()
    case 2:
      coverage?.note("canceled session")
      machines[index].session?.cancel()
      if call != .save, random.oneIn(2) { throw CancellationError() }
    case 3, 4, 5, 6:
      coverage?.note("nested synchronization")
      await synchronize(random.below(machines.count))
    default:
      coverage?.note("edit during a call")
      await edit(index)
    }
    // The client was switched off in the meantime.
    guard power.value else { throw PowerCut() }
  }

  // MARK: Edits

  /// - Returns: The new content of each edited key, or `nil` for a deletion.
  private func edit(_ contents: ArrayDataSource<TestElement>, by client: Int) -> [Int: Int?] {
    contents.transaction { draft in
      let before = draft.elements
      for _ in 0...random.below(3) { edit(draft, by: client) }
      var operations = Coverage.Operations()
      operations.add(Changeset(from: before, to: draft.elements))
      coverage?.note(operations)
      return Self.touched(before, draft.elements)
    }
  }

  private func edit(_ draft: CollectionDraft<TestElement>, by client: Int) {
    let editable = draft.elements.indices.filter {
      owners[draft[$0].id, default: client] == client
    }
    lastContent += 1
    switch random.below(5) {
    case 0:
      lastKey += 1
      owners[lastKey] = client
      draft.insert(TestElement(lastKey, lastContent), at: random.below(draft.count + 1))
    case 1:
      let key = random.below(Self.sharedKeys.count)
      guard draft.firstIndex(identifiedBy: key) == nil else { return }
      draft.insert(TestElement(key, lastContent), at: random.below(draft.count + 1))
    case 2:
      guard let index = editable.randomElement(using: &random) else { return }
      draft[index].content = lastContent
    case 3:
      guard let index = editable.randomElement(using: &random) else { return }
      draft.remove(at: index)
    default:
      guard !draft.isEmpty else { return }
      draft.move(from: random.below(draft.count), to: random.below(draft.count))
    }
  }

  private static func touched(
    _ before: [TestElement], _ after: [TestElement]
  ) -> [Int: Int?] {
    let (before, after) = (contents(before), contents(after))
    var touched: [Int: Int?] = [:]
    for key in Set(before.keys).union(after.keys) where before[key] != after[key] {
      touched.updateValue(after[key], forKey: key)
    }
    return touched
  }

  private static func contents(_ elements: [TestElement]) -> [Int: Int] {
    Dictionary(elements.map { ($0.id, $0.content) }) { first, _ in first }
  }

  // MARK: End

  private func checkEnd() throws {
    let end = Array(remote.contents.snapshot)
    for (index, machine) in machines.enumerated() {
      guard let session = machine.session else { continue }
      for (name, contents) in [("client", session.client.snapshot), ("shadow", session.shadow)]
      where Array(contents) != end {
        throw violation("\(name) \(index) holds \(contents), the remote \(end)")
      }
    }
    let contents = Self.contents(end)
    guard contents.count == end.count else { throw violation("a key is there twice: \(end)") }
    for key in Set(contents.keys).union(touches.keys).union(initial.keys) {
      let touches = touches[key] ?? []
      let content = contents[key]
      let text = "key \(key) is \(content.map { "\($0)" } ?? "gone"), but "
      if Set(touches.map(\.client)).count <= 1 {
        let expected = touches.isEmpty ? initial[key] : touches.last?.content
        if content != expected {
          throw violation(text + "its only editor has made it \(expected.map { "\($0)" } ?? "go")")
        }
      } else if touches.allSatisfy({ $0.content == nil }) {
        if content != nil { throw violation(text + "all clients deleted it") }
      } else if touches.allSatisfy({ $0.content != nil }) {
        if content == nil { throw violation(text + "no client deleted it") }
      }
      if let content, content != initial[key], !touches.contains(where: { $0.content == content }) {
        throw violation(text + "no client wrote this content")
      }
    }
  }

  private func violation(_ message: String) -> Divergence {
    Divergence(seed: seed, message: message)
  }
}
