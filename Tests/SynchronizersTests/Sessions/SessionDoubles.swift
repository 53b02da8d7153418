import DataSourceTesting
import Diffing
import ObservableCollections
import Synchronizers
import TestSupport

/// What a session calls of others.
enum Call: String, Sendable, Hashable, CaseIterable {
  case fetch, push, save, load
}

/// Before a call has its effect, or after it, when the answer is still on its way.
enum Moment: String, Sendable, Hashable, CaseIterable {
  case before, after
}

/// Called at both moments of each call; what it throws is what the session gets.
typealias CallHook = @Sendable (Call, Moment) async throws -> Void

/// A remote in memory whose calls can be disturbed.
struct HookedRemote<Element: Differentiable & Sendable>: SynchronizationRemote {
  let base: InMemoryRemote<Element>
  /// Whether it does what is pushed twice, or refuses it, since it does not remember.
  var isForgetful = false
  let hook: CallHook

  init(_ base: InMemoryRemote<Element>, isForgetful: Bool = false, hook: @escaping CallHook) {
    (self.base, self.isForgetful, self.hook) = (base, isForgetful, hook)
  }

  func fetch(unlessAt version: Int?) async throws -> RemoteContents<Element, Int>? {
    try await hook(.fetch, .before)
    let contents = await base.fetch(unlessAt: version)
    try await hook(.fetch, .after)
    return contents
  }

  func push(_ push: RemotePush<Element, Int>) async throws -> PushAnswer<Int> {
    try await hook(.push, .before)
    let id = isForgetful ? PushIdentifier() : push.id
    let answer = await base.push(
      RemotePush(id: id, version: push.version, before: push.before, after: push.after))
    try await hook(.push, .after)
    return answer
  }
}

/// What a store has written, whoever uses it.
typealias Disk<Element: Differentiable & Sendable> = Shared<SynchronizationState<Element, Int>?>

/// A store on a disk in memory whose calls can be disturbed.
struct HookedStore<Element: Differentiable & Sendable>: SynchronizationStore {
  let disk: Disk<Element>
  /// Whether it does not keep a push that is under way.
  var isForgetful = false
  let hook: CallHook

  init(
    _ disk: Disk<Element>, isForgetful: Bool = false, hook: @escaping CallHook = { _, _ in }
  ) {
    (self.disk, self.isForgetful, self.hook) = (disk, isForgetful, hook)
  }

  func load() async throws -> SynchronizationState<Element, Int>? {
    try await hook(.load, .before)
    let state = disk.value
    try await hook(.load, .after)
    return state
  }

  func save(_ state: SynchronizationState<Element, Int>) async throws {
    try await hook(.save, .before)
    var state = state
    if isForgetful { state.push = nil }
    disk.value = state
    try await hook(.save, .after)
  }
}

extension DataSource where Element == Letter {
  /// What it holds: `A1 B`.
  var text: String { snapshot.text }
}

extension Snapshot<Letter> {
  var text: String { map(\.description).joined(separator: " ") }
}

/// Goes wrong as soon as it is told to, once.
final class Trap: Sendable {
  private let armed = Shared<(Call, Moment, @Sendable () async throws -> Void)?>(nil)
  let trace = Log<String>([])

  /// Sets what happens at the next call of a kind.
  func at(
    _ call: Call, _ moment: Moment, _ action: @escaping @Sendable () async throws -> Void
  ) {
    armed.value = (call, moment, action)
  }

  var hook: CallHook {
    { [self] call, moment in
      if moment == .before { trace.append(call.rawValue) }
      let due = armed.modify { armed -> (@Sendable () async throws -> Void)? in
        guard let (at, when, action) = armed, at == call, when == moment else { return nil }
        armed = nil
        return action
      }
      try await due?()
    }
  }
}

/// One client of a remote of letters, with all that a test looks at.
struct Client {
  let trap = Trap()
  let disk: Disk<Letter>
  let session: SynchronizationSession<HookedRemote<Letter>>

  var contents: CollectionProperty<Letter> { session.client }

  init(
    _ remote: InMemoryRemote<Letter>, disk: Disk<Letter> = Disk(nil),
    options: SynchronizationOptions<Letter> = SynchronizationOptions()
  ) async throws {
    self.disk = disk
    session = try await SynchronizationSession(
      remote: HookedRemote(remote, hook: trap.hook), store: HookedStore(disk, hook: trap.hook),
      options: options)
    trap.trace.value = []
  }

  /// A client of a remote that both hold the same.
  static func inStep(
    _ text: String, _ remote: InMemoryRemote<Letter>,
    options: SynchronizationOptions<Letter> = SynchronizationOptions()
  ) async throws -> Client {
    remote.contents.replace(with: Letter.list(text))
    let client = try await Client(remote, options: options)
    try await client.session.synchronize()
    client.trap.trace.value = []
    return client
  }

  /// Replaces what it holds, and waits until that is saved.
  func edit(_ text: String) async throws {
    contents.replace(with: Letter.list(text))
    try await session.save()
  }
}
